"""The AG-UI adapter for the Claude Agent SDK over HTTP, with scripted models behind it. See README.md."""

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
    """The call by which an agent has another one answer, and waits for it."""
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

# Options of the agents that differ from the others'. Tools are on a server called "guide".
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

# Settings of the adapter that differ from its defaults, for one path.
SETTINGS: dict[str, dict[str, Any]] = {
    "confirmation": {"defer_tools": ("mcp__guide__delete_file",)},
    "chat": {"max_workers": 2},  # Claude Codes that it keeps
}

# Paths where a thread has several runs, whose history is in its Claude Code.
SEVERAL = ("three-turns", "chat")


def surround(home: str) -> None:
    """Sets the environment of every Claude Code that the SDK starts."""
    for name in list(os.environ):  # what a user set for a Claude Code of their own, keys included
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            del os.environ[name]
    os.environ |= {
        "ANTHROPIC_BASE_URL": messages_api.start(SCRIPTS | OWN),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # telemetry and updates among it
        "CLAUDE_CODE_TMPDIR": home,
        "CLAUDE_CONFIG_DIR": home,
        "HOME": home,
    }


def ending(adapter: ClaudeAgentAdapter) -> Callable[[], AsyncIterator[None]]:
    """A dependency that ends an adapter's Claude Code behind the response.

    It would else wait half an hour for the thread's next run, with about 150 MB.
    """

    async def end() -> AsyncIterator[None]:
        yield
        await adapter.shutdown()

    return end


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: claude-agent-sdk")
    app.state.home = tempfile.TemporaryDirectory(prefix="p20export-", ignore_cleanup_errors=True)  # until the end
    surround(app.state.home.name)
    for path in (*SINGLE_AGENT, "two-agents"):
        # Events name the working directory; this one does not tell where the harness is.
        options = {"model": path, "system_prompt": "Answer briefly.", "tools": [], "cwd": "/"}
        adapter = ClaudeAgentAdapter(name=path, options=options | SPECIAL.get(path, {}), **SETTINGS.get(path, {}))
        dependencies = [] if path in SEVERAL else [Depends(ending(adapter))]
        add_claude_fastapi_endpoint(app, adapter, path=f"/{path}", dependencies=dependencies)
    return app
