"""The AG-UI adapter for Strands over HTTP, with scripted models. See README.md."""

import logging
import os

os.environ["OTEL_SDK_DISABLED"] = "true"  # must be set before Strands is imported, which traces through OpenTelemetry
# The adapter handles each event in a separate task, about which OpenTelemetry logs many warnings.
logging.getLogger("opentelemetry.context").setLevel(logging.CRITICAL)

from ag_ui_strands import (
    StrandsAgent,
    StrandsAgentConfig,
    ToolBehavior,
    ToolResultContext,
    add_strands_fastapi_endpoint,
)
from fastapi import FastAPI
from strands import Agent, tool
from strands.multiagent import GraphBuilder
from strands.multiagent.graph import Graph

from script import SINGLE_AGENT, SCRIPTS, TEAM
from scripted_model import ScriptedModel


@tool
def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


@tool
def add_item(item: str) -> str:
    """Puts an item on the shopping list; the adapter is told how that changes the state."""
    return f"{item} is on the list"


def add_to_state(context: ToolResultContext) -> dict:
    return {"items": [*context.input_data.state["items"], context.tool_input["item"]]}


@tool
def delete_file(path: str) -> dict:
    """Deletes a file; the user has to confirm it first. Nothing is deleted."""
    return {"deleted": path}


def agent(script: str, name: str = "guide") -> Agent:
    return Agent(
        name=name,
        model=ScriptedModel(SCRIPTS[script]),
        system_prompt="Answer briefly.",
        tools=TOOLS.get(script),
        callback_handler=None,  # the default one prints
    )


def team() -> Graph:
    """A graph that runs two agents, one after the other."""
    graph = GraphBuilder()
    for name in TEAM:
        graph.add_node(agent(name, name), name)
    graph.add_edge(*TEAM)
    return graph.build()


# The tools of the agents, by path.
TOOLS = {
    "backend-tool": [get_weather],
    "state-change": [add_item],
    "confirmation": [delete_file],
}

# Settings of the adapter for single paths; all others are defaults.
SETTINGS = {
    "state-change": {"tool_behaviors": {"add_item": ToolBehavior(state_from_result=add_to_state)}},
    "confirmation": {"tool_behaviors": {"delete_file": ToolBehavior(interrupt_on_call=True)}},
    "snapshot-off": {"emit_messages_snapshot": False},
}


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: strands")
    agents = {path: agent(path) for path in SINGLE_AGENT} | {"two-agents": team}
    for path, served in agents.items():
        adapter = StrandsAgent(agent=served, name=path, config=StrandsAgentConfig(**SETTINGS.get(path, {})))
        add_strands_fastapi_endpoint(app, adapter, path=f"/{path}")
    return app
