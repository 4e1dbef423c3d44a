from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from ag_ui.core import RunFinishedEvent, RunStartedEvent
from ag_ui.encoder import EventEncoder

from p20export import CommandError
from p20export.pytest_plugin import Recording, Server
from p20export.testing import assert_agui_valid

APP = '''
import os
from ag_ui.core import RunAgentInput, RunFinishedEvent, RunStartedEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from ag_ui.encoder import EventEncoder
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

app = FastAPI()

@app.post("/agent")
async def agent(input: RunAgentInput):
    async def events():
        encode = EventEncoder().encode
        yield encode(RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id))
        yield encode(TextMessageStartEvent(message_id="m", role="assistant"))
        yield encode(TextMessageContentEvent(message_id="m", delta=os.environ.get("SAYS", "Hello")))
        yield encode(TextMessageEndEvent(message_id="m"))
        yield encode(RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id))
    return StreamingResponse(events(), media_type="text/event-stream")
'''

TEST = '''
import httpx, uuid
from app import app

def ask(url):
    ids = {"threadId": str(uuid.uuid4()), "runId": str(uuid.uuid4())}
    body = {**ids, "state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
    httpx.post(url + "/agent", json=body).raise_for_status()

def test_trace(agui_record, assert_matches_trace, assert_agui_valid):
    agent = agui_record(app)
    ask(agent.url)
    ask(agent.url)
    assert_agui_valid(agent)
    assert_matches_trace(agent, "goldens/hello")
    assert sorted(p.name for p in agent.captures.iterdir()) == ["1", "2"]
'''


def test_goldens(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real FastAPI app is recorded, and its events are compared with goldens."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile(app=APP, test_agent=TEST)

    def run(*args: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2", *args)

    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: *goldens/hello does not exist", "*pytest --p20export-update REASON writes the goldens*"])
    run("--p20export-update", "the first goldens").assert_outcomes(passed=1)
    goldens = pytester.path / "goldens" / "hello"
    assert sorted(p.name for p in goldens.glob("*.jsonl")) == ["1.trace.jsonl", "2.trace.jsonl"]
    assert "the first goldens" in (goldens / "CHANGES.md").read_text()
    run().assert_outcomes(passed=1)
    monkeypatch.setenv("SAYS", "Goodbye")
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*changed*TEXT_MESSAGE_CONTENT*", '*"Hello"*', '*"Goodbye"*', "*2 differ*"])
    assert "testing.py" not in result.stdout.str() and "_serving" not in result.stdout.str()
    run("--p20export-update", "it says goodbye").assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("SAYS", "Hello")
    result = run("--p20export-update", "in CI")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--force*"])


def test_app_that_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('''
        import pytest
        from starlette.applications import Starlette

        async def lifespan(app):
            raise ValueError("no database")
            yield

        def test(agui_record):
            with pytest.raises(RuntimeError, match="the app failed to start"):
                agui_record(Starlette(lifespan=lifespan))
    ''')
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_without_uvicorn(agui_record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r"pip install 'p20export\[asgi\]'"):
        agui_record(lambda scope, receive, send: None)


def post(url: str, captures: Path) -> bytes:
    body = (captures / "adk" / "one-turn" / "request.json").read_bytes()
    with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as response:
        data: bytes = response.read()
    return data


def test_replay_and_record(
    agui_replay: Callable[..., Server], agui_record: Callable[..., Recording], captures: Path,
    assert_agui_valid: Callable[..., None], assert_matches_trace: Callable[..., None], tmp_path: Path,
) -> None:  # fmt: skip
    """A recording of a URL with a path has the bytes that the agent sent."""
    agent = agui_replay(captures / "adk" / "one-turn", ids="request")
    recording = agui_record(agent.url + "/agent", label="test=1")
    other = agui_record(agent.url)
    assert recording.url.endswith("/agent")
    sent = post(recording.url, captures)
    assert sent == post(agent.url, captures)
    assert (recording.captures / "1" / "response.sse").read_bytes() == sent
    assert list(other.captures.iterdir()) == []
    assert_agui_valid(recording)
    assert_agui_valid(recording.captures, fail_on="warning", off=["W20"])
    assert_agui_valid(agent.url)


def test_server_that_does_not_start(agui_replay: Callable[..., Server], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="exit status 3") as failure:
        agui_replay(tmp_path / "nowhere")
    assert failure.value.status == 3


STARTED, FINISHED = RunStartedEvent(thread_id="t", run_id="r"), RunFinishedEvent(thread_id="t", run_id="r")
ENCODED = EventEncoder().encode(STARTED) + EventEncoder().encode(FINISHED)
DICTS = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]


@pytest.mark.parametrize("events", [[STARTED, FINISHED], iter(DICTS), ENCODED, ENCODED.encode(), [ENCODED[:9], ENCODED[9:].encode()]])
def test_events(events: object) -> None:
    assert_agui_valid(events)


@pytest.mark.parametrize("events", [[FINISHED], [DICTS[1]], ENCODED.replace("STARTED", "ENDED"), b"", []])
def test_events_that_are_invalid(events: object) -> None:
    with pytest.raises(AssertionError, match=r"p20export lint fails:\n(?s:.*)\(rule G1\)|no RUN_STARTED"):
        assert_agui_valid(events)
    with pytest.raises(CommandError, match="unknown flag"):
        assert_agui_valid(events, no_such_flag=True)


def test_start_is_fast(agui_replay: Callable[..., Server], captures: Path, record_property: Callable[[str, object], None]) -> None:
    times = []
    for _ in range(20):
        began = time.perf_counter()
        agui_replay(captures / "adk" / "one-turn")
        times.append(1000 * (time.perf_counter() - began))
    print(f"agui_replay: median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms")


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_servers_end_with_the_run(pytester: pytest.Pytester, captures: Path) -> None:
    """Servers end even if the test run is killed."""
    pytester.makepyfile(f'''
        import sys

        def test(agui_replay):
            print(agui_replay({str(captures / "adk" / "one-turn")!r}).url, file=sys.stderr, flush=True)
            sys.stdin.read()
    ''')
    run = subprocess.Popen([sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=pytester.path, text=True)
    assert run.stderr
    url = run.stderr.readline().strip()
    assert post(url, captures)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stderr.read()  # to its end: the guard, which inherited it, has ended, too
    while True:  # until the server has ended
        try:
            post(url, captures)
        except OSError:
            break
