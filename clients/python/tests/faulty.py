"""A proxy for TCP that breaks connections."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FaultyProxy:
    """Passes connections to a server, and breaks most of them."""

    def __init__(self, random: random.Random, target: str) -> None:
        self.target = target  # HOST:PORT
        self.faults: list[str] = []
        self._random = random

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault = self._random.choice(["none", "refuse", "busy", "gateway", "head", "cut", "cut", "cut", "chunk", "stall"])
        self.faults.append(fault)
        try:
            if fault == "busy":
                writer.write(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
            elif fault == "gateway":
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<b/>")
            elif fault == "head":
                writer.write(self._random.randbytes(20) + b"\r\n\r\n")
            elif fault != "refuse":
                await self._pass(fault, reader, writer)
            writer.close()
            await writer.wait_closed()
        except OSError:
            pass  # the client has closed the connection
        finally:
            writer.close()

    async def _pass(self, fault: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(*self.target.rsplit(":", 1))
        server_writer.write(await reader.readuntil(b"\r\n\r\n"))
        left = self._random.randrange(60_000)
        client_left = asyncio.ensure_future(reader.read())
        try:
            while True:
                read = asyncio.ensure_future(server_reader.read(1 + self._random.randrange(4_000)))
                await asyncio.wait([read, client_left], return_when=asyncio.FIRST_COMPLETED)
                if client_left.done():
                    read.cancel()
                    return
                data = await read
                if not data:
                    return
                if fault == "chunk" and (size := re.search(rb"\r\n[0-9a-f]+\r\n", data[left:])):
                    writer.write(data[: left + size.start()] + b"\r\n#\r\n")
                    return
                if fault in ("cut", "stall"):
                    data = data[:left]
                writer.write(data)
                await writer.drain()
                left = max(left - len(data), 0)
                if left == 0 and fault == "cut":
                    return
                if left == 0 and fault == "stall":
                    await client_left
                    return
        finally:
            client_left.cancel()
            server_writer.close()


@asynccontextmanager
async def faulty_proxy(random: random.Random, target: str) -> AsyncIterator[tuple[FaultyProxy, str]]:
    """Run a proxy, and yield it and its URL."""
    proxy = FaultyProxy(random, target)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    try:
        yield proxy, "http://127.0.0.1:{}".format(server.sockets[0].getsockname()[1])
    finally:
        server.close()
