"""The AG-UI adapter of Pydantic AI over HTTP, with scripted models. See README.md."""

from collections.abc import Awaitable, Callable
from typing import Any

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, Tool, ToolReturn
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from script import SINGLE_AGENT, SCRIPTS
from scripted_model import scripted


class State(BaseModel):
    """The state shared with the client: a shopping list."""

    items: list[str] = []


Deps = StateDeps[State]


def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


def add_item(context: RunContext[Deps], item: str) -> ToolReturn:
    """Puts an item on the shopping list; a tool itself has to say how the state changed."""
    state = context.deps.state
    state.items.append(item)
    return ToolReturn(
        f"{len(state.items)} on the list",
        metadata=[
            StateDeltaEvent(delta=[{"op": "add", "path": "/items/-", "value": item}]),
            StateSnapshotEvent(snapshot=state.model_dump()),
        ],
    )


def delete_file(path: str) -> dict:
    """Deletes a file; the user has to confirm it first. Nothing is deleted."""
    return {"deleted": path}


def agent(script: str) -> Agent[Deps, Any]:
    return Agent(
        scripted(OWN.get(script, SCRIPTS[script])),
        name="guide",
        instructions="Answer briefly.",
        deps_type=Deps,
        **SPECIAL.get(script, {}),
    )


OWN = {"empty-reply": ((), ())}  # the model is called twice

# Settings of single agents.
SPECIAL = {
    "backend-tool": {"tools": [get_weather]},
    "state-change": {"tools": [add_item]},
    "confirmation": {
        "tools": [Tool(delete_file, requires_approval=True)],
        "output_type": [str, DeferredToolRequests],
    },
}


def endpoint(of: Agent[Deps, Any]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint, as in Pydantic AI's documentation."""

    async def run(request: Request) -> Response:
        return await AGUIAdapter.dispatch_request(request, agent=of, deps=StateDeps(State()))

    return run


def build() -> Starlette:
    return Starlette(routes=[Route(f"/{path}", endpoint(agent(path)), methods=["POST"]) for path in SINGLE_AGENT])
