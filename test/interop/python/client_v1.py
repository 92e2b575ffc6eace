"""The client of version 1 of the Python SDK (PyPI `mcp`)."""

from contextlib import asynccontextmanager, suppress

import anyio
from features import ROOT, Adapter, Result, main
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl


class V1(Adapter):
    session: ClientSession
    revision = ""

    async def sampling_callback(self, context, params):
        text = await self.answer_text(params.messages[0].content.text)
        return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text=text), model="m")

    async def elicitation_callback(self, context, params):
        return types.ElicitResult(action="accept", content={"answer": await self.answer_text(params.message)})

    async def list_roots_callback(self, context):
        return types.ListRootsResult(roots=[types.Root(uri=ROOT)])

    async def logging_callback(self, params):
        self.note_log(params.data)

    async def message_handler(self, message):
        if not isinstance(message, types.ServerNotification):
            return
        if isinstance(message.root, types.ResourceUpdatedNotification):
            self.updated.append(str(message.root.params.uri))
        if isinstance(message.root, types.ToolListChangedNotification):
            self.changed.append("tools")

    async def tools(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def prompts(self):
        return [prompt.name for prompt in (await self.session.list_prompts()).prompts]

    async def resources(self):
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def templates(self):
        return [one.uriTemplate for one in (await self.session.list_resource_templates()).resourceTemplates]

    async def call(self, name, arguments, on_progress=None):
        result = await self.session.call_tool(self.public(name), arguments, progress_callback=on_progress)
        return Result(result.content, result.structuredContent, result.isError)

    async def prompt(self, name, arguments):
        return (await self.session.get_prompt(self.public(name), arguments)).messages[0].content.text

    async def read(self, uri):
        return (await self.session.read_resource(AnyUrl(uri))).contents[0].text

    async def complete(self, prompt, argument, value):
        ref = types.PromptReference(type="ref/prompt", name=self.public(prompt))
        return (await self.session.complete(ref, {"name": argument, "value": value})).completion.values

    async def set_level(self):
        await self.session.set_logging_level("debug")

    async def subscribe(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))

    async def cancelled_call(self, name, arguments, has_started):
        # this SDK sends no cancellation by itself
        request = self.session._request_id
        async def call():
            with suppress(McpError):
                await self.call(name, arguments)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await has_started()
            params = types.CancelledNotificationParams(requestId=request, reason="interop")
            notification = types.CancelledNotification(method="notifications/cancelled", params=params)
            await self.session.send_notification(types.ClientNotification(notification))
            await anyio.sleep(0.2)
            group.cancel_scope.cancel()


@asynccontextmanager
async def streams(options):
    if options.transport == "stdio":
        command, *args = options.command
        async with stdio_client(StdioServerParameters(command=command, args=args, env=options.env)) as (read, write):
            yield read, write
    elif options.transport == "sse":
        async with sse_client(options.url, headers=options.headers) as (read, write):
            yield read, write
    else:
        async with streamablehttp_client(options.url, headers=options.headers) as (read, write, _):
            yield read, write


@asynccontextmanager
async def connected(options):
    adapter = V1(options)
    async with streams(options) as (read, write):
        async with ClientSession(
            read,
            write,
            sampling_callback=adapter.sampling_callback,
            elicitation_callback=adapter.elicitation_callback,
            list_roots_callback=adapter.list_roots_callback,
            logging_callback=adapter.logging_callback,
            message_handler=adapter.message_handler,
        ) as session:
            adapter.session = session
            adapter.revision = (await session.initialize()).protocolVersion
            yield adapter


if __name__ == "__main__":
    main(connected)
