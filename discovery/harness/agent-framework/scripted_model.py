"""A chat client of the Agent Framework that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from script import Call, Fail, Say, Script, ScriptedFailure, Think, Wait, turn


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Plays turn n of the script if the request contains n answers of a model."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, **_: Any
    ) -> ResponseStream[ChatResponseUpdate, ChatResponse]:
        if not stream:
            raise NotImplementedError("the scripted client only streams")
        return self._build_response_stream(self._play(messages))

    async def _play(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        for step in turn(self.script, sum(message.role == "assistant" for message in messages)):
            match step:
                case Fail(message):
                    raise ScriptedFailure(message)
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Call(name, _, id):
                    # As providers stream it, with the name and id first.
                    yield _update(Content.from_function_call(id, name, arguments=""))
                    for piece in step.pieces():
                        yield _update(Content.from_function_call(id, "", arguments=piece))
                case Say(chunks, pause):
                    for text in chunks:
                        if isinstance(step, Think):
                            yield _update(Content.from_text_reasoning(text=text))
                        else:
                            yield _update(Content.from_text(text))
                        await asyncio.sleep(pause)


def _update(content: Content) -> ChatResponseUpdate:
    return ChatResponseUpdate(contents=[content], role="assistant")
