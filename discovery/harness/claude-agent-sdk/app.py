"""The AG-UI adapter for the Claude Agent SDK over HTTP, with scripted models. See README.md."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import Any

from ag_ui_claude_sdk import ClaudeAgentAdapter, add_claude_fastapi_endpoint
from claude_agent_sdk import AgentDefinition, create_sdk_mcp_server, tool
from fastapi import Depends, FastAPI

import messages_api
from script import SINGLE_AGENT, SCRIPTS, TEAM, Call, Script, say


def text(content: str) -> dict[str, Any]:
    """What a tool returns."""
    return {"content": [{"type": "text", "text": content}]}


@tool("get_weather", "Returns the weather in a city.", {"city": str})
async def get_weather(args: dict[str, Any]) -> dict[str, Any]:
    return text(f"{args['city']}: rain, 4 degrees")


@tool("delete_file", "Deletes a file; the user has to confirm it first. Nothing is deleted.", {"path": str})
async def delete_file(args: dict[str, Any]) -> dict[str, Any]:
    return text(f"{args['path']} is deleted")


def delegate(member: str) -> Call:
    """Returns the call with which an agent runs another one and waits for its answer."""
    args = {"subagent_type": member, "description": "Fjords", "prompt": "How were fjords made?"}
    return Call("Agent", args | {"run_in_background": False}, f"call-{member}")


OWN: dict[str, Script] = {
    "two-agents": (*((delegate(member),) for member in TEAM), ()),  # the first agent adds nothing
    # The adapter has one tool for the state.
    "state-change": (
        (say("I will add it."), Call("ag_ui_update_state", {"state_updates": {"items": ["milk"]}}, "call-add")),
        (say("Milk is on the list."),),
    ),
}

# Options of single agents. Tools are on a server named "guide".
SPECIAL: dict[str, dict[str, Any]] = {
    "backend-tool": {
        "mcp_servers": {"guide": create_sdk_mcp_server("guide", tools=[get_weather])},
        "allowed_tools": ["mcp__guide__get_weather"],
    },
    "confirmation": {"mcp_servers": {"guide": create_sdk_mcp_server("guide", tools=[delete_file])}},
    "two-agents": {
        "tools": ["Agent"],
        "agents": {name: AgentDefinition(f"The {name}.", "Answer briefly.", model=name) for name in TEAM},
    },
}

# Settings of the adapter for single paths; all others are defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "confirmation": {"defer_tools": ("mcp__guide__delete_file",)},
    "chat": {"max_workers": 2},  # processes that it keeps
}

# Paths whose threads have several runs, with the history in the Claude Code process.
SEVERAL = ("three-turns", "chat")


def surround(home: str) -> None:
    """Sets the environment of the Claude Code processes that the SDK starts."""
    for name in list(os.environ):  # settings and keys of the user's own Claude Code
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            del os.environ[name]
    os.environ |= {
        "ANTHROPIC_BASE_URL": messages_api.start(SCRIPTS | OWN),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # such as telemetry and updates
        "CLAUDE_CODE_TMPDIR": home,
        "CLAUDE_CONFIG_DIR": home,
        "HOME": home,
    }


def ending(adapter: ClaudeAgentAdapter) -> Callable[[], AsyncIterator[None]]:
    """A dependency that stops an adapter's Claude Code process after the response.

    It would else wait half an hour for the thread's next run, with about 150 MB.
    """

    async def end() -> AsyncIterator[None]:
        yield
        await adapter.shutdown()

    return end


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: claude-agent-sdk")
    app.state.home = tempfile.TemporaryDirectory(prefix="p20export-", ignore_cleanup_errors=True)  # deleted on exit
    surround(app.state.home.name)
    for path in (*SINGLE_AGENT, "two-agents"):
        # Events contain the working directory. This one does not reveal the path of the harness.
        options = {"model": path, "system_prompt": "Answer briefly.", "tools": [], "cwd": "/"}
        adapter = ClaudeAgentAdapter(name=path, options=options | SPECIAL.get(path, {}), **SETTINGS.get(path, {}))
        dependencies = [] if path in SEVERAL else [Depends(ending(adapter))]
        add_claude_fastapi_endpoint(app, adapter, path=f"/{path}", dependencies=dependencies)
    return app
