"""Builds runs for the tests of the projector, and projects them."""

import json

from p20.projection import REDUCING, Response, Settings

T0 = 1767225600000  # 2026-01-01T00:00:00Z
EXAMPLE = b"""\
{"type":"RUN_STARTED","threadId":"t1","runId":"r1","timestamp":1767225600000,"protocolVersion":"1.0"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","delta":"Hello."}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"Hi"}]},{"id":"m2","role":"assistant","content":"Hello.","toolCalls":[]}]}
{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","timestamp":1767225600250}
"""


def event(kind, **members):
    out = {"type": kind}
    out.update(members)
    return {key: value for key, value in out.items() if value is not ...}


def started(**members):
    return event("RUN_STARTED", **dict({"threadId": "t", "runId": "r", "timestamp": T0}, **members))


def finished(**members):
    return event("RUN_FINISHED", **members)


def failed(**members):
    return event("RUN_ERROR", **members)


def message(**members):
    out = dict({"id": "m", "role": "user", "content": "hi"}, **members)
    return {key: value for key, value in out.items() if value is not ...}


def snapshot(*messages, **members):
    return event("MESSAGES_SNAPSHOT", messages=list(messages), **members)


def lines(*events):
    return b"".join(
        (one if type(one) is bytes else json.dumps(one).encode()) + b"\n" for one in events
    )


def project(events, projection=REDUCING, request=None, arrivals=None, run=0, **settings):
    """Returns the result for one run of a capture."""
    data = events if type(events) is bytes else lines(*events)
    if request is not None and type(request) is not bytes:
        request = json.dumps(request).encode()
    response = Response(data, "ndjson", request, arrivals)
    return response.project(response.runs[run], Settings(projection, **settings))


def errors(events, projection=REDUCING, **more):
    answer = project(events, projection, **more)
    return " ".join(answer.get("errors", ["frozen"]))


def omitted(answer):
    """Returns the omissions, each as "place pointer reason" and its count."""
    out = []
    for one in answer["omissions"]:
        place = one.get("event_index", one.get("file", "-"))
        out.append("%s %s %s" % (place, one["pointer"], one["reason"]))
        if "count" in one:
            out[-1] += " %d" % one["count"]
    return out


def artifact(answer):
    return json.loads(answer["artifact"])


def ended(*middle, **more):
    """Returns a run with these events."""
    return project([started(), *middle, finished()], **more)
