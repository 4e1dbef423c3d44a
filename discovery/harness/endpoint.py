"""A model endpoint that plays scripts over OpenAI's chat completions API, on 127.0.0.1.

It is for integrations that call their model over HTTP. The model name of a request selects the
script, and the answer depends only on the request. The reported token usage is meaningless, and
no API key is needed.

Run as a program, it prints "listening on http://127.0.0.1:PORT/v1" and serves until SIGTERM.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from script import SCRIPTS, Call, Fail, Say, Script, ScriptedFailure, Think, Turn, Wait, turn


def choose(request: dict[str, Any], scripts: dict[str, Script]) -> tuple[str, Turn]:
    """Returns an id for the answer, and the turn: each message of a user or tool has one turn."""
    name = request.get("model", "")
    script = scripts.get(name)
    if script is None:
        raise ScriptedFailure(f"no script is called {name!r}")
    answers = sum(message.get("role") in ("user", "tool") for message in request.get("messages", []))
    if not answers:
        raise ScriptedFailure("no message wants an answer")
    return f"chatcmpl-{name}-{answers}", turn(script, answers - 1)


def deltas(steps: Turn) -> Iterator[dict[str, Any]]:
    """Yields the deltas of the answer as providers stream them, and sleeps during pauses."""
    yield {"role": "assistant", "content": ""}
    calls = 0
    for step in steps:
        match step:
            case Fail(message):
                raise ScriptedFailure(message)
            case Wait(seconds):
                time.sleep(seconds)
            case Call(name, _, id):
                yield _call(calls, id=id, type="function", function={"name": name, "arguments": ""})
                for piece in step.pieces():
                    yield _call(calls, function={"arguments": piece})
                calls += 1
            case Say(chunks, pause):
                key = "reasoning_content" if isinstance(step, Think) else "content"
                for text in chunks:
                    yield {key: text}
                    time.sleep(pause)


def _call(index: int, **rest: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **rest}]}


def message(steps: Turn) -> dict[str, Any]:
    """Returns the whole answer, for a request without streaming."""
    whole: dict[str, Any] = {"role": "assistant", "content": ""}
    for delta in deltas(steps):
        for key in ("content", "reasoning_content"):
            if key in delta:
                whole[key] = whole.get(key, "") + delta[key]
        for piece in delta.get("tool_calls", []):
            calls = whole.setdefault("tool_calls", [])
            if piece["index"] == len(calls):
                calls.append({"id": piece["id"], "type": "function", "function": dict(piece["function"])})
            else:
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return whole


class Handler(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"
    scripts: dict[str, Script] = SCRIPTS

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path != "/v1/chat/completions":
            return self._json(404, {"error": {"message": f"{self.path} is not served", "type": "not_found"}})
        try:
            id, steps = choose(request, self.scripts)
            if request.get("stream"):
                return self._stream(id, request["model"], steps)
            answer = message(steps)
        except ScriptedFailure as failure:
            return self._json(400, {"error": {"message": str(failure), "type": "scripted"}})
        finish = "tool_calls" if "tool_calls" in answer else "stop"
        choice = {"index": 0, "message": answer, "finish_reason": finish}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        self._json(200, _envelope("chat.completion", id, request["model"], [choice]) | {"usage": usage})

    def _stream(self, id: str, model: str, steps: Turn) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

        def send(data: Any) -> None:
            self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()

        def chunk(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            send(_envelope("chat.completion.chunk", id, model, [choice]))

        try:
            finish = "stop"
            for delta in deltas(steps):
                if "tool_calls" in delta:
                    finish = "tool_calls"
                chunk(delta)
        except ScriptedFailure as failure:
            return send({"error": {"message": str(failure), "type": "scripted", "code": None, "param": None}})
        chunk({}, finish)
        self.wfile.write(b"data: [DONE]\n\n")

    def _json(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing, because the harness has the log."""


def _envelope(kind: str, id: str, model: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": id, "object": kind, "created": 1767225600, "model": model, "choices": choices}


def start(scripts: dict[str, Script] = SCRIPTS) -> str:
    """Starts a server that runs until the process exits, and returns its base URL, which ends in /v1."""
    handler = type("Handler", (Handler,), {"scripts": scripts})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/v1" % server.server_address[1]


def main(scripts: dict[str, Script] = SCRIPTS) -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    print("listening on " + start(scripts), flush=True)
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
