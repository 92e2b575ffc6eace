"""Items of the servers in this folder, the same for every SDK."""

import argparse
import json
import os
from pathlib import Path

OFFER = json.loads((Path(__file__).parent.parent / "offer.json").read_text())
EXTRA = {"name": "extra", "description": "Was not there before.", "inputSchema": {"type": "object", "properties": {}}}
ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
WATCHED = "interop://watched"


def note(word, token):
    """Writes to the log file, which the client reads too."""
    with open(os.environ["INTEROP_LEDGER"], "a") as ledger:
        ledger.write(f"{word} {token}\n")


def resource_text(uri):
    if uri.startswith("interop://items/"):
        return "item " + uri.removeprefix("interop://items/")
    if uri in ("interop://static", WATCHED):
        return uri.removeprefix("interop://") + " text"
    return None


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=["stdio", "http", "sse"])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--oauth", action="store_true")
    return parser.parse_args()
