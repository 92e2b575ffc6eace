"""The client of version 2 of the Python SDK (PyPI `mcp`), in the legacy era or the negotiated one."""

from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import mcp_types as types
from features import ROOT, Adapter, Result, main
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared._httpx_utils import create_mcp_http_client


class V2(Adapter):
    client: Client
    revision = ""

    @property
    def is_modern(self):
        return self.revision >= "2026"

    async def sampling_callback(self, context, params):
        content = params.messages[0].content
        text = await self.answer_text((content[0] if isinstance(content, list) else content).text)
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text=text), model="m")

    async def elicitation_callback(self, context, params):
        return types.ElicitResult(action="accept", content={"answer": await self.answer_text(params.message)})

    async def list_roots_callback(self, context):
        return types.ListRootsResult(roots=[types.Root(uri=ROOT)])

    async def logging_callback(self, params):
        self.note_log(params.data)

    async def message_handler(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.append("tools")

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools(cache_mode="bypass")).tools]

    async def prompts(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def resources(self):
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def templates(self):
        return [one.uri_template for one in (await self.client.list_resource_templates()).resource_templates]

    async def call(self, name, arguments, on_progress=None):
        result = await self.client.call_tool(self.public(name), arguments, progress_callback=on_progress)
        return Result(result.content, result.structured_content, bool(result.is_error))

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(self.public(name), arguments)).messages[0].content.text

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    async def complete(self, prompt, argument, value):
        ref = types.PromptReference(name=self.public(prompt))
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    async def set_level(self):
        # in the modern era each request carries the level
        if not self.is_modern:
            await self.client.set_logging_level("debug")

    async def listen(self, **wanted):
        async def follow(task_status):
            async with self.client.listen(**wanted) as subscription:
                task_status.started()
                async for event in subscription:
                    if isinstance(event, ResourceUpdated):
                        self.updated.append(str(event.uri))
                    if isinstance(event, ToolsListChanged):
                        self.changed.append("tools")

        await self.group.start(lambda *, task_status: follow(task_status))

    async def subscribe(self, uri):
        if self.is_modern:
            await self.listen(resource_subscriptions=[uri])
        else:
            await self.client.subscribe_resource(uri)

    async def watch_lists(self):
        if self.is_modern:
            await self.listen(tools_list_changed=True)

    async def cancelled_call(self, name, arguments, has_started):
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments)
            await has_started()
            group.cancel_scope.cancel()


def transport(options):
    if options.transport == "stdio":
        command, *args = options.command
        return stdio_client(StdioServerParameters(command=command, args=args, env=options.env))
    if options.transport == "sse":
        return sse_client(options.url, headers=options.headers)
    return streamable_http_client(options.url, http_client=create_mcp_http_client(headers=options.headers))


@asynccontextmanager
async def connected(options):
    async with AsyncExitStack() as stack:
        adapter = V2(options)
        adapter.client = await stack.enter_async_context(
            Client(
                transport(options),
                mode=options.mode,
                log_level="debug",
                sampling_callback=adapter.sampling_callback,
                elicitation_callback=adapter.elicitation_callback,
                list_roots_callback=adapter.list_roots_callback,
                logging_callback=adapter.logging_callback,
                message_handler=adapter.message_handler,
            )
        )
        adapter.revision = adapter.client.protocol_version
        adapter.group = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(adapter.group.cancel_scope.cancel)
        yield adapter


if __name__ == "__main__":
    main(connected)
