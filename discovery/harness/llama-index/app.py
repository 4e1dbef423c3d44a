"""The AG-UI workflow of LlamaIndex over HTTP, with scripted models. See README.md."""

from collections.abc import Awaitable, Callable

from fastapi import FastAPI
from llama_index.core.workflow import Context, StopEvent, Workflow, step
from llama_index.protocols.ag_ui.agent import AGUIChatWorkflow, InputEvent
from llama_index.protocols.ag_ui.events import MessagesSnapshotWorkflowEvent
from llama_index.protocols.ag_ui.router import AGUIWorkflowRouter, get_default_workflow_factory

from script import SINGLE_AGENT, SCRIPTS, TEAM
from scripted_model import ScriptedModel

PROMPT = "Answer briefly."


def get_weather(city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


async def add_item(ctx: Context, item: str) -> str:
    """Puts an item on the shopping list kept in the workflow's state."""
    state = await ctx.store.get("state")
    state["items"].append(item)
    await ctx.store.set("state", state)
    return f"{len(state['items'])} on the list"


class Team(Workflow):
    """Runs two of the package's workflows; the second gets the last messages of the first."""

    @step
    async def answer(self, ctx: Context, ev: InputEvent) -> StopEvent:
        given = ev.input_data
        for name in TEAM:
            agent = AGUIChatWorkflow(llm=ScriptedModel(script=SCRIPTS[name]), system_prompt=PROMPT)
            handler = agent.run(input_data=given)
            async for event in handler.stream_events():
                if isinstance(event, MessagesSnapshotWorkflowEvent):
                    given = given.model_copy(update={"messages": event.messages})
                if not isinstance(event, StopEvent):
                    ctx.write_event_to_stream(event)
            await handler
        return StopEvent()


async def team() -> Team:
    return Team()


# The tools of the agents, by path.
TOOLS = {"backend-tool": [get_weather], "state-change": [add_item]}


def alone(script: str) -> Callable[[], Awaitable[Workflow]]:
    return get_default_workflow_factory(
        llm=ScriptedModel(script=SCRIPTS[script]),
        backend_tools=TOOLS.get(script),
        system_prompt=PROMPT,
    )


def build() -> FastAPI:
    app = FastAPI(title="p20export harness: llama-index")
    factories = {path: alone(path) for path in SINGLE_AGENT} | {"two-agents": team}
    for path, factory in factories.items():
        # The package's router serves one workflow at /run. This is the same endpoint at another path.
        app.add_api_route(f"/{path}", AGUIWorkflowRouter(factory).run, methods=["POST"])
    return app
