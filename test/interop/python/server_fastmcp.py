"""A server of FastMCP (PyPI `fastmcp`), versions 3 and 4; with `--oauth` behind its own authorization server."""

import base64
from dataclasses import dataclass

import anyio
from content import OFFER, note, read_options
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image


@dataclass
class Form:
    answer: str


def create(options):
    server = FastMCP("interop-fastmcp", auth=in_memory_provider(options) if options.oauth else None)
    add_tools(server)
    add_asks(server)

    @server.prompt
    def greet(name: str) -> str:
        return f"Hello, {name}"

    for resource in OFFER["resources"]:
        add_resource(server, resource)

    @server.resource("interop://items/{id}", mime_type="text/plain")
    def item(id: str) -> str:
        return f"item {id}"

    @server.resource("path://{p*}", mime_type="text/plain")
    def path(p: str) -> str:
        return f"path {p}"

    return server


def add_resource(server, resource):
    @server.resource(resource["uri"], name=resource["name"], mime_type="text/plain")
    def read() -> str:
        return f"{resource['name']} text"


def add_tools(server):
    @server.tool(output_schema=None)
    def echo(text: str) -> str:
        return text

    @server.tool(output_schema=None)
    def image() -> Image:
        return Image(data=base64.b64decode(OFFER["image"]), format="png")

    @server.tool
    def structured(a: float, b: float) -> dict[str, float]:
        return {"sum": a + b}

    @server.tool
    def fail() -> str:
        raise ToolError("failed on purpose")

    @server.tool
    async def progress(ctx: Context) -> str:
        for step in range(1, 5):
            await ctx.report_progress(step, 4)
            await anyio.sleep(0.03)
        return "done"

    @server.tool
    async def slow(token: str) -> str:
        note("started", token)
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            note("cancelled", token)
            raise
        return "done"

    @server.tool
    async def log(ctx: Context) -> str:
        for number in (1, 2):
            await ctx.info(f"log-{number}")
        return "logged"

    @server.tool
    def touch() -> str:
        return "touched"

    @server.tool
    async def grow(ctx: Context) -> str:
        def extra() -> str:
            return "extra"

        server.tool(extra)
        await ctx.session.send_tool_list_changed()
        return "grown"


def add_asks(server):
    @server.tool(output_schema=None)
    async def sample(text: str, ctx: Context) -> str:
        return f"sampled: {(await ctx.sample(text)).text}"

    @server.tool(output_schema=None)
    async def elicit(text: str, ctx: Context) -> str:
        answer = await ctx.elicit(text, response_type=Form)
        return f"elicited: {answer.action} {answer.data.answer}"

    @server.tool(output_schema=None)
    async def roots(ctx: Context) -> str:
        return "roots: " + ",".join(str(root.uri) for root in await ctx.list_roots())


def in_memory_provider(options):
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
    from mcp.server.auth.settings import ClientRegistrationOptions

    registration = ClientRegistrationOptions(enabled=True)
    return InMemoryOAuthProvider(
        base_url=f"http://127.0.0.1:{options.port}", client_registration_options=registration
    )


if __name__ == "__main__":
    options = read_options()
    server = create(options)
    if options.transport == "stdio":
        server.run(transport="stdio", show_banner=False)
    else:
        where = {"host": "127.0.0.1", "port": options.port, "log_level": "warning", "show_banner": False}
        if options.transport == "sse":
            server.run(transport="sse", **where)
        elif options.stateless:
            server.run(transport="http", stateless_http=True, **where)
        else:
            server.run(transport="http", **where)
