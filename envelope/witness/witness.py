#!/usr/bin/env python3
"""Judges streams of AG-UI events by the text of the specification.

witness.py --protocol 1.0|1.1|draft FILE|-
    reads one event of JSON text a line, prints one line of JSON; exit status 0 if a conforming
    consumer accepts the stream, 1 if it rejects it, 2 usage, 3 the file cannot be read
witness.py --serve
    reads one stream a line, {"protocol": ..., "events": [TEXT, ...]} with the JSON text of each
    event as a string, and prints one line for each until the end of the input

The row has five members. "reject" is null or the first event that a conforming consumer rejects:
its index, the page of the rule, a short code and the reason; an index equal to the number of
events is the end of the stream. "stripped" lists what a consumer removes: the index of the event,
a JSON Pointer into it and whether that is an event, a property, a value or an element. "producer"
lists each rule that binds only the producer and is broken. "open" lists the events on which the
text leaves a choice (docs/peers.md). "truncated" says that the stream ends without a terminal
event. The judgement ends at the first rejection.

It shares no code with the program. It was written from the pages and the schema of the
specification by somebody who had not read the program's rules.
"""

import argparse
import json
import sys

from duties import Duties
from enforce import enforce
from expand import Expander
from questions import Questions
from reading import PROTOCOLS, Rejected, read
from shapes import EVENTS
from verify import Verifier

ACCEPTED, REJECTED, USAGE, UNREADABLE = 0, 1, 2, 3


def judge(lines, protocol):
    """Returns the row of a stream, given the JSON text of each event."""
    verifier = Verifier(protocol)
    questions = Questions(verifier)
    expander, duties = Expander(verifier.owner_of, questions.lane), Duties(protocol, verifier)
    stripped, producer, doubts, index = [], [], [], 0

    def broke(rules):
        producer.extend({"event": index, "page": page, "code": code} for page, code in rules)

    def row(reject):
        return {"reject": reject, "stripped": stripped, "producer": producer, "open": doubts,
                "truncated": reject is None and verifier.truncated()}

    try:
        for index, line in enumerate(lines):
            event = read(line)
            doubts.extend({"event": index, "question": name} for name in questions.received(event))
            kept, removed = enforce(EVENTS[protocol], event)
            stripped.extend({"event": index, "at": place, "what": what} for place, what in removed)
            broke(duties.received(event, removed))
            for part in expander.expand(kept) if kept is not None else ():
                broke(duties.expanded(part))
                doubts.extend({"event": index, "question": name} for name in questions.expanded(part))
                verifier.check(part)
        index = len(lines)
        verifier.end()
    except Rejected as error:
        doubts.extend({"event": index, "question": name} for name in questions.lasting())
        producer[:] = [rule for rule in producer if rule["event"] < index]
        return row({"event": index, "page": error.page, "code": error.code, "reason": error.reason})
    return row(None)


def serve(source, target):
    """Judges each stream of the input and returns the exit status."""
    for line in source:
        try:
            wanted = json.loads(line)
            protocol, lines = wanted["protocol"], wanted["events"]
            known = protocol in PROTOCOLS and isinstance(lines, list) and all(isinstance(text, str) for text in lines)
        except (ValueError, TypeError, KeyError, RecursionError):
            known = False
        if not known:
            print("witness.py: a line is not a stream", file=sys.stderr)
            return USAGE
        target.write(json.dumps(judge(lines, protocol)) + "\n")
        target.flush()
    return ACCEPTED


def main(arguments=None):
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description="Judges streams of AG-UI events by the text of the specification.")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="1.1", help="the version to judge by (default: 1.1)")
    parser.add_argument("--serve", action="store_true", help="judge streams from standard input, one a line")
    parser.add_argument("file", nargs="?", metavar="FILE", help="one event a line, - for standard input")
    options = parser.parse_args(arguments)
    if options.serve == (options.file is not None):
        parser.error("give a file or --serve")
    if options.serve:
        return serve(sys.stdin, sys.stdout)
    try:
        if options.file == "-":
            text = sys.stdin.read()
        else:
            with open(options.file, encoding="utf-8") as file:
                text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"witness.py: {options.file}: {error}", file=sys.stderr)
        return UNREADABLE
    result = judge([line for line in text.split("\n") if line.strip()], options.protocol)
    print(json.dumps(result))
    return REJECTED if result["reject"] else ACCEPTED


if __name__ == "__main__":
    sys.exit(main())
