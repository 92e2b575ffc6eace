"""A server of version 1 of the Python SDK (PyPI `mcp`), legacy era."""

from contextlib import asynccontextmanager
from weakref import WeakSet

import anyio
import uvicorn
from content import ANSWER, EXTRA, OFFER, WATCHED, note, read_options, resource_text
from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

server = Server("interop-python-1", version="1")
tools = [types.Tool(**tool) for tool in OFFER["tools"]]
sessions = WeakSet()
subscribers = WeakSet()


def text(value):
    return [types.TextContent(type="text", text=value)]


async def tell(listeners, method, *args):
    for session in list(listeners):
        with anyio.move_on_after(1):
            try:
                await getattr(session, method)(*args)
            except Exception:
                listeners.discard(session)


@server.list_tools()
async def list_tools():
    sessions.add(server.request_context.session)
    return tools


@server.call_tool()
async def call_tool(name, arguments):
    context = server.request_context
    session = context.session
    sessions.add(session)
    match name:
        case "echo":
            return text(arguments["text"])
        case "image":
            return [types.ImageContent(type="image", data=OFFER["image"], mimeType="image/png")]
        case "structured":
            total = {"sum": arguments["a"] + arguments["b"]}
            return text(str(total)), total
        case "fail":
            raise ValueError("failed on purpose")
        case "progress":
            for step in range(1, 5) if context.meta and context.meta.progressToken is not None else ():
                request = str(context.request_id)
                await session.send_progress_notification(context.meta.progressToken, step, 4, related_request_id=request)
                await anyio.sleep(0.03)
            return text("done")
        case "slow":
            note("started", arguments["token"])
            try:
                await anyio.sleep(60)
            except anyio.get_cancelled_exc_class():
                note("cancelled", arguments["token"])
                raise
        case "log":
            for number in (1, 2):
                await session.send_log_message("info", f"log-{number}", related_request_id=context.request_id)
            return text("logged")
        case "sample":
            # without `related_request_id`: on the session's own stream
            content = types.TextContent(type="text", text=arguments["text"])
            messages = [types.SamplingMessage(role="user", content=content)]
            return text(f"sampled: {(await session.create_message(messages, max_tokens=10)).content.text}")
        case "elicit":
            answer = await session.elicit_form(arguments["text"], ANSWER, context.request_id)
            return text(f"elicited: {answer.action} {(answer.content or {}).get('answer')}")
        case "roots":
            return text("roots: " + ",".join(str(root.uri) for root in (await session.list_roots()).roots))
        case "touch":
            await tell(subscribers, "send_resource_updated", WATCHED)
            return text("touched")
        case "grow":
            if all(tool.name != "extra" for tool in tools):
                tools.append(types.Tool(**EXTRA))
            await tell(sessions, "send_tool_list_changed")
            return text("grown")
    raise ValueError(f"no tool {name}")


@server.list_prompts()
async def list_prompts():
    return [types.Prompt(**prompt) for prompt in OFFER["prompts"]]


@server.get_prompt()
async def get_prompt(name, arguments):
    content = types.TextContent(type="text", text=f"Hello, {arguments['name']}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


@server.list_resources()
async def list_resources():
    return [types.Resource(**resource) for resource in OFFER["resources"]]


@server.list_resource_templates()
async def list_templates():
    return [types.ResourceTemplate(**template) for template in OFFER["templates"]]


@server.read_resource()
async def read_resource(uri):
    return [ReadResourceContents(content=resource_text(str(uri)), mime_type="text/plain")]


@server.subscribe_resource()
async def subscribe(uri):
    subscribers.add(server.request_context.session)


@server.unsubscribe_resource()
async def unsubscribe(uri):
    subscribers.discard(server.request_context.session)


@server.completion()
async def complete(ref, argument, context):
    return types.Completion(values=[name for name in OFFER["names"] if name.startswith(argument.value)])


@server.set_logging_level()
async def set_level(level):
    pass


def initialization():
    return server.create_initialization_options(NotificationOptions(tools_changed=True))


async def over_stdio():
    async with stdio_server() as (read, write):
        await server.run(read, write, initialization())


def http_app(is_stateless):
    # the manager creates the options from the server
    create = server.create_initialization_options
    server.create_initialization_options = lambda: create(NotificationOptions(tools_changed=True))
    manager = StreamableHTTPSessionManager(app=server, stateless=is_stateless)

    @asynccontextmanager
    async def lifespan(app):
        async with manager.run():
            yield

    class Endpoint:
        async def __call__(self, scope, receive, send):
            await manager.handle_request(scope, receive, send)

    return Starlette(routes=[Route("/mcp", endpoint=Endpoint())], lifespan=lifespan)


def sse_app():
    transport = SseServerTransport("/messages/")

    async def stream(request):
        async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, initialization())
        return Response()

    return Starlette(routes=[Route("/sse", endpoint=stream), Mount("/messages/", app=transport.handle_post_message)])


if __name__ == "__main__":
    options = read_options()
    if options.transport == "stdio":
        anyio.run(over_stdio)
    else:
        app = sse_app() if options.transport == "sse" else http_app(options.stateless)
        uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")
