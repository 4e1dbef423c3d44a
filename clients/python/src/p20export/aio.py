"""Reads the events of threads from `p20export serve`, also across lost connections."""

from __future__ import annotations

import asyncio
import codecs
import http.client
import io
import json
import random
import ssl as _ssl
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

__all__ = ["EventStreamParser", "LogRewound", "ServerError", "ThreadEvent", "thread_events"]

_T = TypeVar("_T")
_PIECE = 1 << 16  # bytes to read at once


@dataclass(frozen=True)
class ThreadEvent:
    """An event of a thread: its id, after which a reader can go on later, and its text."""

    id: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The event as an object."""
        value: dict[str, Any] = json.loads(self.text)
        return value


class ServerError(Exception):
    """The server refused the request, with a status and a code of docs/serve.md."""

    def __init__(self, status: int, code: str | None, detail: str) -> None:
        super().__init__(f"status {status}{f', {code}' if code else ''}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail


class LogRewound(Exception):
    """The log has lost events that were read. Begin with the first event again."""


class EventStreamParser:
    """A parser of event streams as the HTML standard defines them."""

    def __init__(self) -> None:
        self.retry: float | None = None
        """The time to wait before the next connection, in seconds, if the stream has set it."""
        self.rewound = False
        """Whether the stream has set the last event id to the empty string."""
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._after_cr = False
        self._line: list[str] = []  # the pieces of the line that has not ended
        self._id: str | None = None
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[ThreadEvent]:
        """Return the events that end within the next bytes of the stream."""
        text = self._decoder.decode(data)
        if not text:
            return []
        if self._after_cr:
            text = text.removeprefix("\n")
        self._after_cr = text.endswith("\r")
        events = []
        *ended, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in ended:
            event = self._take("".join([*self._line, line]))
            self._line = []
            if event:
                events.append(event)
        self._line.append(rest)
        return events

    def _take(self, line: str) -> ThreadEvent | None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            self.rewound = self.rewound or self._id == ""
            lines, self._data = self._data, []
            return ThreadEvent(self._id or "", "\n".join(lines)) if lines else None
        if field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value) / 1000
        return None


async def thread_events(
    server_url: str,
    thread_id: str,
    *,
    after: str = "",
    token: str | None = None,
    follow: bool = True,
    idle_timeout: float = 45,
    ssl: _ssl.SSLContext | None = None,
) -> AsyncGenerator[ThreadEvent, None]:
    """Yield the events of a thread, each once and in order.

    The first event is the one that follows the event with the id after. With follow=False,
    the last event is the last that the thread has now.

    If the connection breaks, if nothing arrives for idle_timeout seconds (the server sends
    something every 15 seconds), or if the server is unavailable or overloaded, the reader
    connects again, and goes on after the last event. Cancel the task to give up.

    Raises ServerError if the server refuses the request, and LogRewound if the log has lost
    events that were read.
    """
    url = urlsplit(server_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"{server_url!r} is not the URL of a server")
    path = f"{url.path.rstrip('/')}/threads/{quote(thread_id, safe='')}/events{'' if follow else '?follow=false'}"
    head = [f"GET {path} HTTP/1.1", f"Host: {url.netloc.rpartition('@')[2]}", "Accept: text/event-stream", "Connection: close"]
    if token is not None:
        head.append(f"Authorization: Bearer {token}")
    if not "".join([*head, after]).isprintable():
        raise ValueError("the URL, the token or the id has a character that cannot be sent")
    ssl = (ssl or _ssl.create_default_context()) if url.scheme == "https" else None
    address = (url.hostname, url.port or (443 if ssl else 80))
    failures, retry = 0, 0.5
    while True:
        wait = 0.0
        response = _Response(idle_timeout)
        try:
            await response.open(address, ssl, head + [f"Last-Event-ID: {after}"] * bool(after))
            if response.status in (408, 429) or response.status >= 500:
                seconds = response.headers.get("Retry-After", "")
                wait = float(seconds) if seconds.isdigit() else 0.0
            elif response.status != 200 or response.headers.get_content_type() != "text/event-stream":
                raise await response.error()
            else:
                parser = EventStreamParser()
                while data := await response.read():
                    failures = 0
                    for event in parser.feed(data):
                        after = event.id or after
                        yield event
                    if parser.rewound:
                        raise LogRewound(f"the log has lost events of the thread {thread_id}")
                    if parser.retry is not None:
                        retry = parser.retry
                if not follow:
                    return
        except _ssl.SSLCertVerificationError:
            raise
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException):
            pass  # the connection broke, or what arrived is not HTTP
        finally:
            response.close()
        await asyncio.sleep(wait + random.random() * min(30, retry * 2**failures))
        failures = min(failures + 1, 10)


class _Response:
    """A response of an HTTP/1.1 server, whose every step may take as long as the timeout."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._writer: asyncio.StreamWriter | None = None
        self._chunked = False
        self._left: int | None = None  # bytes of the body or of the chunk, if known

    async def _within(self, step: Coroutine[Any, Any, _T]) -> _T:
        # Before Python 3.12, wait_for may ignore a cancellation.
        task = asyncio.ensure_future(step)
        try:
            await asyncio.wait([task], timeout=self._timeout)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            task.cancel()

    async def _connect(self, address: tuple[str, int], ssl: _ssl.SSLContext | None) -> None:
        self._reader, self._writer = await asyncio.open_connection(*address, ssl=ssl)

    async def open(self, address: tuple[str, int], ssl: _ssl.SSLContext | None, head: list[str]) -> None:
        """Send a request, and read the status and the headers of the response."""
        await self._within(self._connect(address, ssl))
        assert self._writer is not None
        self._writer.write("\r\n".join([*head, "", ""]).encode())
        status, _, fields = (await self._within(self._reader.readuntil(b"\r\n\r\n"))).partition(b"\r\n")
        version, code, *_ = status.split(b" ")
        if not version.startswith(b"HTTP/1.") or not code.isdigit():
            raise http.client.BadStatusLine(repr(status))
        self.status, self.headers = int(code), http.client.parse_headers(io.BytesIO(fields))
        self._chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        if not self._chunked and "Content-Length" in self.headers:
            self._left = int(self.headers["Content-Length"])

    async def read(self) -> bytes:
        """Return the next bytes of the body, none at its end. Raises EOFError if it is cut off."""
        if self._chunked and not self._left:
            if self._left == 0 and await self._within(self._reader.readexactly(2)) != b"\r\n":
                raise ValueError("a chunk does not have its size")
            size = await self._within(self._reader.readuntil(b"\r\n"))
            self._left = int(size.partition(b";")[0], 16)
            if self._left < 0:
                raise ValueError("a chunk has a negative size")
        if self._left == 0:
            return b""
        data = await self._within(self._reader.read(min(_PIECE, self._left or _PIECE)))
        if self._left is not None:
            if not data:
                raise EOFError
            self._left -= len(data)
        return data

    async def error(self) -> ServerError:
        """Return the error that the response describes."""
        text = b""
        while len(text) < _PIECE and (data := await self.read()):
            text += data
        try:
            problem = json.loads(text)
            return ServerError(self.status, problem["code"], problem["detail"])
        except (ValueError, KeyError, TypeError):
            return ServerError(self.status, None, f"{self.headers.get_content_type()}: {text[:200].decode(errors='replace')}")

    def close(self) -> None:
        """Close the connection at once."""
        if self._writer:
            self._writer.transport.abort()
