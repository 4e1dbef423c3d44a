"""Verification: whether expanded events arrive in an order that the protocol allows."""

from reading import Rejected

LIFECYCLE = "events/lifecycle"
SUBAGENTS = "events/subagents"
# The prefix of its types, its content event, its identifier, the page of its rules, and its noun.
_FAMILIES = {
    "text": ("TEXT_MESSAGE", "CONTENT", "messageId", "events/text-messages", "text message"),
    "call": ("TOOL_CALL", "ARGS", "toolCallId", "events/tool-calls", "tool call"),
    "reasoning": ("REASONING_MESSAGE", "CONTENT", "messageId", "events/reasoning", "reasoning message"),
    "span": ("REASONING", None, "messageId", "events/reasoning", "reasoning span"),
}
_ROLES = {"assistant": "text", "user": "text", "system": "text", "developer": "text", "reasoning": "reasoning",
          "activity": "activity"}


class Family:
    """The open and the known items of one family in the current run, each with its owner."""

    def __init__(self, name):
        prefix, content, self.key, self.page, self.noun = _FAMILIES[name]
        self.name, self.start, self.end = name, prefix + "_START", prefix + "_END"
        self.content = f"{prefix}_{content}" if content else None
        self.open, self.known = {}, {}


class Verifier:
    def __init__(self, protocol):
        self._draft = protocol == "draft"
        self.phase = "before"  # before, active, closed, failed
        self.thread = None  # of the first run of the stream
        self.run = None
        self._reset()

    def _reset(self):
        self.families = {name: Family(name) for name in _FAMILIES}
        self._by_type = {}
        for family in self.families.values():
            for name in (family.start, family.content, family.end):
                self._by_type[name] = family
        self.steps, self.active, self.ended, self.activities = set(), set(), set(), {}

    def owner_of(self, event):
        """Returns the owner of what an event opens or continues: the parent agent is None.

        An event without a tag continues what its opener owns. A call without a tag belongs to
        the owner of the message that holds it.
        """
        if "subagentRunId" in event:
            return event["subagentRunId"]
        family = self._by_type.get(event["type"])
        if family is None:
            return None
        item = event[family.key]
        owner = family.open.get(item, family.known.get(item))
        if owner is None and event["type"] == "TOOL_CALL_START":
            return self.message_owner(event.get("parentMessageId"))
        return owner

    def message_owner(self, message):
        text = self.families["text"]
        return text.open.get(message, text.known.get(message))

    def check(self, event):
        """Raises Rejected if the event may not come now."""
        name = event["type"]
        self._check_phase(name)
        family = self._by_type.get(name)
        if family:
            self._check_item(family, name, event)
        elif name in _CHECKS:
            _CHECKS[name](self, event)

    def _check_phase(self, name):
        allowed = {
            "before": ("RUN_STARTED", "RUN_ERROR"),
            "closed": ("RUN_STARTED", "RUN_ERROR"),
            "failed": ("RUN_STARTED",),
        }.get(self.phase)
        if allowed and name not in allowed:
            if self.phase == "before":
                raise Rejected(LIFECYCLE, "first-event", "the stream starts with neither RUN_STARTED nor RUN_ERROR")
            raise Rejected(LIFECYCLE, "after-close", f"{name} after the run closed")
        if name == "RUN_STARTED" and self.phase == "active":
            raise Rejected(LIFECYCLE, "nested-run", "a run starts before the one before it closed")

    def _check_item(self, family, name, event):
        item, tag = event[family.key], event.get("subagentRunId")
        if name == family.start:
            if item in family.open:
                raise Rejected(family.page, "already-open", f"a {family.noun} opens that is open")
            owner = self.owner_of(event)
            # tool-calls lets a consumer miss that a call opens again under another owner.
            if family.name in ("text", "reasoning") and item in family.known and tag is not None:
                if tag != family.known[item]:
                    raise Rejected(SUBAGENTS, "attribution", f"a {family.noun} opens again under another owner")
            family.open[item] = family.known[item] = owner
            return
        if item not in family.open:
            raise Rejected(family.page, "not-open", f"{name} for a {family.noun} that is not open")
        if tag is not None and tag != family.open[item]:
            raise Rejected(SUBAGENTS, "attribution", f"{name} has another owner than the event that opened it")
        if name == family.end:
            del family.open[item]

    def _run_started(self, event):
        thread = event["threadId"]
        if self._draft and self.thread is not None and thread != self.thread:
            raise Rejected("basic/run-input", "other-thread", "a run of another thread than the first run of the stream")
        if self.thread is None:
            self.thread = thread
        self.run = (thread, event["runId"])
        self.phase = "active"
        self._reset()

    def _run_finished(self, event):
        if self._draft and event["threadId"] != self.run[0]:
            raise Rejected("basic/run-input", "finished-thread", "RUN_FINISHED names another thread than RUN_STARTED")
        if self._draft and event["runId"] != self.run[1]:
            raise Rejected("basic/run-input", "finished-run", "RUN_FINISHED names another run than RUN_STARTED")
        for family in self.families.values():
            if family.open:
                raise Rejected(LIFECYCLE, "open-at-finish", f"the run finishes with an open {family.noun}")
        if self.steps:
            raise Rejected(LIFECYCLE, "open-at-finish", "the run finishes with an open step")
        if self.active:
            raise Rejected(SUBAGENTS, "open-at-finish", "the run finishes with an active subagent")
        if self._draft and repeated(interrupt_ids(event)):
            raise Rejected("basic/patterns/interrupt-resume", "interrupt-id", "two interrupts have one id")
        self.phase = "closed"

    def _run_error(self, event):
        self.phase = "failed"

    def _step_started(self, event):
        step = (event.get("subagentRunId"), event["stepName"])
        if step in self.steps:
            raise Rejected(LIFECYCLE, "already-open", "a step opens that is open")
        self.steps.add(step)

    def _step_finished(self, event):
        step = (event.get("subagentRunId"), event["stepName"])
        if step not in self.steps:
            raise Rejected(LIFECYCLE, "not-open", "STEP_FINISHED for a step that is not open under this owner")
        self.steps.remove(step)

    def _subagent_started(self, event):
        subagent = event["subagentRunId"]
        if subagent in self.active:
            raise Rejected(SUBAGENTS, "already-open", "a subagent is announced that is active")
        if subagent in self.ended:
            raise Rejected(SUBAGENTS, "reused", "a subagent is announced that ended in this run")
        self.active.add(subagent)

    def _subagent_ended(self, event):
        subagent = event["subagentRunId"]
        if subagent not in self.active:
            raise Rejected(SUBAGENTS, "not-open", f"{event['type']} for a subagent that is not active")
        self.active.remove(subagent)
        self.ended.add(subagent)

    def _activity_snapshot(self, event):
        # Only a snapshot that replaces gives the activity to another owner.
        if event.get("replace", True) or event["messageId"] not in self.activities:
            self.activities[event["messageId"]] = event.get("subagentRunId")

    def _activity_delta(self, event):
        item, tag = event["messageId"], event.get("subagentRunId")
        if item in self.activities and tag is not None and tag != self.activities[item]:
            raise Rejected(SUBAGENTS, "attribution", "ACTIVITY_DELTA has another owner than the activity's snapshot")

    def _messages_snapshot(self, event):
        listed = {"text": {}, "reasoning": {}, "activity": {}}
        for message in event["messages"]:
            if message["role"] in _ROLES:
                listed[_ROLES[message["role"]]][message["id"]] = message.get("subagentRunId")
        self.families["text"].known = listed["text"]
        # A consumer keeps its own reasoning and activity messages unless the snapshot lists some.
        if listed["reasoning"]:
            self.families["reasoning"].known = listed["reasoning"]
        if listed["activity"]:
            self.activities = listed["activity"]

    def end(self):
        """Raises Rejected if the stream may not end here."""
        if self._draft and self.phase == "active":
            raise Rejected("basic/transports", "truncated", "the stream ends in an open run")

    def truncated(self):
        return self.phase in ("before", "active")


_CHECKS = {
    "RUN_STARTED": Verifier._run_started,
    "RUN_FINISHED": Verifier._run_finished,
    "RUN_ERROR": Verifier._run_error,
    "STEP_STARTED": Verifier._step_started,
    "STEP_FINISHED": Verifier._step_finished,
    "SUBAGENT_STARTED": Verifier._subagent_started,
    "SUBAGENT_FINISHED": Verifier._subagent_ended,
    "SUBAGENT_ERROR": Verifier._subagent_ended,
    "ACTIVITY_SNAPSHOT": Verifier._activity_snapshot,
    "ACTIVITY_DELTA": Verifier._activity_delta,
    "MESSAGES_SNAPSHOT": Verifier._messages_snapshot,
}


def interrupt_ids(event):
    outcome = event.get("outcome", {})
    return [interrupt["id"] for interrupt in outcome.get("interrupts", ())]


def repeated(names):
    return len(set(names)) != len(names)
