"""Chunk expansion: writes each chunk as the start, content and end events that it stands for.

A lane is what one owner streams: the parent agent (None) or one subagent. A lane has at most one
open chunk stream, because a chunk of another item closes the one before it.
"""

from dataclasses import dataclass, field

from reading import Rejected

PAGE = "basic/patterns/streaming"


@dataclass
class Kind:
    """One of the three families that have a chunked form."""

    name: str
    chunk: str
    start: str
    content: str
    end: str
    key: str
    opener: tuple = ()  # the fields of the start event that a later chunk may repeat
    required: tuple = ()  # those that the first chunk has to carry, in addition to the identifier
    implied: dict = field(default_factory=dict)  # what an absent field of the opener means
    always: dict = field(default_factory=dict)  # what every start event carries


KINDS = (
    Kind("text", "TEXT_MESSAGE_CHUNK", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId",
         opener=("role", "name"), implied={"role": "assistant"}),
    Kind("tool call", "TOOL_CALL_CHUNK", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId",
         opener=("toolCallName", "parentMessageId"), required=("toolCallName",)),
    Kind("reasoning", "REASONING_MESSAGE_CHUNK", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
         "REASONING_MESSAGE_END", "messageId", always={"role": "reasoning"}),
)
CHUNKS = {kind.chunk: kind for kind in KINDS}
EXPLICIT = {name: kind for kind in KINDS for name in (kind.start, kind.content, kind.end)}

EVERY_LANE = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}
ENDS_SUBAGENT = {"SUBAGENT_FINISHED", "SUBAGENT_ERROR"}
OWN_LANE = {
    *EXPLICIT, "TOOL_CALL_RESULT", "STEP_STARTED", "STEP_FINISHED", "STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM",
    "REASONING_START", "REASONING_END",
}


@dataclass
class Stream:
    kind: Kind
    id: str
    owner: str | None
    fields: dict

    def tag(self):
        return {} if self.owner is None else {"subagentRunId": self.owner}


class Expander:
    """Holds the open chunk streams.

    owner_of returns the owner of what an event opens or continues. doubt is called when the text
    leaves open in which lane an event arrives.
    """

    def __init__(self, owner_of, doubt):
        self._owner_of, self._doubt = owner_of, doubt
        self._lanes = {}

    def expand(self, event):
        """Returns the events that an event stands for, with the ends that it brings about first."""
        kind = CHUNKS.get(event["type"])
        if kind:
            return self._chunk(kind, event)
        return [self._close(owner) for owner in self._closed_by(event)] + [event]

    def _closed_by(self, event):
        name = event["type"]
        if name in EVERY_LANE:
            return list(self._lanes)
        if name in ENDS_SUBAGENT:
            return [event["subagentRunId"]] if event["subagentRunId"] in self._lanes else []
        if name not in OWN_LANE:
            return []
        owner, kind = self._owner_of(event), EXPLICIT.get(name)
        named = event[kind.key] if kind else None
        same = [lane for lane, open_ in self._lanes.items() if kind is open_.kind and named == open_.id]
        inherited = owner is not None and "subagentRunId" not in event
        if inherited and self._lanes.keys() & {owner, None} or any(lane != owner for lane in same):
            self._doubt()
        return [lane for lane in self._lanes if lane == owner or lane in same]

    def _close(self, owner):
        stream = self._lanes.pop(owner)
        return {"type": stream.kind.end, stream.kind.key: stream.id, **stream.tag()}

    def _chunk(self, kind, event):
        stream = self._continued(kind, event)
        if stream:
            for name in kind.opener:
                if name in event and event[name] != stream.fields.get(name):
                    raise Rejected(PAGE, "chunk-conflict", f"a chunk contradicts the {name} of the one that it continues")
            return self._content(kind, event, stream)
        if kind.key not in event:
            raise Rejected(PAGE, "first-chunk", f"the first chunk of a {kind.name} has no {kind.key}")
        for name in kind.required:
            if name not in event:
                raise Rejected(PAGE, "first-chunk", f"the first chunk of a {kind.name} has no {name}")
        return self._open(kind, event)

    def _continued(self, kind, event):
        named, tag = event.get(kind.key), event.get("subagentRunId")
        mine = [stream for stream in self._lanes.values() if stream.kind is kind]
        if named is not None:
            found = next((stream for stream in mine if stream.id == named), None)
            if found and tag is not None and tag != found.owner:
                raise Rejected("events/subagents", "attribution", f"a chunk of {kind.name} has another owner")
            return found
        if tag is not None:
            return next((stream for stream in mine if stream.owner == tag), None)
        parent = next((stream for stream in mine if stream.owner is None), None)
        if parent is None and len(mine) > 1:
            raise Rejected(PAGE, "ambiguous-chunk", f"several subagents stream a {kind.name} that the chunk may continue")
        return parent or (mine[0] if mine else None)

    def _open(self, kind, event):
        start = {"type": kind.start, kind.key: event[kind.key], **kind.always}
        for name in (*kind.opener, "subagentRunId"):
            if name in event:
                start[name] = event[name]
        owner = self._owner_of(start)
        if owner is not None and "subagentRunId" not in start:
            self._doubt()
        closed = [self._close(owner)] if owner in self._lanes else []
        fields = {**kind.implied, **{name: event[name] for name in kind.opener if name in event}}
        stream = self._lanes[owner] = Stream(kind, event[kind.key], owner, fields)
        return closed + [start] + self._content(kind, event, stream)

    def _content(self, kind, event, stream):
        if "delta" not in event:
            return []
        return [{"type": kind.content, kind.key: stream.id, "delta": event["delta"], **stream.tag()}]
