"""What the schema of each protocol version describes, as shapes of enforce.py."""

from enforce import (SAFE, Anything, Boolean, Fixed, Integer, List, NotNull, Object, OneOf, Open, Pointer, Text, TextOr,
                     Union)
from reading import PROTOCOLS

_TEXT, _ANY, _NOT_NULL, _OPEN = Text(), Anything(), NotNull(), Open()
_BASE = {"type": _TEXT}
_EXTRA = {"timestamp": Integer(-SAFE), "rawEvent": _NOT_NULL, "metadata": _OPEN}
_TAG = {"subagentRunId": _TEXT}


def _patch():
    place = {"op": _TEXT, "path": Pointer()}
    value = Object({**place, "value": _ANY}, is_open=True)
    source = Object({**place, "from": Pointer()}, is_open=True)
    return List(Union("op", {
        "add": value, "replace": value, "test": value,
        "remove": Object(place, is_open=True),
        "move": source, "copy": source,
    }))


def _parts():
    source = Union("type", {
        "data": Object({"type": _TEXT, "value": _TEXT, "mimeType": _TEXT}),
        "url": Object({"type": _TEXT, "value": _TEXT}, {"mimeType": _TEXT}),
        "file": Object({"type": _TEXT, "value": _TEXT}, {"provider": _TEXT, "mimeType": _TEXT}),
    })
    extra = {"id": _TEXT, "metadata": _NOT_NULL}
    media = Object({"type": _TEXT, "source": source}, extra)
    return List(Union("type", {
        "text": Object({"type": _TEXT, "text": _TEXT}, extra),
        "image": media, "audio": media, "video": media, "document": media,
    }))


def _messages(artefact):
    call = Object({"id": _TEXT, "type": Fixed("function"), "function": Object({"name": _TEXT, "arguments": _TEXT})},
                  {**artefact, "metadata": _OPEN})
    identity = {"id": _TEXT, "role": _TEXT}
    alone = {**_TAG, "metadata": _OPEN}
    base = {**alone, "name": _TEXT, **artefact}
    spoken = Object({**identity, "content": _TEXT}, base)
    return List(Union("role", {
        "developer": spoken,
        "system": spoken,
        "assistant": Object(identity, {**base, "content": _TEXT, "toolCalls": List(call)}),
        "user": Object({**identity, "content": TextOr(_parts())}, base),
        "tool": Object({**identity, "content": TextOr(_parts()), "toolCallId": _TEXT},
                       {**alone, **artefact, "error": _TEXT}),
        "activity": Object({**identity, "activityType": _TEXT, "content": _OPEN}, alone),
        "reasoning": Object({**identity, "content": _TEXT}, {**alone, **artefact}),
    }))


def _input(messages):
    tool = Object({"name": _TEXT, "description": _TEXT}, {"parameters": _NOT_NULL, "metadata": _OPEN})
    answer = Object({"interruptId": _TEXT, "status": OneOf("resolved", "cancelled")},
                    {"payload": _NOT_NULL, "metadata": _OPEN})
    return Object({"threadId": _TEXT, "runId": _TEXT, "messages": messages}, {
        "protocolVersion": _TEXT, "parentRunId": _TEXT, "state": _NOT_NULL, "tools": List(tool),
        "context": List(Object({"description": _TEXT, "value": _TEXT})),
        "forwardedProps": _NOT_NULL, "resume": List(answer),
    })


def _outcomes():
    interrupt = Object({"id": _TEXT, "reason": _TEXT}, {
        **_TAG, "message": _TEXT, "toolCallId": _TEXT, "responseSchema": _OPEN, "expiresAt": _TEXT, "metadata": _OPEN})
    run = Union("type", {
        "success": Object(_BASE, {"pendingToolCallIds": List(_TEXT)}),
        "interrupt": Object({**_BASE, "interrupts": List(interrupt, least=1)}),
        "cancelled": Object(_BASE),
    })
    subagent = Union("type", {"success": Object(_BASE), "suspended": Object(_BASE, {"interruptIds": List(_TEXT)})})
    return run, subagent


def _events(protocol):
    artefact = {"encryptedValue": _TEXT}
    kind = {} if protocol == "1.0" else {"encryptedValueType": _TEXT}
    messages = _messages({**artefact, **kind})
    run_outcome, subagent_outcome = _outcomes()
    role = OneOf("developer", "system", "assistant", "user")
    counts = ("inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens",
              "cacheWriteInputTokens")
    usage = List(Object({}, {"provider": _TEXT, "model": _TEXT, **{name: Integer(0) for name in counts}}))
    message, call, subagent = {"messageId": _TEXT}, {"toolCallId": _TEXT}, {"subagentRunId": _TEXT}
    run = {"threadId": _TEXT, "runId": _TEXT}

    def tagged(required, optional=None):
        return Object({**_BASE, **required}, {**_EXTRA, **_TAG, **(optional or {})})

    def plain(required, optional=None):
        return Object({**_BASE, **required}, {**_EXTRA, **(optional or {})})

    return {
        "TEXT_MESSAGE_START": tagged(message, {"role": role, "name": _TEXT}),
        "TEXT_MESSAGE_CONTENT": tagged({**message, "delta": _TEXT}),
        "TEXT_MESSAGE_END": tagged(message),
        "TEXT_MESSAGE_CHUNK": tagged({}, {**message, "role": role, "delta": _TEXT, "name": _TEXT}),
        "TOOL_CALL_START": tagged({**call, "toolCallName": _TEXT}, {"parentMessageId": _TEXT}),
        "TOOL_CALL_ARGS": tagged({**call, "delta": _TEXT}),
        "TOOL_CALL_END": tagged(call),
        "TOOL_CALL_CHUNK": tagged({}, {**call, "toolCallName": _TEXT, "parentMessageId": _TEXT, "delta": _TEXT}),
        "TOOL_CALL_RESULT": tagged({**message, **call, "content": TextOr(_parts())}, {"role": Fixed("tool")}),
        "STATE_SNAPSHOT": tagged({"snapshot": _ANY}),
        "STATE_DELTA": tagged({"delta": _patch()}),
        "MESSAGES_SNAPSHOT": plain({"messages": messages}),
        "ACTIVITY_SNAPSHOT": tagged({**message, "activityType": _TEXT, "content": _OPEN}, {"replace": Boolean()}),
        "ACTIVITY_DELTA": tagged({**message, "activityType": _TEXT, "patch": _patch()}),
        "RAW": tagged({"event": _ANY}, {"source": _TEXT}),
        "CUSTOM": tagged({"name": _TEXT, "value": _ANY}),
        "RUN_STARTED": plain(run, {"protocolVersion": _TEXT, "parentRunId": _TEXT, "input": _input(messages)}),
        "RUN_FINISHED": plain(run, {"result": _NOT_NULL, "outcome": run_outcome, "usage": usage}),
        "RUN_ERROR": plain({"message": _TEXT}, {"code": _TEXT, "usage": usage}),
        "STEP_STARTED": tagged({"stepName": _TEXT}),
        "STEP_FINISHED": tagged({"stepName": _TEXT}),
        "REASONING_START": tagged(message),
        "REASONING_MESSAGE_START": tagged({**message, "role": Fixed("reasoning")}),
        "REASONING_MESSAGE_CONTENT": tagged({**message, "delta": _TEXT}),
        "REASONING_MESSAGE_END": tagged(message),
        "REASONING_MESSAGE_CHUNK": tagged({}, {**message, "delta": _TEXT}),
        "REASONING_END": tagged(message),
        "REASONING_ENCRYPTED_VALUE": tagged(
            {"subtype": OneOf("tool-call", "message"), "entityId": _TEXT, "encryptedValue": _TEXT}, kind),
        "SUBAGENT_STARTED": plain({**subagent, "name": _TEXT}, {
            "description": _TEXT, "parentSubagentRunId": _TEXT, "parentToolCallId": _TEXT, "parentMessageId": _TEXT}),
        "SUBAGENT_FINISHED": plain(subagent, {"result": _NOT_NULL, "outcome": subagent_outcome}),
        "SUBAGENT_ERROR": plain({**subagent, "message": _TEXT}, {"code": _TEXT}),
    }


EVENTS = {protocol: Union("type", _events(protocol)) for protocol in PROTOCOLS}
