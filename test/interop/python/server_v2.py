"""A server of version 2 of the Python SDK (PyPI `mcp`), both eras."""

import anyio
import mcp_types as types
import uvicorn
from content import ANSWER, EXTRA, OFFER, WATCHED, note, read_options, resource_text
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

bus = InMemorySubscriptionBus()
tools = [types.Tool.model_validate(tool) for tool in OFFER["tools"]]
sessions = set()
subscribers = set()


def text(value, **more):
    return types.CallToolResult(content=[types.TextContent(text=value)], **more)


async def tell(listeners, method, *args):
    for session in list(listeners):
        with anyio.move_on_after(1):
            try:
                await getattr(session, method)(*args)
            except Exception:
                listeners.discard(session)


async def ask(context, params, request, in_session):
    """Returns the client's answer, or an input-required result in the modern era."""
    if context.protocol_version < "2026":
        return await in_session()
    answers = params.input_responses or {}
    return answers.get("question") or types.InputRequiredResult(input_requests={"question": request})


async def sample(context, params):
    messages = [types.SamplingMessage(role="user", content=types.TextContent(text=params.arguments["text"]))]
    request = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=messages, max_tokens=10))
    session = context.session
    in_session = lambda: session.create_message(messages, max_tokens=10, related_request_id=context.request_id)
    answer = await ask(context, params, request, in_session)
    return answer if isinstance(answer, types.InputRequiredResult) else text(f"sampled: {answer.content.text}")


async def elicit(context, params):
    message = params.arguments["text"]
    request = types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=ANSWER))
    in_session = lambda: context.session.elicit_form(message, ANSWER, context.request_id)
    answer = await ask(context, params, request, in_session)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    return text(f"elicited: {answer.action} {(answer.content or {}).get('answer')}")


async def roots(context, params):
    answer = await ask(context, params, types.ListRootsRequest(), context.session.list_roots)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    return text("roots: " + ",".join(str(root.uri) for root in answer.roots))


async def slow(token):
    note("started", token)
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        note("cancelled", token)
        raise


async def call_tool(context, params):
    session = context.session
    sessions.add(session)
    arguments = params.arguments or {}
    match params.name:
        case "echo":
            return text(arguments["text"])
        case "image":
            return types.CallToolResult(content=[types.ImageContent(data=OFFER["image"], mime_type="image/png")])
        case "structured":
            total = {"sum": arguments["a"] + arguments["b"]}
            return text(str(total), structured_content=total)
        case "fail":
            return text("failed on purpose", is_error=True)
        case "progress":
            for step in range(1, 5):
                await session.report_progress(step, 4)
                await anyio.sleep(0.03)
            return text("done")
        case "slow":
            await slow(arguments["token"])
        case "log":
            for number in (1, 2):
                await session.send_log_message("info", f"log-{number}", related_request_id=context.request_id)
            return text("logged")
        case "sample":
            return await sample(context, params)
        case "elicit":
            return await elicit(context, params)
        case "roots":
            return await roots(context, params)
        case "touch":
            await bus.publish(ResourceUpdated(uri=WATCHED))
            await tell(subscribers, "send_resource_updated", WATCHED)
            return text("touched")
        case "grow":
            if all(tool.name != "extra" for tool in tools):
                tools.append(types.Tool.model_validate(EXTRA))
            await bus.publish(ToolsListChanged())
            await tell(sessions, "send_tool_list_changed")
            return text("grown")
    return text(f"no tool {params.name}", is_error=True)


async def list_tools(context, params):
    sessions.add(context.session)
    return types.ListToolsResult(tools=tools)


async def list_prompts(context, params):
    return types.ListPromptsResult(prompts=[types.Prompt.model_validate(prompt) for prompt in OFFER["prompts"]])


async def get_prompt(context, params):
    content = types.TextContent(text=f"Hello, {params.arguments['name']}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def list_resources(context, params):
    return types.ListResourcesResult(resources=[types.Resource.model_validate(one) for one in OFFER["resources"]])


async def list_templates(context, params):
    templates = [types.ResourceTemplate.model_validate(template) for template in OFFER["templates"]]
    return types.ListResourceTemplatesResult(resource_templates=templates)


async def read_resource(context, params):
    uri = str(params.uri)
    contents = types.TextResourceContents(uri=uri, text=resource_text(uri), mime_type="text/plain")
    return types.ReadResourceResult(contents=[contents])


async def subscribe(context, params):
    subscribers.add(context.session)
    return types.EmptyResult()


async def unsubscribe(context, params):
    subscribers.discard(context.session)
    return types.EmptyResult()


async def complete(context, params):
    values = [name for name in OFFER["names"] if name.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values))


async def set_level(context, params):
    return types.EmptyResult()


server = Server(
    "interop-python-2",
    version="1",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=ListenHandler(bus),
    on_completion=complete,
    on_set_logging_level=set_level,
)

# each transport creates the options from the server
create_options = server.create_initialization_options
server.create_initialization_options = lambda: create_options(NotificationOptions(tools_changed=True))


async def over_stdio():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def sse_app():
    transport = SseServerTransport("/messages/")

    async def stream(request):
        async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return Response()

    return Starlette(routes=[Route("/sse", endpoint=stream), Mount("/messages/", app=transport.handle_post_message)])


if __name__ == "__main__":
    options = read_options()
    if options.transport == "stdio":
        anyio.run(over_stdio)
    else:
        app = sse_app() if options.transport == "sse" else server.streamable_http_app(stateless_http=options.stateless)
        uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")
