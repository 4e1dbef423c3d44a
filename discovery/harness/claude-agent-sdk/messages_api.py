"""A model endpoint that plays scripts over Anthropic's Messages API, on 127.0.0.1.

The request's model is the script's name. What it answers follows from the request alone. It
reports no token usage that means anything, and takes any key.
"""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from script import Call, Fail, Say, Script, ScriptedFailure, Think, Turn, Wait, turn

USAGE = {"input_tokens": 0, "output_tokens": 0}


def events(request: dict[str, Any], scripts: dict[str, Script]) -> Iterator[dict[str, Any]]:
    """Yields the events of the answer as Anthropic streams them, and sleeps during pauses."""
    name = request["model"]
    if name not in scripts:
        raise ScriptedFailure(f"no script is called {name!r}")
    done = sum(message["role"] == "assistant" for message in request["messages"])
    message = {
        "id": f"msg-{name}-{done + 1}",
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    yield {"type": "message_start", "message": message}
    reason, index = "end_turn", 0
    for step in turn(scripts[name], done):
        match step:
            case Fail(text):
                raise ScriptedFailure(text)
            case Wait(seconds):
                time.sleep(seconds)
                continue
            case Call():
                reason = "tool_use"
        yield from block(index, step, request.get("tools", []))
        index += 1
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": USAGE}
    yield {"type": "message_stop"}


def block(index: int, step: Say | Call, tools: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the events of one content block."""

    def delta(kind: str, **rest: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **rest}}

    def start(kind: str, **rest: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **rest}}

    match step:
        case Call(name, _, id):
            # Claude Code adds the prefix mcp__SERVER__ to the names of external tools.
            known = next(tool["name"] for tool in tools if tool["name"].split("__")[-1] == name)
            yield start("tool_use", id=id, name=known, input={})
            for piece in step.pieces():
                yield delta("input_json_delta", partial_json=piece)
        case Say(chunks, pause):
            thinks = isinstance(step, Think)
            yield start("thinking", thinking="", signature="") if thinks else start("text", text="")
            for text in chunks:
                yield delta("thinking_delta", thinking=text) if thinks else delta("text_delta", text=text)
                time.sleep(pause)
            if thinks:
                yield delta("signature_delta", signature="scripted")
    yield {"type": "content_block_stop", "index": index}


class Handler(BaseHTTPRequestHandler):
    """Answers POST /v1/messages, always with a stream, because Claude Code requests nothing else."""

    protocol_version = "HTTP/1.1"
    scripts: dict[str, Script]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path.partition("?")[0] != "/v1/messages":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for event in events(request, self.scripts):
                self._send(event)
        except ScriptedFailure as failure:
            self._send({"type": "error", "error": {"type": "invalid_request_error", "message": str(failure)}})

    def _send(self, event: dict[str, Any]) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Logs nothing, because the harness has the log."""


def start(scripts: dict[str, Script]) -> str:
    """Starts a server that runs until the process exits, and returns its base URL."""
    handler = type("Handler", (Handler,), {"scripts": scripts})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d" % server.server_address[1]
