"""A model of Pydantic AI that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)

from script import Call, Fail, Say, Script, ScriptedFailure, Think, turn


def scripted(script: Script) -> FunctionModel:
    """Returns a model that plays turn n of the script if the request contains n answers of a model."""

    async def play(
        messages: list[ModelMessage], _: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        steps = turn(script, sum(isinstance(message, ModelResponse) for message in messages))
        if not steps:
            yield {}  # FunctionModel requires at least one item
        for index, step in enumerate(steps):
            match step:
                case Fail(message):
                    raise ScriptedFailure(message)
                case Call(name, _, id):
                    yield {index: DeltaToolCall(name=name, tool_call_id=id)}
                    for piece in step.pieces():
                        yield {index: DeltaToolCall(json_args=piece)}
                case Say(chunks, pause):
                    for text in chunks:
                        yield {index: DeltaThinkingPart(content=text)} if isinstance(step, Think) else text
                        await asyncio.sleep(pause)

    return FunctionModel(stream_function=play, model_name="scripted")
