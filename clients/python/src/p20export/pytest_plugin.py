"""Fixtures for tests of AG-UI agents with pytest."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from . import testing
from ._program import CommandError, StrPath, binary, flags

# Signals to the group of the test run do not reach processes in a group of their own.
_OWN_GROUP: dict[str, Any]
if sys.platform == "win32":
    _OWN_GROUP, _STOP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}, signal.CTRL_BREAK_EVENT
else:
    _OWN_GROUP, _STOP = {"start_new_session": True}, signal.SIGTERM

# Reads the ids of processes: +ID when one has begun, and -ID when it has ended. Standard input
# ends with the test run, even if that is killed. Then it stops those that are left.
_GUARD = """
import os, signal, sys
running = set()
for line in sys.stdin:
    (running.add if line[0] == "+" else running.discard)(int(line[1:]))
for process in running:
    try:
        os.kill(process, signal.SIGTERM)
    except OSError:
        pass
"""


class Server:
    """A server that a fixture has started."""

    def __init__(self, url: str) -> None:
        self.url = url


class Recording(Server):
    """A proxy that records what passes between a client and an agent."""

    def __init__(self, url: str, directory: Path, end: Callable[[], None]) -> None:
        super().__init__(url)
        self._directory = directory
        self._end: Callable[[], None] | None = end

    @property
    def captures(self) -> Path:
        """The directory of the captures, which are named 1, 2 and so on.

        It ends the recording, after the responses that have begun.
        """
        if self._end:
            self._end()
            self._end = None
            for number, capture in enumerate(sorted(self._directory.iterdir()), 1):
                capture.rename(self._directory / str(number))
        return self._directory


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("p20export").addoption("--p20export-update", metavar="REASON", help="write the goldens that differ, and the REASON, instead of failing")


@pytest.fixture(scope="session")
def _p20export_guard() -> Iterator[Callable[[str], None]]:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", _GUARD], stdin=subprocess.PIPE, text=True, **_OWN_GROUP) as guard:
        yield lambda line: print(line, file=guard.stdin, flush=True)


@pytest.fixture
def agui_replay(_p20export_guard: Callable[[str], None]) -> Iterator[Callable[..., Server]]:
    """Start servers that answer with recorded responses.

    agui_replay(captures) is a server with a url. Other arguments are flags of p20export
    replay, such as match="input" and ids="request". There are no pauses, unless speed=1.
    """
    with ExitStack() as stack:
        yield lambda captures, **options: Server(
            stack.enter_context(_serving(_p20export_guard, "replay", [captures], {"speed": 0, **options}))
        )


@pytest.fixture
def agui_record(_p20export_guard: Callable[[str], None], tmp_path: Path) -> Iterator[Callable[..., Recording]]:
    """Record what an agent sends.

    agui_record(agent) is a recording with a url to use instead of that of the agent, and with
    captures. The agent is a URL, or an ASGI app, which is served until the test ends. Other
    arguments are flags of p20export proxy.
    """
    with ExitStack() as stack:

        def record(agent: Any, **options: Any) -> Recording:
            url = urlsplit(agent if isinstance(agent, str) else stack.enter_context(_serving_app(agent)))
            directory = tmp_path / f"captures-{len(list(tmp_path.glob('captures-*'))) + 1}"
            directory.mkdir()
            proxy = stack.enter_context(ExitStack())
            options = {"upstream": f"{url.scheme}://{url.netloc}", "captures": directory, **options}
            return Recording(proxy.enter_context(_serving(_p20export_guard, "proxy", [], options)) + url.path, directory, proxy.close)

        yield record


@pytest.fixture
def assert_agui_valid() -> Callable[..., None]:
    """p20export.testing.assert_agui_valid."""
    return testing.assert_agui_valid


@pytest.fixture
def assert_matches_trace(request: pytest.FixtureRequest) -> Callable[[Recording | StrPath, StrPath], None]:
    """Compare captures with goldens, as p20export compare --golden does.

    assert_matches_trace(captures, directory) takes a path or a recording. The directory of
    the goldens is relative to the file of the test, and has those of one test.
    """

    def assert_matches_trace(captures: Recording | StrPath, golden: StrPath) -> None:
        __tracebackhide__ = True
        path = captures.captures if isinstance(captures, Recording) else captures
        directory = request.path.parent / golden
        reason = request.config.getoption("--p20export-update")
        if reason is not None:
            return testing.check("compare", path, {"write_golden": directory, "reason": reason})
        hint = "pytest --p20export-update REASON writes the goldens as they are now"
        if not directory.is_dir():
            raise AssertionError(f"{directory} does not exist\n{hint}")
        try:
            testing.check("compare", path, {"golden": directory})
        except AssertionError as error:
            raise AssertionError(f"{error}\n{hint}") from None

    return assert_matches_trace


@contextmanager
def _serving(guard: Callable[[str], None], command: str, args: list[StrPath], options: dict[str, Any]) -> Iterator[str]:
    """Run a server of p20export, and yield its URL."""
    line = [command, *flags({"listen": "127.0.0.1:0", "log_format": "json", **options}), "--", *args]
    process = subprocess.Popen(
        [binary(), *line], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", **_OWN_GROUP
    )
    with process:
        guard(f"+{process.pid}")
        assert process.stderr is not None
        log, address = "", None
        while not address and (message := process.stderr.readline()):
            log += message
            address = json.loads(message).get("address") if message.startswith("{") else None
        rest = threading.Thread(target=process.stderr.read)  # the server never waits for its log
        rest.start()
        try:
            if not address:
                raise CommandError(tuple(map(str, line)), process.wait(), log)
            yield f"http://{address}"
        finally:
            if process.poll() is None:
                process.send_signal(_STOP)
            process.wait()
            rest.join()
            guard(f"-{process.pid}")


@contextmanager
def _serving_app(app: Any) -> Iterator[str]:
    """Serve an ASGI app, and yield its URL."""
    try:
        import uvicorn
    except ImportError:
        raise ImportError("uvicorn is needed to serve an ASGI app: pip install 'p20export[asgi]'") from None
    ready = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    def run() -> None:
        try:
            server.run()
        except SystemExit:  # the app failed to start
            pass
        finally:
            ready.set()

    server = Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=run)
    thread.start()
    try:
        ready.wait()
        if not server.started:
            raise RuntimeError("the app failed to start; the log of uvicorn says why")
        yield "http://127.0.0.1:{}".format(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
