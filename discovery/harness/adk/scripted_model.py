"""A model for ADK agents that plays a fixed script instead of calling a service."""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

from script import Call, Fail, Say, Script, ScriptedFailure, Think, Wait, turn


class ScriptedModel(BaseLlm):
    """Plays turn n of the script if the request contains n answers of the model."""

    model: str = "scripted"
    script: Script

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        done = sum(content.role == "model" for content in llm_request.contents)
        parts: list[types.Part] = []
        for step in turn(self.script, done):
            match step:
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Fail(message):
                    raise ScriptedFailure(message)
                case Call(name, args, _):
                    parts.append(types.Part(function_call=types.FunctionCall(name=name, args=dict(args))))
                case Say(chunks, pause):
                    thought = isinstance(step, Think)
                    for chunk in chunks if stream else ():
                        yield LlmResponse(content=_content([_text(chunk, thought)]), partial=True)
                        await asyncio.sleep(pause)
                    parts.append(_text("".join(chunks), thought))
        # BaseLlm requires the whole turn again as the last response of a streaming model.
        yield LlmResponse(content=_content(parts), partial=False, finish_reason=types.FinishReason.STOP)


def _text(text: str, thought: bool) -> types.Part:
    return types.Part(text=text, thought=thought or None)


def _content(parts: list[types.Part]) -> types.Content:
    return types.Content(role="model", parts=parts)
