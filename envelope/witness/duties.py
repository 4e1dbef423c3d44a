"""What a producer must not do although a consumer accepts it.

Every place that enforcement strips breaks such a rule too (architecture, "strict writer"). Those
places are listed as stripped and not here, except for events and outcomes, which have a sentence
of their own.
"""

from verify import interrupt_ids, repeated

_BUILDS = {"TEXT_MESSAGE_START": "text", "REASONING_MESSAGE_START": "reasoning", "TOOL_CALL_RESULT": "tool",
           "ACTIVITY_SNAPSHOT": "activity"}
_OPENER = {"TEXT_MESSAGE_START": ("messageId", ("role", "name"), "events/text-messages"),
           "TOOL_CALL_START": ("toolCallId", ("toolCallName", "parentMessageId"), "events/tool-calls")}
_PARTS = (("inputTokens", ("cachedInputTokens", "cacheWriteInputTokens")), ("outputTokens", ("reasoningTokens",)))


class Duties:
    """Watches one stream. Its methods return the broken rules as (page, code) pairs."""

    def __init__(self, protocol, verifier):
        self._draft, self._verifier = protocol == "draft", verifier
        self._runs = set()  # of threads and runs
        self._messages = {}  # the family that built each message id
        self._results = set()  # message ids of tool results
        self._fields = {}  # the opener's fields of each message and call
        self._baselines = set()  # activities that have a snapshot
        self._reset()

    def _reset(self):
        self._called, self._answered = {}, set()
        self._tagged, self._announced = set(), set()

    def received(self, event, stripped):
        """Judges an event as it arrived; stripped lists what enforcement removes from it."""
        removed = dict(stripped)
        name = event["type"]
        if removed.get("") == "event" and name != "REASONING_ENCRYPTED_VALUE":
            yield "basic/processing", "unknown-event"
        if "/outcome" in removed:
            yield "events/lifecycle" if name == "RUN_FINISHED" else "events/subagents", "unknown-outcome"
        if name == "SUBAGENT_FINISHED" and "/outcome/interruptIds" in removed:
            yield "events/subagents", "success-with-interrupts"

    def expanded(self, event):
        """Judges an enforced and expanded event, before verification does."""
        name = event["type"]
        if not name.startswith("SUBAGENT_") and "subagentRunId" in event:
            self._tagged.add(event["subagentRunId"])
        if name in _BUILDS:
            yield from self._message(_BUILDS[name], event["messageId"])
        if name in _OPENER:
            yield from self._reopened(event, *_OPENER[name])
        if name in _RULES:
            yield from _RULES[name](self, event)

    def _message(self, family, item):
        if self._messages.setdefault(item, family) != family or item in self._results:
            yield "basic", "message-id"
        elif family == "tool":
            self._results.add(item)

    def _reopened(self, event, key, names, page):
        fields = {name: event.get(name) for name in names}
        if "role" in fields:
            fields["role"] = fields["role"] or "assistant"
        item = (key, event[key])
        if self._fields.setdefault(item, fields) != fields:
            yield page, "reopened-otherwise"

    def _call(self, event):
        call, tag = event["toolCallId"], event.get("subagentRunId")
        known = self._verifier.families["call"].known
        if tag is not None and call in known and known[call] != tag:
            yield "events/tool-calls", "reopened-otherwise"
        parent = event.get("parentMessageId")
        text = self._verifier.families["text"]
        if tag is not None and (parent in text.open or parent in text.known):
            if self._verifier.message_owner(parent) != tag:
                yield "events/tool-calls", "call-owner"
        self._called[call] = True

    def _result(self, event):
        self._answered.add(event["toolCallId"])
        return ()

    def _run_started(self, event):
        thread, run = event["threadId"], event["runId"]
        if (thread, run) in self._runs:
            yield "basic", "run-id"
        self._runs.add((thread, run))
        first = self._verifier.thread
        if not self._draft and first is not None and thread != first:
            yield "basic/run-input", "other-thread"
        declared = event.get("protocolVersion")
        if declared is None or self._draft and declared == "draft":
            yield "basic/versioning", "declaration"
        for message in event.get("input", {}).get("messages", ()):
            yield from _artefact(message)
        self._reset()

    def _run_finished(self, event):
        run = self._verifier.run
        if run and not self._draft:
            if event["threadId"] != run[0]:
                yield "basic/run-input", "finished-thread"
            if event["runId"] != run[1]:
                yield "basic/run-input", "finished-run"
            if repeated(interrupt_ids(event)):
                yield "basic/patterns/interrupt-resume", "interrupt-id"
        pending = event.get("outcome", {}).get("pendingToolCallIds", ())
        if pending and sorted(pending) != sorted(set(self._called) - self._answered):
            yield "events/tool-calls", "pending"
        yield from _usage(event)

    def _run_error(self, event):
        return _usage(event)

    def _subagent_started(self, event):
        subagent = event["subagentRunId"]
        if subagent in self._tagged and subagent not in self._announced:
            yield "events/subagents", "late-announcement"
        if "parentSubagentRunId" in event and event["parentSubagentRunId"] not in self._announced:
            yield "events/subagents", "unknown-parent"
        self._announced.add(subagent)

    def _activity_snapshot(self, event):
        item, tag = event["messageId"], event.get("subagentRunId")
        owners = self._verifier.activities
        if event.get("replace") is False and tag is not None and owners.get(item, tag) != tag:
            yield "events/activity", "kept-owner"
        self._baselines.add(item)

    def _activity_delta(self, event):
        if event["messageId"] not in self._baselines:
            yield "events/activity", "no-baseline"
        roots = [step for step in event["patch"] if step["op"] in ("add", "replace") and step["path"] == ""]
        if roots and not isinstance(roots[-1]["value"], dict):
            yield "events/activity", "not-an-object"

    def _messages_snapshot(self, event):
        activities = {message["id"] for message in event["messages"] if message["role"] == "activity"}
        if activities:
            self._baselines = activities
        for message in event["messages"]:
            yield from _artefact(message)


def _artefact(message):
    for holder in (message, *message.get("toolCalls", ())):
        if "encryptedValueType" in holder and "encryptedValue" not in holder:
            yield "events/reasoning", "type-without-value"


def _usage(event):
    for counts in event.get("usage", ()):
        total, sides = counts.get("totalTokens"), (counts.get("inputTokens"), counts.get("outputTokens"))
        if total is not None and None not in sides and total != sum(sides):
            yield "events/lifecycle", "usage-total"
        for whole, parts in _PARTS:
            if whole in counts and sum(counts.get(part, 0) for part in parts) > counts[whole]:
                yield "events/lifecycle", "usage-part"


_RULES = {
    "TOOL_CALL_START": Duties._call,
    "TOOL_CALL_RESULT": Duties._result,
    "RUN_STARTED": Duties._run_started,
    "RUN_FINISHED": Duties._run_finished,
    "RUN_ERROR": Duties._run_error,
    "SUBAGENT_STARTED": Duties._subagent_started,
    "ACTIVITY_SNAPSHOT": Duties._activity_snapshot,
    "ACTIVITY_DELTA": Duties._activity_delta,
    "MESSAGES_SNAPSHOT": Duties._messages_snapshot,
}
