"""The AG-UI adapter for LangGraph over HTTP, with scripted models behind it. See README.md."""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from typing import Annotated, Any

os.environ["LANGSMITH_TRACING"] = "false"  # before LangChain is imported: it traces to a service

import uvicorn
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

from scripted_model import Call, Fail, Say, ScriptedModel, Step, say, think

# Written as escapes because most of these cannot be seen, or would change how this file is shown.
UNICODE_CHUNKS = (
    "emoji: \U0001F600 family: \U0001F468\u200d",  # the ZWJ sequence is cut across two deltas
    "\U0001F469\u200d\U0001F467 flag: \U0001F1F3",  # and so is the flag
    "\U0001F1F4 skin: \U0001F44B\U0001F3FD",
    " astral: \U00010348 \U0001D11E \U00020BB7 \U0010FFFD",
    " combining: e",
    "\u0301 o\u0308 Z\u0351\u036B\u0343",  # the first mark arrives without its base letter
    " lines: a\r\nb\nc\rd",
    " separators: \u2028|\u2029|\u0085|\u000b|\u000c",
    " invisible: \uFEFF|\u200b|\u00ad",
    " controls: \u0000|\u0001|\u001b[31mred\u001b[0m|\u007f|\u009b",
    " markup: </script><!-- &amp; \"quoted\" back\\slash",
    " bidi: \u202Etxet desrever\u202C \u2066isolate\u2069",
    " last: \uFFFD \uFFFE \uE000",
)

# Every delta is sent with LangGraph's own event twice; this many stay below one megabyte.
LONG_DELTAS = 400


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


def agent(*turns: tuple[Step, ...], name: str = "guide", own: bool = True, **how: Any) -> CompiledStateGraph:
    """LangChain's agent; one that is not its own graph leaves checkpoints to the one it is part of."""
    return create_agent(
        ScriptedModel(turns=turns),
        system_prompt="Answer briefly.",
        name=name,
        checkpointer=MemorySaver() if own else None,
        **how,
    )


def team() -> CompiledStateGraph:
    """A graph that runs two agents, one after the other."""
    graph = StateGraph(MessagesState)
    graph.add_node("researcher", agent((say("Fjords were carved by glaciers."),), name="researcher", own=False))
    graph.add_node("writer", agent((say("Ice made the fjords."),), name="writer", own=False))
    graph.add_edge(START, "researcher")
    graph.add_edge("researcher", "writer")
    graph.add_edge("writer", END)
    return graph.compile(checkpointer=MemorySaver())


def chat(*turns: tuple[Step, ...]) -> CompiledStateGraph:
    """A graph of one model with the client's tools; it ends where the client has to run one."""
    model = ScriptedModel(turns=turns)

    async def answer(state: ClientState) -> dict:
        return {"messages": [await model.bind_tools(state["tools"]).ainvoke(state["messages"])]}

    graph = StateGraph(ClientState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=MemorySaver())


def graphs() -> dict[str, CompiledStateGraph]:
    """One graph for each endpoint path."""
    return {
        "/one-turn": agent((say("The capital of France is Paris."),)),
        "/three-turns": agent(
            (say("Oslo is the capital of Norway."),),
            (say("About 720,000 people live there."),),
            (say("The Akerselva runs through it."),),
        ),
        "/backend-tool": agent(
            (Call("get_weather", '{"city": "Oslo"}', "call-weather"),),
            (say("It rains in Oslo, at 4 degrees."),),
            tools=[get_weather],
        ),
        "/state-change": agent(
            (say("I will add it."), Call("add_item", '{"item": "milk"}', "call-add")),
            (say("Milk is on the list."),),
            tools=[add_item],
            state_schema=ListState,
        ),
        "/reasoning": agent(
            (
                think("17 is not divisible by 2 or 3, and 5 times 5 is more than 17."),
                say("Yes, 17 is a prime number."),
            )
        ),
        "/model-error": agent((say("The first part of the answer"), Fail("scripted model failure"))),
        "/long-stream": agent((Say(tuple(f"{n} " for n in range(LONG_DELTAS)), pause=0),)),
        "/unicode": agent((Say(UNICODE_CHUNKS),)),
        "/two-agents": team(),
        "/client-tool": chat(
            (say("Let me ask you."), Call("choose_color", '{"options": ["red", "blue"]}', "call-color")),
        ),
        "/confirmation": agent(
            (Call("delete_file", '{"path": "notes.txt"}', "call-delete"),),
            tools=[delete_file],
        ),
        "/parent-run": agent((say("This run has a parent."),)),
        "/empty-reply": agent(()),
        "/multimodal": agent((say("The picture is one red pixel."),)),
        "/refused": agent((say("A refused request never gets here."),)),
    }


# Settings of the adapter that differ from its defaults, for one path.
SETTINGS = {"/confirmation": {"emit_interrupt_outcome": True}}


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: langgraph")
    for path, graph in graphs().items():
        adapter = LangGraphAgent(name=path.strip("/"), graph=graph, **SETTINGS.get(path, {}))
        add_langgraph_fastapi_endpoint(app, adapter, path=path)
    return app


class Server(uvicorn.Server):
    """Says on standard output when it accepts connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and sockets:
            print("listening on http://%s:%d" % sockets[0].getsockname(), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free port")
    args = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.INFO)

    # uvicorn raises the signal again once it has shut down; leaving with 0 is meant for that moment.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", args.port))
        config = uvicorn.Config(build(), log_config=None, timeout_graceful_shutdown=1)
        asyncio.run(Server(config).serve(sockets=[listener]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
