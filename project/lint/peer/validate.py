"""Lets ag-ui-validate judge streams of AG-UI events.

It reads one request a line from standard input and answers each with one line. A request is
a JSON object:

    body    the bytes of the response, in base64
    status  the HTTP status, or null for a file
    type    the content type, or null for a file
    reads   the network reads, each as the number of bytes so far and the milliseconds since the
            request; empty for a file
    cut     whether the connection broke

The answer is an array of findings, each an object with the rule, the index of the event or -1,
the index of a related event or -1, the pointer and the message. A status other than 200 to 299
is answered with the one finding http_status, because the library raises an error about it and
has no rule.
"""

import asyncio
import base64
import json
import sys

from ag_ui_validate.transport import TransportError, TransportOptions, TransportResponseLike, validate_body, validate_endpoint


class Cut(Exception):
    """The connection broke."""


class Clock:
    """The time of the last read, in milliseconds."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


async def chunks(request, body, clock):
    start = 0
    for end, milliseconds in request["reads"] or [[len(body), 0]]:
        clock.now = milliseconds
        if end > start:
            yield body[start:end]
        start = end
    if request["cut"]:
        raise Cut


async def judge(request):
    body = base64.b64decode(request["body"], validate=True)
    clock = Clock()
    options = TransportOptions(now=clock, recorded=request["status"] is None)
    stream = chunks(request, body, clock)
    if request["status"] is None:
        return await validate_body(stream, None, options)

    async def fetch(url, **settings):
        return TransportResponseLike(request["status"], {"content-type": request["type"]}, stream)

    options.fetch_impl = fetch
    return await validate_endpoint("http://agent.invalid/", options)


def findings(request):
    try:
        report = asyncio.run(judge(request)).report
    except TransportError as e:
        if e.status is None:
            raise
        return [{"rule": "http_status", "event": -1, "pointer": "", "related": -1, "message": str(e)}]
    if report.internal_errors:
        raise RuntimeError(report.internal_errors[0])
    return [row(d) for d in report.diagnostics]


def row(d):
    related = -1 if d.related_event_index is None else d.related_event_index
    return {"rule": d.rule, "event": d.event_index, "related": related, "pointer": d.pointer or "", "message": d.message}


def main():
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(findings(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
