"""Agno's AG-UI interface over HTTP, with scripted models. See README.md."""

import logging
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from agno.os import AgentOS
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.team import Team
from agno.tools import tool
from agno.utils.log import configure_agno_logging
from starlette.types import ASGIApp, Receive, Scope, Send

import endpoint
from script import SINGLE_AGENT, SCRIPTS, TEAM, Call, Script


def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


def add_item(run_context: RunContext, item: str) -> str:
    """Puts an item on the shopping list kept in the session's state."""
    items = [*run_context.session_state.get("items", []), item]
    run_context.session_state["items"] = items
    return f"{len(items)} on the list"


@tool(requires_confirmation=True)
def delete_file(path: str) -> dict:
    """Deletes a file; the user has to confirm it first. Nothing is deleted."""
    return {"deleted": path}


def delegate(member: str) -> Call:
    """Returns the call with which the leader of a team delegates to a member."""
    args = {"member_id": member, "task": "How were fjords made?"}
    return Call("delegate_task_to_member", args, f"call-{member}")


# Agno uses a model for reasoning only if its name is that of a known reasoning model.
REASONER = "deepseek-reasoner"

OWN: dict[str, Script] = {
    "two-agents": (*((delegate(member),) for member in TEAM), ()),  # the leader adds nothing
    REASONER: SCRIPTS["reasoning"],
}


def build() -> ASGIApp:
    log = logging.getLogger("harness")  # Agno's own loggers write to standard output
    configure_agno_logging(custom_default_logger=log, custom_agent_logger=log, custom_team_logger=log)
    url = endpoint.start(SCRIPTS | OWN)

    def model(script: str) -> OpenAILike:
        return OpenAILike(id=script, base_url=url, api_key="none")

    def how(script: str) -> dict[str, Any]:
        """Returns the settings that an agent and a team share."""
        return {
            "model": model(script),
            "db": InMemoryDb(),
            "add_history_to_context": True,
            "instructions": "Answer briefly.",
            "telemetry": False,
        }

    # Settings of single agents.
    special = {
        "backend-tool": {"tools": [get_weather]},
        "state-change": {"tools": [add_item]},
        "confirmation": {"tools": [delete_file]},
        "reasoning": {"reasoning_model": model(REASONER)},
    }
    guides = {path: Agent(id=path, name="guide", **how(path), **special.get(path, {})) for path in SINGLE_AGENT}
    members = [Agent(id=name, name=name, **how(name)) for name in TEAM]
    team = Team(id="two-agents", name="team", members=members, **how("two-agents"))
    served = AgentOS(
        agents=list(guides.values()),
        teams=[team],
        interfaces=[
            *(AGUI(agent=guide, prefix=f"/{path}") for path, guide in guides.items()),
            AGUI(team=team, prefix="/two-agents"),
        ],
        telemetry=False,
    ).get_app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Returns the path without /agui, which the interface appends."""
        if scope["type"] == "http":
            scope = scope | {"path": scope["path"] + "/agui"}
        await served(scope, receive, send)

    return app
