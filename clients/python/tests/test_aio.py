from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import shutil
import ssl
import subprocess
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, aclosing
from pathlib import Path

import pytest
from faulty import faulty_proxy

from p20export.aio import EventStreamParser, LogRewound, ServerError, ThreadEvent, thread_events
from p20export.pytest_plugin import Server, _serving

Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def serve(_p20export_guard: Callable[[str], None], agui_replay: Callable[..., Server], captures: Path, tmp_path: Path) -> Serve:
    """Runs p20export serve with the agent counter, which counts to 2999 in two seconds."""
    agent = agui_replay(captures / "agent-framework" / "long-stream", speed=0.1, ids="request")
    options = {"store": f"sqlite:{tmp_path / 'log.db'}", "upstream": f"counter={agent.url}", "drain": "0s"}
    return lambda **more: _serving(_p20export_guard, "serve", [], {**options, **more})


async def start_run(server: str, thread: str, run: str, captures: Path, headers: dict[str, str] = {}) -> None:
    """Start a run, and leave."""
    request = json.loads((captures / "agent-framework" / "long-stream" / "request.json").read_text())
    body = json.dumps({**request, "threadId": thread, "runId": run}).encode()
    post = urllib.request.Request(f"{server}/agents/counter", body, {"Content-Type": "application/json", **headers})
    await asyncio.to_thread(lambda: urllib.request.urlopen(post).close())


async def all_events(server: str, thread: str) -> list[ThreadEvent]:
    return [e async for e in thread_events(server, thread, follow=False)]


def is_end(event: ThreadEvent) -> bool:
    return event.data["type"] in ("RUN_FINISHED", "RUN_ERROR")


@pytest.mark.parametrize("seed", range(int(os.environ.get("P20EXPORT_TRIALS", "10"))))
def test_every_event_once(seed: int, serve: Serve, captures: Path) -> None:
    """A reader through broken connections and a restart gets what an undisturbed one gets."""

    async def trial() -> None:
        rng = random.Random(seed)
        restart_at = rng.randrange(3000)
        with ExitStack() as stack:
            server = stack.enter_context(serve())
            address = server.removeprefix("http://")
            thread = f"thread/{seed} é"
            events: list[ThreadEvent] = []
            async with faulty_proxy(rng, address) as (proxy, url), aclosing(thread_events(url, thread, idle_timeout=1)) as reader:
                await start_run(server, thread, "run-1", captures)
                ends = 0
                async for event in reader:
                    events.append(event)
                    if len(events) == restart_at:
                        await asyncio.to_thread(stack.close)
                        await asyncio.to_thread(stack.enter_context, serve(listen=address))
                    if is_end(event):
                        ends += 1
                        if ends == 2:
                            break
                        await start_run(server, thread, "run-2", captures)
            assert events == await all_events(server, thread)
            assert len({e.id for e in events}) == len(events) > 3000
            print(f"seed {seed}: {len(events)} events, restart at {restart_at}, {len(proxy.faults)} connections: {proxy.faults}")

    asyncio.run(trial())


def test_after(serve: Serve, captures: Path) -> None:
    async def main() -> None:
        with serve() as server:
            await start_run(server, "t", "r", captures)
            async with aclosing(thread_events(server + "/", "t")) as reader:
                async for event in reader:
                    if is_end(event):
                        break
            events = await all_events(server, "t")
            assert [e async for e in thread_events(server, "t", after=events[9].id, follow=False)] == events[10:]
            assert events[0].data["type"] == "RUN_STARTED"
            assert json.loads(events[0].text) == events[0].data

    asyncio.run(main())


def test_cancel() -> None:
    """A reader that waits for the server ends when it is cancelled, and so does its connection."""

    async def main() -> None:
        accepted, closed = asyncio.Event(), asyncio.Event()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set()
            try:
                await reader.read()
            except ConnectionResetError:
                pass
            closed.set()

        listener = await asyncio.start_server(handle, "127.0.0.1", 0)
        task = asyncio.create_task(anext(thread_events("http://127.0.0.1:{}".format(listener.sockets[0].getsockname()[1]), "t")))
        await accepted.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await closed.wait()
        listener.close()

    asyncio.run(main())


def test_refused(serve: Serve, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"tenant sha256:{hashlib.sha256(b'a-random-token').hexdigest()}\n")

    async def main() -> None:
        with serve(token_file=tokens) as server:
            with pytest.raises(ServerError) as refused:
                await anext(thread_events(server, "t", token="another-token"))
            assert (refused.value.status, refused.value.code) == (401, "unauthorized")
            assert refused.value.detail in str(refused.value)
            assert [e async for e in thread_events(server, "t", token="a-random-token", follow=False)] == []
            with pytest.raises(ServerError) as refused:
                await anext(thread_events(server, "t", token="a-random-token", after="nonsense"))
            assert (refused.value.status, refused.value.code) == (400, "invalid_cursor")
            with pytest.raises(ServerError) as refused:
                await anext(thread_events(server + "/elsewhere", "t", token="a-random-token"))
            assert refused.value.status == 404

    asyncio.run(main())


@pytest.mark.parametrize(("url", "after"), [("ftp://host", ""), ("host:80", ""), ("http://host", "1\r\nX: y")])
def test_wrong_arguments(url: str, after: str) -> None:
    with pytest.raises(ValueError):
        asyncio.run(anext(thread_events(url, "t", after=after)))


def test_no_event_stream(agui_replay: Callable[..., Server], tmp_path: Path) -> None:
    async def main() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Sign in")
            writer.close()

        listener = await asyncio.start_server(handle, "127.0.0.1", 0)
        with pytest.raises(ServerError, match="status 200: text/html: <p>Sign in"):
            await anext(thread_events("http://127.0.0.1:{}".format(listener.sockets[0].getsockname()[1]), "t"))
        listener.close()

    asyncio.run(main())


def test_rewound(serve: Serve, captures: Path, tmp_path: Path) -> None:
    """After a backup of the log is restored, thread_events raises LogRewound."""

    async def main() -> None:
        log, backup = tmp_path / "log.db", tmp_path / "backup.db"
        with serve() as server:
            await start_run(server, "t", "r1", captures)
            async for event in thread_events(server, "t"):
                if is_end(event):
                    break
        shutil.copy(log, backup)
        with serve() as server:
            await start_run(server, "t", "r2", captures)
            async for event in thread_events(server, "t", after=event.id):
                if is_end(event):
                    break
        for path in tmp_path.glob("log.db*"):
            path.unlink()
        shutil.copy(backup, log)
        with serve() as server:
            with pytest.raises(LogRewound):
                await anext(thread_events(server, "t", after=event.id))
            assert len(await all_events(server, "t")) > 1000

    asyncio.run(main())


def test_tls(serve: Serve, captures: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True,
    )  # fmt: skip

    async def main() -> None:
        with serve(tls_cert=certificate, tls_key=key) as server:
            server = server.replace("http://127.0.0.1", "https://localhost")
            trusting = ssl.create_default_context(cafile=certificate)
            assert [e async for e in thread_events(server, "t", follow=False, ssl=trusting)] == []
            with pytest.raises(ssl.SSLCertVerificationError):
                await anext(thread_events(server, "t", follow=False))

    asyncio.run(main())


STREAM = "\ufeffid: 1\ndata: {\"a\":1}\n\n: comment\ndata\n\ndata:  x\ndata:é\nevent: y\nid: 2\nretry: 1500\n\nid: 3\n\ndata: with the last id\n\nid: a\0b\nretry: 1x\nunknown: z\ndata: z\n\ndata: cut off"
EVENTS = [ThreadEvent("1", '{"a":1}'), ThreadEvent("1", ""), ThreadEvent("2", " x\né"), ThreadEvent("3", "with the last id"), ThreadEvent("3", "z")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_parser(end: str) -> None:
    """The pieces in which a stream arrives do not matter."""
    stream = STREAM.replace("\n", end).encode()
    for size in range(1, len(stream) + 1):
        parser = EventStreamParser()
        events = [e for at in range(0, len(stream), size) for e in parser.feed(stream[at : at + size])]
        assert events == EVENTS, size
        assert parser.retry == 1.5
        assert not parser.rewound


def test_parser_dispatches_at_once() -> None:
    assert EventStreamParser().feed(b"data: x\r\r") == [ThreadEvent("", "x")]


@pytest.mark.parametrize("field", [b"id\n\n", b"id:\n\n", b"id: \n\n", b"id:\n\nid: 2\ndata: y\n\n"])
def test_parser_rewound(field: bytes) -> None:
    parser = EventStreamParser()
    assert parser.feed(b"id: 1\ndata: x\n\n") == [ThreadEvent("1", "x")]
    assert not parser.rewound
    parser.feed(field)
    assert parser.rewound
