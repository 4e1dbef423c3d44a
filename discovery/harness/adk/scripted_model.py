"""A model for ADK agents that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class ScriptedFailure(Exception):
    """The failure a script asks for. Its text reaches the client in RUN_ERROR."""


@dataclass(frozen=True)
class Say:
    """Text, one streamed delta per chunk, each followed by `pause` seconds."""

    chunks: tuple[str, ...]
    pause: float = 0.003
    thought: bool = False


@dataclass(frozen=True)
class Call:
    """A call of the tool `name`; ADK gives it its id."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Wait:
    """Silence."""

    seconds: float


@dataclass(frozen=True)
class Fail:
    """An exception raised inside the model."""

    message: str


Step = Say | Call | Wait | Fail


def say(text: str, **how: Any) -> Say:
    """Text streamed word by word; the chunks joined are the text."""
    words = text.split(" ")
    return Say((words[0], *(" " + word for word in words[1:])), **how)


def think(text: str) -> Say:
    """Like say, as a thought part."""
    return say(text, thought=True)


class ScriptedModel(BaseLlm):
    """Plays `turns[n]` when the request already holds n answers of the model.

    The turn follows from the request alone, so nothing is kept between calls and
    the same requests give the same replies in any order and in any process.
    """

    model: str = "scripted"
    turns: tuple[tuple[Step, ...], ...]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        done = sum(content.role == "model" for content in llm_request.contents)
        if done >= len(self.turns):
            raise ScriptedFailure(f"the script has {len(self.turns)} turns, turn {done + 1} was asked for")
        parts: list[types.Part] = []
        for step in self.turns[done]:
            match step:
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Fail(message):
                    raise ScriptedFailure(message)
                case Call(name, args):
                    parts.append(types.Part(function_call=types.FunctionCall(name=name, args=dict(args))))
                case Say(chunks, pause, thought):
                    for chunk in chunks if stream else ():
                        yield LlmResponse(content=_content([_text(chunk, thought)]), partial=True)
                        await asyncio.sleep(pause)
                    parts.append(_text("".join(chunks), thought))
        # BaseLlm asks a streaming model for the whole turn once more, as its last response.
        yield LlmResponse(content=_content(parts), partial=False, finish_reason=types.FinishReason.STOP)


def _text(text: str, thought: bool) -> types.Part:
    return types.Part(text=text, thought=thought or None)


def _content(parts: list[types.Part]) -> types.Content:
    return types.Content(role="model", parts=parts)
