from __future__ import annotations

import asyncio
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_aio import Serve, serve, start_run
from test_plugin import APP

from p20export.aio import thread_events
from p20export.pytest_plugin import Server

__all__ = ["serve"]

README = importlib.metadata.metadata("p20export")["Description"]
SHELL, PYTEST, COMMANDS, THREAD = re.findall(r"^```\w+\n(.*?)^```$", README, re.M | re.S)


def script(text: str) -> str:
    """Run a script, and return what it prints."""
    return subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout


def test_pytest_example(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile(app=APP, test_example=PYTEST)
    pytester.runpytest_subprocess("--p20export-update", "the first goldens").assert_outcomes(passed=2)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_commands_example(agui_replay: Callable[..., Server], captures: Path) -> None:
    agent = agui_replay(captures / "adk" / "one-turn")
    assert script(COMMANDS.replace("http://127.0.0.1:8000", agent.url)).startswith("accepted [")
    for line in SHELL.splitlines():
        if line.startswith("p20export "):
            command = [sys.executable, "-m", *line.replace("http://127.0.0.1:8000", agent.url).split()]
            assert "qualifies" in subprocess.run(command, capture_output=True, text=True).stdout


def test_thread_example(serve: Serve, captures: Path) -> None:
    async def run(server: str) -> None:
        await start_run(server, "thread-one-turn", "r", captures)
        async for event in thread_events(server, "thread-one-turn"):
            if event.data["type"] == "RUN_FINISHED":
                return

    with serve() as server:
        asyncio.run(run(server))
        lines = script(THREAD.replace("http://127.0.0.1:8080", server)).splitlines()
    assert lines[0].endswith(" RUN_STARTED") and lines[-1].endswith(" RUN_FINISHED")
