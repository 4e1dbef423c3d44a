"""Events on which two careful readers of the specification may differ.

The verdicts of the witness do not depend on this file. It says where the text leaves a choice, so
that a comparison can tell a choice from a mistake. docs/peers.md lists the questions.
"""

_SPACES = {"TEXT_MESSAGE": ("message", "messageId"), "TOOL_CALL": ("call", "toolCallId"),
           "REASONING_MESSAGE": ("reasoning", "messageId"), "REASONING": ("reasoning", "messageId")}
_NULLS = {"parentMessageId", "outcome", "rawEvent", "result", "payload", "metadata", "parameters", "forwardedProps"}
_STEPS = ("START", "CONTENT", "ARGS", "END")
_KINDS = {"reasoning": "reasoning", "activity": "activity"}


def _family(name):
    family, _, step = name.rpartition("_")
    return (family, step) if family in _SPACES and step in _STEPS else (None, None)


def _retired(value):
    """Reports whether a value contains what earlier versions allowed and consumers may translate."""
    if isinstance(value, list):
        return any(map(_retired, value))
    if not isinstance(value, dict):
        return False
    return value.get("type") == "binary" or any(
        item is None and name in _NULLS or _retired(item) for name, item in value.items())


class Questions:
    """Watches one stream. Every reading claims an owner for some items of the run."""

    def __init__(self, verifier):
        self._verifier = verifier
        self._claims = {}  # of (space, id): the owner by the source that gives it
        self._dropped = set()  # items that a snapshot does not list
        self._lanes = False  # whether lanes are in doubt until the next run
        self._thinking = False  # whether a consumer may have made reasoning out of retired events

    def received(self, event):
        """Yields the question that an event raises as it arrived."""
        self._thinking = self._thinking or str(event.get("type")).startswith("THINKING_")
        if self._thinking or _retired(event):
            yield "retired"

    def expanded(self, event):
        """Yields the questions that an enforced and expanded event raises, before verification."""
        name = event["type"]
        if name == "RUN_STARTED":
            self._claims, self._dropped, self._lanes = {}, set(), False
            self._listed(event.get("input", {}).get("messages", ()), "input")
        elif name == "MESSAGES_SNAPSHOT":
            self._dropped.update(self._claims)
            self._listed(event["messages"], "snapshot")
        elif name == "TOOL_CALL_RESULT":
            self._claim(("message", event["messageId"]), "result", event.get("subagentRunId"))
        elif name == "REASONING_ENCRYPTED_VALUE":
            yield from self._value(event)
        elif name == "SUBAGENT_STARTED":
            parent = event.get("parentSubagentRunId")
            if parent is not None and parent not in self._verifier.active | self._verifier.ended:
                yield "unknown-parent"
        elif name == "ACTIVITY_SNAPSHOT":
            item = ("activity", event["messageId"])
            if event.get("replace", True) or item not in self._claims:
                self._claims[item] = {"opener": event.get("subagentRunId")}
        elif name == "ACTIVITY_DELTA":
            yield from self._continues(("activity", event["messageId"]), event)
        family, step = _family(name)
        if family:
            yield from self._item(family, step, event)
        yield from self.lasting()

    def lasting(self):
        """Yields the question that an earlier event of the run left open."""
        if self._lanes:
            yield "lane"

    def lane(self):
        """Notes that readers may differ on the lane of an event, so on what is open until the next run."""
        self._lanes = True

    def _claim(self, item, source, owner):
        self._claims.setdefault(item, {})[source] = owner
        self._dropped.discard(item)

    def _listed(self, messages, source):
        for message in messages:
            owner = message.get("subagentRunId")
            self._claim((_KINDS.get(message["role"], "message"), message["id"]), source, owner)
            for call in message.get("toolCalls", ()):
                self._claim(("call", call["id"]), source, owner)

    def _item(self, family, step, event):
        space, key = _SPACES[family]
        item = (space, event[key])
        if step == "START":
            yield from self._calls(item, event) if family == "TOOL_CALL" else ()
            source = "span" if family == "REASONING" else "opener"
            known = self._claims.get(item, {})
            if source not in known:
                self._claim(item, source, event.get("subagentRunId", self._verifier.owner_of(event)))
        yield from self._continues(item, event)

    def _continues(self, item, event):
        """A tag that agrees with one claim to the item and not with another."""
        tag, claims = event.get("subagentRunId"), self._claims.get(item, {})
        if tag is not None and item in self._dropped and any(owner != tag for owner in claims.values()):
            yield "snapshot-owner"
        if tag is None or len(set(claims.values())) < 2:
            return
        if "span" in claims:
            yield "span-owner"
        for source in ("input", "snapshot", "result"):
            if source in claims:
                yield source + "-owner"

    def _calls(self, item, event):
        claims = self._claims.get(item, {})
        tag = event.get("subagentRunId")
        if tag is not None and any(owner != tag for owner in claims.values()):
            yield "call-reopened"
        parents = self._claims.get(("message", event.get("parentMessageId")), {})
        mine = {tag} if tag is not None else set(claims.values())
        if any(owner != own for own in mine for owner in parents.values()):
            yield "call-owner"
        if not mine:
            self._claims[item] = dict(parents)

    def _value(self, event):
        tag, item = event.get("subagentRunId"), event["entityId"]
        spaces = ("call",) if event["subtype"] == "tool-call" else ("message", "reasoning")
        if tag is not None and any(owner != tag for space in spaces for owner in
                                   self._claims.get((space, item), {}).values()):
            yield "value-owner"
