"""The AG-UI adapter of Pydantic AI over HTTP, with scripted models behind it. See README.md."""

import argparse
import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from ag_ui.core import StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, Tool, ToolReturn
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from scripted_model import Call, Fail, Say, Step, say, scripted, think

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


def agent(*turns: tuple[Step, ...], **how: Any) -> Agent[Deps, Any]:
    return Agent(scripted(*turns), name="guide", instructions="Answer briefly.", deps_type=Deps, **how)


def agents() -> dict[str, Agent[Deps, Any]]:
    """One agent for each endpoint path."""
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
        ),
        "/reasoning": agent(
            (
                think("17 is not divisible by 2 or 3, and 5 times 5 is more than 17."),
                say("Yes, 17 is a prime number."),
            )
        ),
        "/model-error": agent((say("The first part of the answer"), Fail("scripted model failure"))),
        "/long-stream": agent((Say(tuple(f"{n} " for n in range(3000)), pause=0),)),
        "/unicode": agent((Say(UNICODE_CHUNKS),)),
        "/client-tool": agent(
            (say("Let me ask you."), Call("choose_color", '{"options": ["red", "blue"]}', "call-color")),
        ),
        "/confirmation": agent(
            (Call("delete_file", '{"path": "notes.txt"}', "call-delete"),),
            tools=[Tool(delete_file, requires_approval=True)],
            output_type=[str, DeferredToolRequests],
        ),
        "/parent-run": agent((say("This run has a parent."),)),
        "/snapshot-off": agent((say("There is no snapshot."),)),
        "/empty-reply": agent((), ()),  # it is asked again
        "/multimodal": agent((say("The picture is one red pixel."),)),
        "/refused": agent((say("A refused request never gets here."),)),
    }


def endpoint(of: Agent[Deps, Any]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint as Pydantic AI's documentation has it."""

    async def run(request: Request) -> Response:
        return await AGUIAdapter.dispatch_request(request, agent=of, deps=StateDeps(State()))

    return run


def build() -> Starlette:
    return Starlette(routes=[Route(path, endpoint(of), methods=["POST"]) for path, of in agents().items()])


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
