"""The features that every client tries through an SDK adapter; prints one line of JSON per feature."""

import argparse
import base64
import json
import os
import re
from pathlib import Path

import anyio

OFFER = json.loads((Path(__file__).parent.parent / "offer.json").read_text())
ROOT = "file:///interop"
WATCHED = "interop://watched"
# enough for twenty calls that each start a process
LIMIT_SECONDS = 120


class Unsupported(Exception):
    """The client does not support this."""


class Result:
    """The result of a call, in the same form for every SDK."""

    def __init__(self, blocks, structured, is_error):
        self.blocks = blocks
        self.structured = structured
        self.is_error = is_error

    @property
    def text(self):
        return "".join(getattr(block, "text", "") or "" for block in self.blocks)


class Adapter:
    """Adapter for an SDK's client. `name` of a tool or prompt is the server's own."""

    def __init__(self, options):
        self.options = options
        self.logs = []
        self.updated = []
        self.changed = []

    def public(self, name):
        return self.options.prefix + name

    async def answer_text(self, message):
        """Answers a server request; answers to parallel calls take longer the later the request came."""
        question = re.sub(r"^\[[^\]]+\] ", "", message)
        if match := re.fullmatch(r"ask-(\d+)", question):
            await anyio.sleep(0.3 * (1 + int(match[1])))
        return f"answer to {question}"

    def note_log(self, data):
        """Records the tool's own part of a log message; some servers wrap it in an object."""
        self.logs.extend(re.findall(r"log-\d", str(data))[:1])

    async def set_level(self):
        raise Unsupported

    async def subscribe(self, uri):
        raise Unsupported

    async def watch_lists(self):
        """Subscribes to list changes."""

    async def cancelled_call(self, name, arguments, has_started):
        raise Unsupported

    async def complete(self, prompt, argument, value):
        raise Unsupported


def expect(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r} instead of {expected!r}")


def expect_among(expected, actual, what):
    missing = sorted(set(expected) - set(actual))
    if missing:
        raise AssertionError(f"{what}: without {', '.join(missing)}")


async def until(what, condition, seconds=15):
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.02)
    if not condition():
        raise AssertionError(f"no {what} within {seconds} s")


async def lists(client):
    expect_among([client.public(tool["name"]) for tool in OFFER["tools"]], await client.tools(), "tools")
    expect_among([client.public(prompt["name"]) for prompt in OFFER["prompts"]], await client.prompts(), "prompts")
    expect_among([resource["uri"] for resource in OFFER["resources"]], await client.resources(), "resources")
    expect_among([template["uriTemplate"] for template in OFFER["templates"]], await client.templates(), "templates")


async def text(client):
    result = await client.call("echo", {"text": "Grüße, 世界 \u2028"})
    expect(result.text, "Grüße, 世界 \u2028", "text")


async def image(client):
    [block] = (await client.call("image", {})).blocks
    data = block.data if isinstance(block.data, str) else base64.b64encode(block.data).decode()
    expect((block.type, data), ("image", OFFER["image"]), "image")


async def structured(client):
    result = await client.call("structured", {"a": 19, "b": 23})
    expect(result.structured, {"sum": 42}, "structured content")


async def tool_error(client):
    result = await client.call("fail", {})
    expect(result.is_error, True, "isError")
    expect_among(["on purpose"], [result.text[-10:]], "text of the error")


async def no_arguments(client):
    expect((await client.call("image", None)).is_error, False, "isError")


async def progress(client):
    seen = []

    async def note(value, total=None, message=None):
        seen.append(value)

    await client.call("progress", {}, note)
    await until("four steps of progress", lambda: len(seen) >= 4)
    expect(seen, [1, 2, 3, 4], "progress")


async def cancel(client):
    ledger = Path(client.options.ledger)
    token = os.urandom(6).hex()
    wrote = lambda word: ledger.exists() and f"{word} {token}" in ledger.read_text()
    await client.cancelled_call("slow", {"token": token}, lambda: until("start of the call", lambda: wrote("started")))
    await until("cancellation at the server", lambda: wrote("cancelled"))


async def log(client):
    await client.set_level()
    await client.call("log", {})
    await until("two log messages", lambda: len(client.logs) >= 2)
    expect_among(["log-1", "log-2"], client.logs, "log messages")


async def sampling(client):
    expect((await client.call("sample", {"text": "why"})).text, "sampled: answer to why", "result")


async def elicitation(client):
    expect((await client.call("elicit", {"text": "who"})).text, "elicited: accept answer to who", "result")


async def roots(client):
    expect((await client.call("roots", {})).text, f"roots: {ROOT}", "result")


async def prompt(client):
    expect(await client.prompt("greet", {"name": "Ada"}), "Hello, Ada", "prompt")


async def read(client):
    expect(await client.read("interop://static"), "static text", "text")


async def template(client):
    expect(await client.read("interop://items/42"), "item 42", "text")


async def wildcard(client):
    if "path://{p*}" not in await client.templates():
        raise Unsupported
    expect(await client.read("path://a/b/c"), "path a/b/c", "text")


async def complete(client):
    expect(await client.complete("greet", "name", "A"), OFFER["names"], "values")


async def subscribe(client):
    await client.subscribe(WATCHED)
    await client.call("touch", {})
    await until("update of the resource", lambda: WATCHED in client.updated)


async def parallel(client):
    right = []

    async def one(number):
        if (await client.call("echo", {"text": f"n{number}"})).text == f"n{number}":
            right.append(number)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    expect(len(right), 20, "right answers of 20")


async def askers(client):
    outcomes = {}

    async def one(tool, reply, number):
        try:
            outcomes[tool, number] = (await client.call(tool, {"text": f"ask-{number}"})).text
        except Exception as error:
            outcomes[tool, number] = describe(error)

    for tool, reply in (("sample", "sampled: "), ("elicit", "elicited: accept ")):
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(one, tool, reply, number)
        expected = {number: f"{reply}answer to ask-{number}" for number in range(5)}
        wrong = [outcomes[tool, number] for number in range(5) if outcomes[tool, number] != expected[number]]
        if wrong:
            raise AssertionError(f"{tool}: {5 - len(wrong)} of 5 right, else {wrong[0]}")


async def list_changed(client):
    await client.watch_lists()
    before = len(client.changed)
    await client.call("grow", {})
    await until("word of the changed list", lambda: "tools" in client.changed[before:])
    for _ in range(100):
        if client.public("extra") in await client.tools():
            return
        await anyio.sleep(0.05)
    raise AssertionError("the new tool is not listed")


FEATURES = {
    "lists": lists,
    "text": text,
    "image": image,
    "structured": structured,
    "error": tool_error,
    "no-arguments": no_arguments,
    "prompt": prompt,
    "read": read,
    "template": template,
    "wildcard": wildcard,
    "complete": complete,
    "progress": progress,
    "log": log,
    "cancel": cancel,
    "sampling": sampling,
    "elicitation": elicitation,
    "roots": roots,
    "parallel": parallel,
    "askers": askers,
    "subscribe": subscribe,
    "list-changed": list_changed,
}


def describe(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def say(feature, outcome, note=""):
    print(json.dumps({"feature": feature, "outcome": outcome, "note": note}), flush=True)


async def attempt(name, feature, client):
    try:
        with anyio.fail_after(LIMIT_SECONDS):
            await feature(client)
        say(name, "ok")
    except Unsupported:
        say(name, "unsupported")
    except Exception as error:
        say(name, "failed", describe(error))


async def run(connected, options):
    """Runs the client. `connected(options)` is a context manager that yields a connected adapter."""
    wanted = [name for name in FEATURES if not options.only or name in options.only.split(",")]
    is_connected = False
    try:
        async with connected(options) as client:
            is_connected = True
            say("init", "ok", client.revision)
            for name in wanted:
                await attempt(name, FEATURES[name], client)
    except BaseException as error:
        if not is_connected:
            say("init", "failed", describe(error))


def main(connected):
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", help="of the server; over stdio the command as a JSON array")
    parser.add_argument("--transport", choices=["http", "sse", "stdio"])
    parser.add_argument("--mode", choices=["legacy", "auto"], default="legacy")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--token")
    parser.add_argument("--ledger")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.command = json.loads(options.url) if options.transport == "stdio" else None
    options.env = dict(os.environ)
    options.headers = {"Authorization": f"Bearer {options.token}"} if options.token else {}
    anyio.run(run, connected, options)
    os._exit(0)
