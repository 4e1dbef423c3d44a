"""A model of Pydantic AI that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)


class ScriptedFailure(Exception):
    """The failure a script asks for. Its text reaches the client in RUN_ERROR."""


@dataclass(frozen=True)
class Say:
    """Text, one streamed delta per chunk, each followed by `pause` seconds."""

    chunks: tuple[str, ...]
    pause: float = 0.003


@dataclass(frozen=True)
class Think(Say):
    """Like Say, as thinking parts."""


@dataclass(frozen=True)
class Call:
    """A call of the tool `name` under `id`, which a model chooses."""

    name: str
    args: str
    id: str


@dataclass(frozen=True)
class Fail:
    """An exception raised inside the model."""

    message: str


Step = Say | Call | Fail


def words(text: str) -> tuple[str, ...]:
    """The text word by word; the chunks joined are the text."""
    first, *rest = text.split(" ")
    return (first, *(" " + word for word in rest))


def say(text: str) -> Say:
    """Text streamed word by word."""
    return Say(words(text))


def think(text: str) -> Think:
    """Thinking streamed word by word."""
    return Think(words(text))


def scripted(*turns: tuple[Step, ...]) -> FunctionModel:
    """A model that plays `turns[n]` where the request holds n answers of a model.

    The turn follows from the request alone, so nothing is kept between calls and
    the same requests give the same replies in any order and in any process.
    """

    async def play(
        messages: list[ModelMessage], _: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        if turn >= len(turns):
            raise ScriptedFailure(f"the script has {len(turns)} turns, turn {turn + 1} was asked for")
        if not turns[turn]:
            yield {}  # FunctionModel wants one item at least
        for index, step in enumerate(turns[turn]):
            match step:
                case Fail(message):
                    raise ScriptedFailure(message)
                case Call(name, args, id):
                    # As providers stream it: name and id first, the arguments in two pieces.
                    half = len(args) // 2
                    yield {index: DeltaToolCall(name=name, tool_call_id=id)}
                    for piece in (args[:half], args[half:]):
                        yield {index: DeltaToolCall(json_args=piece)}
                case Say(chunks, pause):
                    for text in chunks:
                        yield {index: DeltaThinkingPart(content=text)} if isinstance(step, Think) else text
                        await asyncio.sleep(pause)

    return FunctionModel(stream_function=play, model_name="scripted")
