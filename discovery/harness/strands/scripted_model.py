"""A model for Strands agents that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from strands.models import Model
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from script import Call, Fail, Say, Script, ScriptedFailure, Think, turn


class ScriptedModel(Model):
    """Plays turn n of the script if the conversation contains n answers."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def update_config(self, **_: Any) -> None:
        raise NotImplementedError("the scripted model has nothing to configure")

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "scripted"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the scripted model only streams")

    async def stream(self, messages: Messages, *_: Any, **__: Any) -> AsyncIterator[StreamEvent]:
        reason = "end_turn"
        yield {"messageStart": {"role": "assistant"}}
        for step in turn(self.script, sum(message["role"] == "assistant" for message in messages)):
            match step:
                case Fail(message):
                    raise ScriptedFailure(message)
                case Call(name, _, id):
                    reason = "tool_use"
                    yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": id}}}}
                    for piece in step.pieces():
                        yield _delta(toolUse={"input": piece})
                    yield {"contentBlockStop": {}}
                case Say(chunks, pause):
                    yield {"contentBlockStart": {"start": {}}}
                    for text in chunks:
                        yield _delta(reasoningContent={"text": text}) if isinstance(step, Think) else _delta(text=text)
                        await asyncio.sleep(pause)
                    yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}


def _delta(**part: Any) -> StreamEvent:
    return {"contentBlockDelta": {"delta": part}}
