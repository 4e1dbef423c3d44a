"""A LangChain chat model that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from script import Call, Fail, Say, Script, ScriptedFailure, Think, turn


class ScriptedModel(BaseChatModel):
    """Plays turn n of the script if the request contains n+1 messages of a user or a tool.

    The answers are not what is counted: the adapter takes a client's copy of an
    answer for another message.
    """

    script: Script

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        return self  # the script contains the tool calls

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("the scripted model only streams")

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        steps = turn(self.script, sum(isinstance(message, HumanMessage | ToolMessage) for message in messages) - 1)
        # Reasoning is only possible as a block, and an answer consists either of blocks or of a string.
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
    """Returns the call as providers stream it, with the name and id first."""
    yield tool_call_chunk(name=call.name, id=call.id, args="", index=index)
    for args in call.pieces():
        yield tool_call_chunk(args=args, index=index)


def _part(content: Any = "", **rest: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **rest))
