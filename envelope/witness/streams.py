"""Builds small streams for the tests of the witness."""

import json

from witness import judge


def event(kind, **members):
    """Returns an event; a member named from_ or type_ loses its underscore."""
    return {"type": kind, **{name.rstrip("_"): value for name, value in members.items()}}


def started(thread="t", run="r", **more):
    return event("RUN_STARTED", threadId=thread, runId=run, protocolVersion="1.1", **more)


def finished(thread="t", run="r", **more):
    return event("RUN_FINISHED", threadId=thread, runId=run, **more)


def row(*events, protocol="1.1"):
    """Judges events; a string among them is the text of a line."""
    return judge([item if isinstance(item, str) else json.dumps(item) for item in events], protocol)


def in_run(*events, protocol="1.1"):
    """Judges events between RUN_STARTED and RUN_FINISHED; the first of them has index 1."""
    return row(started(), *events, finished(), protocol=protocol)


def verdict(result):
    """Returns the index, page and code of the first rejection, or None."""
    reject = result["reject"]
    return reject and (reject["event"], reject["page"], reject["code"])


def removed(result):
    return [(place["event"], place["at"], place["what"]) for place in result["stripped"]]


def duties(result):
    return [(rule["event"], rule["code"]) for rule in result["producer"]]


def text(step, item="m", **more):
    if step == "CONTENT":
        more.setdefault("delta", "x")
    return event("TEXT_MESSAGE_" + step, messageId=item, **more)


def call(step, item="c", **more):
    if step == "START":
        more.setdefault("toolCallName", "look_up")
    if step == "ARGS":
        more.setdefault("delta", "{}")
    return event("TOOL_CALL_" + step, toolCallId=item, **more)


def thought(step, item="m", **more):
    if step == "START":
        more.setdefault("role", "reasoning")
    if step == "CONTENT":
        more.setdefault("delta", "x")
    return event("REASONING_MESSAGE_" + step, messageId=item, **more)


def span(step, item="s", **more):
    return event("REASONING_" + step, messageId=item, **more)


def subagent(step, item="a", **more):
    if step == "STARTED":
        more.setdefault("name", "helper")
    if step == "ERROR":
        more.setdefault("message", "no")
    return event("SUBAGENT_" + step, subagentRunId=item, **more)


def step(state, name="plan", **more):
    return event("STEP_" + state, stepName=name, **more)


def chunk(kind="TEXT_MESSAGE", **more):
    return event(kind + "_CHUNK", **more)
