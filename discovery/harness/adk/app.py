"""The AG-UI ADK middleware over HTTP, with scripted models. See README.md."""

import contextlib
import inspect
import os

os.environ["OTEL_SDK_DISABLED"] = "true"  # must be set before ADK is imported, which traces through OpenTelemetry

from ag_ui_adk import ADKAgent, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.tools import FunctionTool, ToolContext

from script import SINGLE_AGENT, SCRIPTS, TEAM
from scripted_model import ScriptedModel

try:
    from ag_ui_adk import AGUIToolset

    client_tools = (AGUIToolset(),)
except ImportError:  # older releases give the client's tools to the root agent without it
    client_tools = ()


def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


def add_item(item: str, tool_context: ToolContext) -> dict:
    """Puts an item on the shopping list kept in the session state."""
    items = [*tool_context.state.get("items", []), item]
    tool_context.state["items"] = items
    return {"count": len(items)}


def delete_file(path: str) -> dict:
    """Deletes a file; the user has to confirm it first. Nothing is deleted."""
    return {"deleted": path}


def agent(script: str, name: str = "guide", tools: tuple = ()) -> LlmAgent:
    return LlmAgent(
        name=name,
        model=ScriptedModel(script=SCRIPTS[script]),
        instruction="Answer briefly.",
        tools=list(tools),
    )


# The tools of the agents, by path.
TOOLS = {
    "backend-tool": (get_weather,),
    "state-change": (add_item,),
    "client-tool": client_tools,
    "confirmation": (FunctionTool(delete_file, require_confirmation=True),),
}


def agents() -> dict[str, BaseAgent]:
    """One agent for each endpoint path."""
    alone = {path: agent(path, tools=TOOLS.get(path, ())) for path in SINGLE_AGENT}
    team = [agent(name, name) for name in TEAM]
    return alone | {"two-agents": SequentialAgent(name="team", sub_agents=team)}


# Settings of the middleware for single paths.
SETTINGS = {
    "snapshot-off": {"emit_messages_snapshot": False},
    "confirmation": {"emit_interrupt_outcome": True},
}
KNOWN = inspect.signature(ADKAgent).parameters  # older releases lack some of them


def build() -> FastAPI:
    served: list[ADKAgent] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI):
        yield
        for middleware in served:
            await middleware.close()

    app = FastAPI(title="p20export harness: adk", lifespan=lifespan)
    for path, adk_agent in agents().items():
        settings = {"emit_messages_snapshot": True, **SETTINGS.get(path, {})}
        middleware = ADKAgent(
            adk_agent=adk_agent,
            app_name=path.replace("-", "_"),
            user_id="harness",
            use_in_memory_services=True,
            **{name: value for name, value in settings.items() if name in KNOWN},
        )
        served.append(middleware)
        add_adk_fastapi_endpoint(app, middleware, path=f"/{path}")
    return app
