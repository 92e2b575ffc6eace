"""Runs the tutorials with the client that openapi-python-client generates from openapi.json."""

import sys
from http import HTTPStatus

from towpath_client import AuthenticatedClient, Client
from towpath_client.api.clients import create_client, get_client
from towpath_client.api.servers import delete_server, list_servers, register_server
from towpath_client.api.system import get_readiness, initialize_gateway
from towpath_client.api.tools import get_tool, invoke_tool, list_tools
from towpath_client.api.users import create_user, get_current_user
from towpath_client.models import ClientInput, ServerInput, ServerInputTransport, ToolCall, UserInput


def expect(answer, status):
    """Returns the parsed response if it has the expected status."""
    assert answer.status_code == status, (answer.status_code, answer.content)
    return answer.parsed


def call(client, **arguments):
    body = ToolCall(name="demo__add")
    body.additional_properties = arguments
    return expect(invoke_tool.sync_detailed(client=client, body=body), HTTPStatus.OK)


def call_demo(client):
    tool = expect(get_tool.sync_detailed(client=client, name="demo__add"), HTTPStatus.OK)
    assert (tool.name, tool.enabled, tool.title) == ("demo__add", True, "Add two numbers"), tool
    assert call(client, a=2, b=40).structured_content == {"sum": 42}
    assert call(client, a=2, b="forty").is_error is True


def development(url):
    """docs/tutorials/first-call.md. Operations require a token argument for enterprise mode; here any value works."""
    client = AuthenticatedClient(base_url=url, token="none")
    assert expect(get_readiness.sync_detailed(client=client), HTTPStatus.OK).status == "ready"
    call_demo(client)


def enterprise(url, node, demo):
    """docs/tutorials/team-gateway.md"""
    nobody = Client(base_url=url)
    early = expect(list_servers.sync_detailed(client=nobody), HTTPStatus.FORBIDDEN)
    assert early.error == "server is not initialized", early

    token = expect(initialize_gateway.sync_detailed(client=nobody), HTTPStatus.OK).admin_access_token
    admin = AuthenticatedClient(base_url=url, token=token)
    who = expect(get_current_user.sync_detailed(client=admin), HTTPStatus.OK)
    assert (who.name, who.role) == ("admin", "admin"), who

    body = ServerInput(name="demo", transport=ServerInputTransport.STDIO, command=node, args=[demo])
    server = expect(register_server.sync_detailed(client=admin, body=body), HTTPStatus.CREATED)
    assert (server.name, server.enabled) == ("demo", True), server

    developer = expect(create_user.sync_detailed(client=admin, body=UserInput(name="developer")), HTTPStatus.CREATED)
    user = AuthenticatedClient(base_url=url, token=developer.access_token)
    expect(delete_server.sync_detailed(client=user, name="demo"), HTTPStatus.FORBIDDEN)

    body = ClientInput(name="developer-editor", allowed_servers=["demo"])
    assert expect(create_client.sync_detailed(client=admin, body=body), HTTPStatus.CREATED).access_token
    client = expect(get_client.sync_detailed(client=admin, name="developer-editor"), HTTPStatus.OK)
    assert (client.name, client.allowed_servers) == ("developer-editor", ["demo"]), client
    expect(list_tools.sync_detailed(client=nobody), HTTPStatus.UNAUTHORIZED)
    call_demo(user)


mode, url, *rest = sys.argv[1:]
enterprise(url, *rest) if mode == "enterprise" else development(url)
print(f"Python: the tutorial in {mode} mode")
