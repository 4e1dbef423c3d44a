"""A LlamaIndex model that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from llama_index.core.base.llms.types import ContentBlock, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLM

from script import Call, Fail, Say, Script, ScriptedFailure, Think, Turn, turn


class ScriptedModel(MockFunctionCallingLLM):
    """Plays turn n of the script if the request contains n+1 messages of a user or a tool.

    LlamaIndex's own mock has the rest of a model that calls functions.
    """

    script: Script

    async def astream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> AsyncIterator[ChatResponse]:
        wanting = sum(message.role in (MessageRole.USER, MessageRole.TOOL) for message in messages)
        return _play(turn(self.script, wanting - 1))


async def _play(steps: Turn) -> AsyncIterator[ChatResponse]:
    """Yields responses as providers stream them; each has the whole answer so far."""
    blocks: list[ContentBlock] = []
    for step in steps:
        match step:
            case Fail(message):
                raise ScriptedFailure(message)
            case Call(name, args, id):
                blocks.append(ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=args))
                yield _answer(blocks)
            case Say(chunks, pause):
                thought = isinstance(step, Think)
                blocks.append(ThinkingBlock(content="") if thought else TextBlock(text=""))
                for text in chunks:
                    if thought:
                        blocks[-1].content += text
                    else:
                        blocks[-1].text += text
                    yield _answer(blocks, "" if thought else text)
                    await asyncio.sleep(pause)


def _answer(blocks: list[ContentBlock], delta: str = "") -> ChatResponse:
    return ChatResponse(message=ChatMessage(role="assistant", blocks=list(blocks)), delta=delta)
