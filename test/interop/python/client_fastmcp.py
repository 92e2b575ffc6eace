"""The client of FastMCP (PyPI `fastmcp`), versions 3 and 4."""

from contextlib import asynccontextmanager

import anyio
from features import ROOT, Adapter, Result, main
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport


class FastMCP(Adapter):
    client: Client
    revision = ""

    async def sampling_handler(self, messages, params, context):
        content = messages[0].content
        return await self.answer_text((content[0] if isinstance(content, list) else content).text)

    async def elicitation_handler(self, message, response_type, params, context):
        return {"answer": await self.answer_text(message)}

    async def log_handler(self, message):
        self.note_log(message.data)

    async def message_handler(self, message):
        notification = getattr(message, "root", message)
        method = getattr(notification, "method", "")
        if method == "notifications/resources/updated":
            self.updated.append(str(notification.params.uri))
        if method == "notifications/tools/list_changed":
            self.changed.append("tools")

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def prompts(self):
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def resources(self):
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def templates(self):
        templates = await self.client.list_resource_templates()
        return [getattr(one, "uriTemplate", None) or one.uri_template for one in templates]

    async def call(self, name, arguments, on_progress=None):
        result = await self.client.call_tool_mcp(self.public(name), arguments or {}, progress_handler=on_progress)
        wire = result.model_dump(by_alias=True)
        return Result(result.content, wire.get("structuredContent"), bool(wire.get("isError")))

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(self.public(name), arguments)).messages[0].content.text

    async def read(self, uri):
        return (await self.client.read_resource(uri))[0].text

    async def complete(self, prompt, argument, value):
        from_wire = {"type": "ref/prompt", "name": self.public(prompt)}
        return (await self.client.complete(prompt_reference()(**from_wire), {"name": argument, "value": value})).values

    async def set_level(self):
        if self.revision < "2026":
            await self.client.set_logging_level("debug")

    async def cancelled_call(self, name, arguments, has_started):
        # version 3 sends no cancellation by itself
        if not hasattr(self.client, "mode"):
            return await super().cancelled_call(name, arguments, has_started)
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments)
            await has_started()
            group.cancel_scope.cancel()


def prompt_reference():
    try:
        from mcp_types import PromptReference
    except ImportError:
        from mcp.types import PromptReference
    return PromptReference


def transport(options):
    if options.transport == "stdio":
        command, *args = options.command
        return StdioTransport(command=command, args=args, env=options.env)
    kind = SSETransport if options.transport == "sse" else StreamableHttpTransport
    return kind(options.url, headers=options.headers)


@asynccontextmanager
async def connected(options):
    adapter = FastMCP(options)
    adapter.client = Client(
        transport(options),
        roots=[ROOT],
        sampling_handler=adapter.sampling_handler,
        elicitation_handler=adapter.elicitation_handler,
        log_handler=adapter.log_handler,
        message_handler=adapter.message_handler,
    )
    async with adapter.client:
        adapter.revision = revision(adapter.client)
        yield adapter


def revision(client):
    version = getattr(client.session, "protocol_version", None)
    return version or getattr(client.initialize_result, "protocolVersion", "")


if __name__ == "__main__":
    main(connected)
