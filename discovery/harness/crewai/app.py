"""The AG-UI bridge of CrewAI over HTTP, with scripted models. See README.md."""

import os
import tempfile

# Must be set before CrewAI is imported, because it stores paused flows in the user's directory and
# reports to a service, and LiteLLM fetches prices.
DATA = tempfile.TemporaryDirectory(prefix="crewai-")
os.environ |= {
    "XDG_DATA_HOME": DATA.name,
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}

import json
from typing import Any

from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_crew_fastapi_endpoint,
    add_crewai_flow_fastapi_endpoint,
    agui_feedback_provider,
    copilotkit_emit_tool_result,
    copilotkit_stream,
)
from crewai import LLM, Agent, Crew, Task
from crewai.events.utils.console_formatter import set_suppress_console_output
from crewai.flow.flow import Flow, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI
from litellm import acompletion

import endpoint
from script import SINGLE_AGENT, SCRIPTS, TEAM, Call, Script, say

# The chat model of the crew calls the crew and adds only a short answer. The bridge first asks the model
# to describe the crew; the same call also answers that request.
OWN: dict[str, Script] = {
    "two-agents": ((Call("team", {}, "call-team"),), (say("The team has answered."),)),
}


class State(CopilotKitState):
    """A flow's state with a shopping list."""

    items: list[str] = []


def get_weather(_: State, city: str) -> dict:
    """Returns the weather in a city."""
    return {"city": city, "celsius": 4, "sky": "rain"}


def add_item(state: State, item: str) -> str:
    """Puts an item on the shopping list kept in the flow's state."""
    state.items.append(item)
    return f"{len(state.items)} on the list"


# The tools that a flow runs itself. They are not sent to the models, because the scripts contain the calls.
TOOLS = {"get_weather": get_weather, "add_item": add_item}


async def ask(state: State, url: str, script: str) -> list[Any]:
    """Streams a model's answer to the client and returns the calls of the flow's own tools."""
    response = await copilotkit_stream(
        await acompletion(
            model=f"openai/{script}",
            base_url=url,
            api_key="none",
            messages=[{"role": "system", "content": "Answer briefly."}, *state.messages],
            tools=state.copilotkit.actions or None,  # the client's tools
            stream=True,
        )
    )
    message = response.choices[0].message
    state.messages.append(message)
    return [call for call in message.tool_calls or () if call.function.name in TOOLS]


async def converse(state: State, url: str, script: str) -> None:
    """Calls a model until it calls none of the flow's tools."""
    while calls := await ask(state, url, script):
        for call in calls:
            result = json.dumps(TOOLS[call.function.name](state, **json.loads(call.function.arguments)))
            state.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            await copilotkit_emit_tool_result(call.id, result)


def guide(url: str, script: str) -> Flow[State]:
    """A flow of one method, as in the bridge's documentation."""

    class Guide(Flow[State]):
        @start()
        async def chat(self) -> None:
            await converse(self.state, url, script)

    return Guide()


def cautious(url: str, script: str) -> Flow[State]:
    """A flow that waits for the user before it does what the model calls for; nothing is deleted."""

    class Cautious(Flow[State]):
        @start()
        @human_feedback(message="Delete notes.txt?", provider=agui_feedback_provider)
        async def chat(self) -> str:
            await converse(self.state, url, script)
            return "delete_file"

    return Cautious()


class Team:
    """A crew of two agents that answer one after the other, with its chat model."""

    name = "team"

    def __init__(self, url: str) -> None:
        self.url = url

    def crew(self) -> Crew:
        agents = [self.agent(name) for name in TEAM]
        tasks = [Task(description="Say how fjords were made.", expected_output="A sentence.", agent=a) for a in agents]
        return Crew(name=self.name, agents=agents, tasks=tasks, chat_llm=self.model("two-agents"))

    def agent(self, name: str) -> Agent:
        return Agent(role=name, goal="Answer briefly.", backstory="You know fjords.", llm=self.model(name))

    def model(self, script: str) -> LLM:
        # The bridge calls the chat model through LiteLLM.
        return LLM(model=f"openai/{script}", base_url=self.url, api_key="none", is_litellm=True)


def build() -> FastAPI:
    set_suppress_console_output(True)
    url = endpoint.start(SCRIPTS | OWN)
    app = FastAPI(title="p20export harness: crewai")
    for path in SINGLE_AGENT:
        if path == "confirmation":
            add_crewai_flow_fastapi_endpoint(app, cautious(url, path), f"/{path}", emit_interrupt_outcome=True)
        else:
            add_crewai_flow_fastapi_endpoint(app, guide(url, path), f"/{path}")
    add_crewai_crew_fastapi_endpoint(app, Team(url), "/two-agents")
    return app
