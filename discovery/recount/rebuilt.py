"""Rebuilds the messages of a run from its request and events, without its snapshots, and compares
them with the messages of the last snapshot, as GATE.md defines.

Features that no committed capture uses (activities, subagents, chunks without an id) are errors.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from capture import Event, Run, Unexpected

Message = dict[str, Any]
Key = tuple[str, str, str, str]

DEVIATIONS = [  # in the order of the page
    "a system or developer message is only in the snapshot",
    "a tool result is only in the snapshot",
    "a message without content is only in the snapshot",
    "a message is in the snapshot twice",
    "another message is only in the snapshot",
    "reasoning is only in the stream",
    "a message is in the stream twice",
    "text is only in the stream",
    "another message is only in the stream",
    "a message is at another position",
    "two messages of the stream are one in the snapshot",
    "one message of the stream is two in the snapshot",
    "content differs in white space at its ends",
    "content parts have another form",
    "content differs",
    "tool calls are only in the snapshot",
    "tool calls are only in the stream",
    "tool calls differ",
    "the call or the error of a tool result differs",
]
WHITE_SPACE = " \t\r\n"
REQUIRED = {
    "TEXT_MESSAGE_START": ["messageId"],
    "TEXT_MESSAGE_CONTENT": ["messageId", "delta"],
    "TEXT_MESSAGE_CHUNK": ["messageId"],
    "REASONING_MESSAGE_START": ["messageId"],
    "REASONING_MESSAGE_CONTENT": ["messageId", "delta"],
    "TOOL_CALL_START": ["toolCallId", "toolCallName"],
    "TOOL_CALL_ARGS": ["toolCallId", "delta"],
    "TOOL_CALL_CHUNK": ["toolCallId"],
    "TOOL_CALL_RESULT": ["messageId", "toolCallId", "content"],
}


def modern(message: Message) -> Message:
    """A message whose binary parts (AG-UI 0.x) are image, audio, video or document parts."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [part for old in content for part in modern_part(old, content)]}


def modern_part(part: Any, parts: list[Any]) -> list[Any]:
    """What a part becomes: nothing if the content has the modern part too."""
    if not isinstance(part, dict) or part.get("type") != "binary" or not (part.get("data") or part.get("url")):
        return [part]
    family = part["mimeType"].split("/")[0]
    source = {"type": "data" if part.get("data") else "url", "value": part.get("data") or part["url"]}
    new: dict[str, Any] = {
        "type": family if family in ("image", "audio", "video") else "document",
        "source": {**source, "mimeType": part["mimeType"]},
    }
    if part.get("filename"):
        new["metadata"] = {"filename": part["filename"]}
    for other in parts:
        if isinstance(other, dict) and other.get("type") == new["type"] and other.get("source") == new["source"]:
            if "metadata" not in new or (other.get("metadata") or {}).get("filename") == part["filename"]:
                return []
    return [new]


class Conversation:
    """The messages that a client has."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages

    def find(self, id: str) -> Message | None:
        return next((message for message in self.messages if message.get("id") == id), None)

    def holder(self, call: str) -> Message | None:
        """The assistant message with a tool call."""
        return next((m for m in self.messages if any(c["id"] == call for c in m.get("toolCalls") or [])), None)

    def begin(self, id: str, role: str, name: str | None = None) -> None:
        if self.find(id) is None:
            named = {} if name is None else {"name": name}
            self.messages.append({"id": id, "role": role, "content": "", **named})

    def append(self, id: str, delta: str) -> None:
        message = self.find(id)
        if message is not None:
            message["content"] = (message.get("content") or "") + delta

    def begin_call(self, call: str, name: str, parent: str | None) -> None:
        if self.holder(call) is not None:
            return
        message = self.find(parent) if parent else None
        if message is None or message["role"] != "assistant":
            id = parent if parent and message is None else call
            message = {"id": id, "role": "assistant"}
            self.messages.append(message)
        message.setdefault("toolCalls", []).append({"id": call, "function": {"name": name, "arguments": ""}})

    def extend_call(self, call: str, delta: str) -> None:
        for each in (self.holder(call) or {}).get("toolCalls", []):
            if each["id"] == call:
                each["function"]["arguments"] += delta

    def answer(self, result: Message) -> None:
        at = len(self.messages)
        holder = self.holder(result["toolCallId"])
        if holder is not None:
            at = self.messages.index(holder) + 1
            while at < len(self.messages) and self.messages[at]["role"] == "tool":
                at += 1
        self.messages.insert(at, result)


def rebuild(run: Run) -> list[Message]:
    """The messages of the request, and what the events of the run make of them."""
    requested = run.capture.request.get("messages", [])
    conversation = Conversation(json.loads(json.dumps(requested)))
    for event in run.events:
        if event.type.startswith(("ACTIVITY_", "SUBAGENT_", "THINKING_")) or "subagentRunId" in event.value:
            raise Unexpected(f"{run.capture.name}: {event.type}")
        if event.type in REQUIRED or event.type == "RUN_STARTED":
            apply(conversation, event)
    return conversation.messages


def apply(conversation: Conversation, event: Event) -> None:
    value = event.value
    if event.type == "RUN_STARTED":
        for message in (value.get("input") or {}).get("messages", []):
            if conversation.find(message["id"]) is None:
                conversation.messages.append(json.loads(json.dumps(message)))
        return
    if not all(key in value for key in REQUIRED[event.type]):
        if event.type.endswith("_CHUNK"):
            raise Unexpected("a chunk without an id")
        return
    chunk = event.type.endswith("_CHUNK")
    if event.type.startswith("TOOL_CALL_RESULT"):
        keys = {key: value[key] for key in ("toolCallId", "content")}
        conversation.answer({"id": value["messageId"], "role": "tool", **keys})
    elif event.type.startswith("TOOL_CALL_"):
        call = value["toolCallId"]
        if "toolCallName" in value:
            conversation.begin_call(call, value["toolCallName"], value.get("parentMessageId"))
        elif chunk and conversation.holder(call) is None:
            raise Unexpected("a first chunk without a name")
        if value.get("delta"):
            conversation.extend_call(call, value["delta"])
    else:
        if chunk or event.type.endswith("_START"):
            role = "reasoning" if event.type.startswith("REASONING_") else value.get("role") or "assistant"
            conversation.begin(value["messageId"], role, value.get("name"))
        if value.get("delta"):
            conversation.append(value["messageId"], value["delta"])


# Comparison


def canonical(value: Any) -> str:
    """A text that is the same for equal values."""
    if isinstance(value, bool) or not isinstance(value, (int, float, list, dict)):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return repr(float(value) + 0.0)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"


def arguments(text: str) -> str:
    """Arguments that are JSON are compared as values, others as text."""
    try:
        return "value " + canonical(json.loads(text))
    except ValueError:
        return "text " + text


def key(message: Message) -> Key:
    """What the same messages have in common: role, content, tool calls, and what a result answers."""
    content = message.get("content")
    calls = [
        (call["id"], call["function"]["name"], arguments(call["function"]["arguments"]))
        for call in message.get("toolCalls") or []
    ]
    answers = [(name, canonical(message[name])) for name in ("toolCallId", "error") if message.get(name) is not None]
    return message["role"], canonical(content) if content else "", repr(calls) if calls else "", repr(answers)


@dataclass
class Comparison:
    rebuilt: int
    emitted: int
    same: int = 0
    other_id: int = 0
    other_name: int = 0
    deviations: Counter[str] = field(default_factory=Counter)

    @property
    def agrees(self) -> bool:
        return not self.deviations

    @property
    def identical(self) -> bool:
        return self.agrees and not self.other_id and not self.other_name


def longest_common(a: list[Key], b: list[Key]) -> list[tuple[int, int]]:
    """Pairs equal elements at both beginnings, at both ends, and along the longest common subsequence of the rest."""
    start, ends = 0, (len(a), len(b))
    while start < min(ends) and a[start] == b[start]:
        start += 1
    while min(ends) > start and a[ends[0] - 1] == b[ends[1] - 1]:
        ends = ends[0] - 1, ends[1] - 1
    pairs = [(at, at) for at in range(start)]
    pairs += [(ends[0] + at, ends[1] + at) for at in range(len(a) - ends[0])]
    length: dict[tuple[int, int], int] = {}
    for i in reversed(range(start, ends[0])):
        for j in reversed(range(start, ends[1])):
            longer = max(length.get((i + 1, j), 0), length.get((i, j + 1), 0))
            length[i, j] = 1 + length.get((i + 1, j + 1), 0) if a[i] == b[j] else longer
    i = j = start
    while i < ends[0] and j < ends[1]:
        if a[i] == b[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length.get((i + 1, j), 0) >= length.get((i, j + 1), 0):
            i += 1
        else:
            j += 1
    return pairs


def compare(rebuilt: list[Message], emitted: list[Message]) -> Comparison:
    found = Comparison(len(rebuilt), len(emitted))
    mine, theirs = [key(message) for message in rebuilt], [key(message) for message in emitted]
    left, right = list(range(len(mine))), list(range(len(theirs)))  # without a pair

    def pair(i: int, j: int) -> None:
        left.remove(i)
        right.remove(j)

    def same(i: int, j: int) -> None:
        pair(i, j)
        found.same += 1
        found.other_id += rebuilt[i]["id"] != emitted[j]["id"]
        found.other_name += (rebuilt[i].get("name") or "") != (emitted[j].get("name") or "")

    for i, j in longest_common(mine, theirs):
        same(i, j)
    for i in list(left):
        if at := [j for j in right if theirs[j] == mine[i]]:
            same(i, at[0])
            found.deviations["a message is at another position"] += 1
    joins = [
        ("two messages of the stream are one in the snapshot", mine, left, theirs, right),
        ("one message of the stream is two in the snapshot", theirs, right, mine, left),
    ]
    for words, parts, free, wholes, others in joins:
        for i in list(free):
            if i + 1 in free and i in free and (whole := join(parts[i], parts[i + 1])):
                if at := [j for j in others if wholes[j] == whole]:
                    for index in (i, i + 1):
                        free.remove(index)
                    others.remove(at[0])
                    found.deviations[words] += 1
    for i in list(left):
        if at := [j for j in right if theirs[j][0] == mine[i][0]]:
            pair(i, at[0])
            found.deviations.update(differences(rebuilt[i], mine[i], emitted[at[0]], theirs[at[0]]))
    found.deviations.update(only_streamed(mine[i], mine.count(mine[i]) > 1) for i in left)
    found.deviations.update(only_emitted(theirs[j], theirs.count(theirs[j]) > 1) for j in right)
    return found


def join(first: Key, second: Key) -> Key | None:
    """A message that is the same as a message with only content and the next with only tool calls."""
    if first[0] != second[0] or first[2] or second[1] or not second[2]:
        return None
    return first[0], first[1], second[2], first[3]


def differences(one: Message, a: Key, other: Message, b: Key) -> list[str]:
    """What is different in two messages of the same role."""
    found = []
    if a[1] != b[1]:
        texts = [message.get("content") for message in (one, other)]
        if all(text and isinstance(text, str) for text in texts) and len({t.strip(WHITE_SPACE) for t in texts}) == 1:
            found.append("content differs in white space at its ends")
        elif all(isinstance(text, list) and text for text in texts):
            found.append("content parts have another form")
        else:
            found.append("content differs")
    if a[2] != b[2]:
        side = "are only in the stream" if not b[2] else "are only in the snapshot" if not a[2] else "differ"
        found.append(f"tool calls {side}")
    if a[3] != b[3]:
        found.append("the call or the error of a tool result differs")
    return found


def only_streamed(message: Key, repeated: bool) -> str:
    if repeated:
        return "a message is in the stream twice"
    if message[0] == "reasoning":
        return "reasoning is only in the stream"
    return "text is only in the stream" if message[1].startswith('"') else "another message is only in the stream"


def only_emitted(message: Key, repeated: bool) -> str:
    if message[0] in ("system", "developer"):
        return "a system or developer message is only in the snapshot"
    if message[0] == "tool":
        return "a tool result is only in the snapshot"
    if not message[1] and not message[2]:
        return "a message without content is only in the snapshot"
    return "a message is in the snapshot twice" if repeated else "another message is only in the snapshot"


def of(run: Run) -> Comparison | None:
    """The comparison of a run with a snapshot."""
    if not run.snapshots:
        return None
    return compare(list(map(modern, rebuild(run))), list(map(modern, run.snapshots[-1].value["messages"])))
