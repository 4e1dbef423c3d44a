"""The AG-UI adapter for LangGraph over HTTP, with scripted models. See README.md."""

import os
from typing import Annotated, Any

os.environ["LANGSMITH_TRACING"] = "false"  # must be set before LangChain is imported, which traces to a service

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import AgentState, create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt

from script import SINGLE_AGENT, SCRIPTS, TEAM, count, long_reply
from scripted_model import ScriptedModel

# Each delta is sent with LangGraph's own event twice. This number keeps the response below one megabyte.
OWN = {"long-stream": count(400), "long-reply": long_reply(each=4)}


class ListState(AgentState):
    """An agent's state with a shopping list."""

    items: list[str]


class ClientState(MessagesState):
    """A graph's state with the tools of the client, which the adapter puts there."""

    tools: list[Any]


@tool
def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


@tool
def add_item(
    item: str,
    state: Annotated[dict, InjectedState],
    tool_call_id: Annotated[str, InjectedToolCallId],
) -> Command:
    """Puts an item on the shopping list kept in the graph's state."""
    items = [*state.get("items", []), item]
    answer = ToolMessage(f"{len(items)} on the list", tool_call_id=tool_call_id)
    return Command(update={"items": items, "messages": [answer]})


@tool
def delete_file(path: str) -> dict:
    """Deletes a file; the user has to confirm it first. Nothing is deleted."""
    return {"deleted": path, "confirmed": interrupt({"message": f"Delete {path}?"})}


def model(script: str) -> ScriptedModel:
    return ScriptedModel(script=OWN.get(script, SCRIPTS[script]))


def agent(script: str, name: str = "guide", own: bool = True, **how: Any) -> CompiledStateGraph:
    """Returns a LangChain agent. An agent within another graph uses that graph's checkpoints."""
    return create_agent(
        model(script),
        system_prompt="Answer briefly.",
        name=name,
        checkpointer=MemorySaver() if own else None,
        **how,
    )


def team() -> CompiledStateGraph:
    """A graph that runs two agents, one after the other."""
    graph = StateGraph(MessagesState)
    last = START
    for name in TEAM:
        graph.add_node(name, agent(name, name, own=False))
        graph.add_edge(last, name)
        last = name
    graph.add_edge(last, END)
    return graph.compile(checkpointer=MemorySaver())


def chat(script: str) -> CompiledStateGraph:
    """A graph of one model with the client's tools; it ends where the client has to run one."""
    bare = model(script)

    async def answer(state: ClientState) -> dict:
        return {"messages": [await bare.bind_tools(state["tools"]).ainvoke(state["messages"])]}

    graph = StateGraph(ClientState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=MemorySaver())


# Settings of single agents.
SPECIAL = {
    "backend-tool": {"tools": [get_weather]},
    "state-change": {"tools": [add_item], "state_schema": ListState},
    "confirmation": {"tools": [delete_file]},
}


def graphs() -> dict[str, CompiledStateGraph]:
    """One graph for each endpoint path."""
    alone = {path: agent(path, **SPECIAL.get(path, {})) for path in SINGLE_AGENT}
    return alone | {"two-agents": team(), "client-tool": chat("client-tool")}


# Settings of the adapter for single paths; all others are defaults.
SETTINGS = {"confirmation": {"emit_interrupt_outcome": True}}


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: langgraph")
    for path, graph in graphs().items():
        adapter = LangGraphAgent(name=path, graph=graph, **SETTINGS.get(path, {}))
        add_langgraph_fastapi_endpoint(app, adapter, path=f"/{path}")
    return app
