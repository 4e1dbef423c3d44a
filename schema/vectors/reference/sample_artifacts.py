"""Builds artifacts and envelopes for the tests of the validator, and validates them."""

import json

from p20 import validate
from p20.report import CODES

TOP = (
    "schema framework surface thread_id_ref run_id_ref parent_run_id_ref started_at "
    "finished_at messages terminal_event error_code error_message"
).split()
REQUIRED = [key for key in TOP if key not in
            ("parent_run_id_ref", "finished_at", "error_code", "error_message")]


def message(**changes):
    base = {"id": "m1", "role": "user", "content": "hello"}
    base.update(changes)
    return {key: value for key, value in base.items() if value is not ...}


def artifact(**changes):
    """Returns a valid artifact with changed members; ... removes one."""
    base = {
        "schema": "ag-ui.compacted-message-snapshot.export.v1",
        "framework": "ag_ui",
        "surface": "compacted_message_snapshot_artifact",
        "thread_id_ref": "thread-1",
        "run_id_ref": "run-1",
        "started_at": "2025-01-01T00:00:00Z",
        "messages": [message()],
        "terminal_event": "RUN_FINISHED",
    }
    base.update(changes)
    return {key: value for key, value in base.items() if value is not ...}


def to_bytes(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode("utf-8")


def found(value, profile="v1", kind="artifact"):
    """Returns the findings as a list of "RULE pointer"."""
    answer = validate(to_bytes(value), kind, profile)
    findings = answer["findings"]
    assert (answer["verdict"] == "accepted") == (not findings)
    for finding in findings:
        if finding["rule"] is not None:
            assert CODES[finding["rule"]] == finding["code"]
    return ["%s %s" % (finding["rule"], finding["pointer"]) for finding in findings]


def envelope(*events):
    return b"".join(to_bytes(event) + b"\n" for event in events)


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
SNAPSHOT = {"type": "MESSAGES_SNAPSHOT", "messages": [{}]}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def events(*lines):
    return found(envelope(*lines), kind="envelope")
