"""The AG-UI endpoint of Microsoft's Agent Framework over HTTP, with scripted models. See README.md."""

import os
from typing import Any

os.environ["ENABLE_INSTRUMENTATION"] = "false"  # must be set before the framework is imported, which traces by default

from agent_framework import Agent, Content, FunctionInvocationContext, Workflow, WorkflowBuilder, tool
from agent_framework.ag_ui import (
    AgentFrameworkAgent,
    AgentFrameworkWorkflow,
    add_agent_framework_fastapi_endpoint,
    state_update,
)
from fastapi import FastAPI

from script import SINGLE_AGENT, SCRIPTS, TEAM
from scripted_model import ScriptedClient


@tool
def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


@tool
def add_item(item: str, context: FunctionInvocationContext) -> Content:
    """Puts an item on the shopping list, which is the client's state."""
    items = [*context.session.state["items"], item]
    return state_update(f"{len(items)} on the list", state={"items": items})


@tool(approval_mode="always_require")
def delete_file(path: str) -> dict:
    """Deletes a file; the user has to confirm it first. Nothing is deleted."""
    return {"deleted": path}


OWN = {"writer": ((), *SCRIPTS["writer"])}  # its history has the researcher's answer, so its own is the second


def agent(script: str, name: str = "guide", **how: Any) -> Agent:
    return Agent(ScriptedClient(OWN.get(script, SCRIPTS[script])), "Answer briefly.", name=name, **how)


def team(_: str) -> Workflow:
    """A workflow of two agents, one after the other; it keeps state, so each thread gets its own."""
    first, second = (agent(name, name) for name in TEAM)
    return WorkflowBuilder(start_executor=first).add_edge(first, second).build()


# Settings of single agents.
SPECIAL = {
    "backend-tool": {"tools": [get_weather]},
    "state-change": {"tools": [add_item]},
    "confirmation": {"tools": [delete_file]},
}

# Settings of the adapter for single paths; all others are defaults.
SETTINGS = {
    "state-change": {"state_schema": {"items": {"type": "array"}}},
    "snapshot-off": {"emit_messages_snapshot": False},
}


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: agent-framework")
    runners: dict[str, AgentFrameworkAgent | AgentFrameworkWorkflow] = {
        path: AgentFrameworkAgent(agent(path, **SPECIAL.get(path, {})), **SETTINGS.get(path, {})) for path in SINGLE_AGENT
    }
    runners["two-agents"] = AgentFrameworkWorkflow(workflow_factory=team)
    for path, runner in runners.items():
        add_agent_framework_fastapi_endpoint(app, runner, f"/{path}", single_user=True)
    return app
