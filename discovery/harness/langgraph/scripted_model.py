"""A LangChain chat model that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult


class ScriptedFailure(Exception):
    """The failure a script asks for. Its text reaches the client in RUN_ERROR."""


@dataclass(frozen=True)
class Say:
    """Text, one streamed delta per chunk, each followed by `pause` seconds."""

    chunks: tuple[str, ...]
    pause: float = 0.003


@dataclass(frozen=True)
class Think(Say):
    """Like Say, as reasoning blocks."""


@dataclass(frozen=True)
class Call:
    """A call of the tool `name` under `id`, which a model chooses in LangChain."""

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
    """Reasoning streamed word by word."""
    return Think(words(text))


class ScriptedModel(BaseChatModel):
    """Plays `turns[n]` for the request's message n+1 that wants an answer: a user's or a tool's.

    The turn follows from the request alone, so nothing is kept between calls and
    the same requests give the same replies in any order and in any process. The
    answers are not what is counted: the adapter takes a client's copy of an answer
    for another message.
    """

    turns: tuple[tuple[Step, ...], ...]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        return self  # the script knows which tools it calls

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("the scripted model only streams")

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        turn = sum(isinstance(message, HumanMessage | ToolMessage) for message in messages) - 1
        if turn >= len(self.turns):
            raise ScriptedFailure(f"the script has {len(self.turns)} turns, turn {turn + 1} was asked for")
        steps = self.turns[turn]
        # Reasoning exists only as a block, and an answer is of blocks or of a string.
        blocks = any(isinstance(step, Think) for step in steps)
        for index, step in enumerate(steps):
            match step:
                case Fail(message):
                    raise ScriptedFailure(message)
                case Call():
                    for chunk in _call(index, step):
                        yield _part(tool_call_chunks=[chunk])
                case Say(chunks, pause):
                    kind = "reasoning" if isinstance(step, Think) else "text"
                    for text in chunks:
                        yield _part([{"type": kind, kind: text, "index": index}] if blocks else text)
                        await asyncio.sleep(pause)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))


def _call(index: int, call: Call) -> Iterator[Any]:
    """The call as providers stream it: its name and id first, its arguments in two pieces."""
    half = len(call.args) // 2
    yield tool_call_chunk(name=call.name, id=call.id, args="", index=index)
    for args in (call.args[:half], call.args[half:]):
        yield tool_call_chunk(args=args, index=index)


def _part(content: Any = "", **rest: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **rest))
