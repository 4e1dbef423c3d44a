#!/usr/bin/env python3
"""Projects a capture or, with --serve, the captures on standard input.

project.py CAPTURE --projection NAME [--snapshot WHICH] [--profile v1|assay]
        [--run RUN] [--started-at TIME [--finished-at TIME]]
    CAPTURE is a capture directory, or a file with a response, optionally with
    --framing sse|ndjson|json. RUN is the id of a run, or # and its number.
    Prints one line of JSON for each selected run, or one for the capture if no
    run has a result; exit status 0 all frozen, 1 any refused, 2 usage, 3 the
    capture cannot be read
project.py --serve
    reads a line of JSON and the bytes of the files that it names, writes one
    line of JSON, and repeats this until the end of the input; the section
    "Compare a projector" of docs/implementing.md describes both lines
"""

import argparse
import json
import os
import re
import sys

from p20 import PROFILES
from p20.run_input import MAX_REQUEST
from p20.capture import NoResult, Refused, choose, open_directory, open_file
from p20.frames import FRAMINGS
from p20.moments import Arrivals, instant
from p20.projection import FOLDED, PROJECTIONS, REDUCING, Response, Settings, refused

FROZEN, REFUSED, USAGE, UNREADABLE = 0, 1, 2, 3
_SELECTION = re.compile("only|first|last|[1-9][0-9]*")


def settings_of(wanted):
    """I1: returns one of the settings of a request; raises ValueError if it is malformed."""
    projection, profile = wanted["projection"], wanted["profile"]
    snapshot = wanted.get("snapshot", "only")
    if projection not in PROJECTIONS or profile not in PROFILES:
        raise ValueError("unknown projection or profile")
    if not _SELECTION.fullmatch(snapshot):
        raise ValueError("unknown selection")
    operator = None
    if wanted.get("started_at") is not None:
        operator = (wanted["started_at"], wanted.get("finished_at"))
        moments = [instant(text) for text in operator if text is not None]
        if None in moments or moments != sorted(moments):
            raise ValueError("bad operator times")
    return Settings(projection, snapshot, profile, operator)


def request_of(header):
    """Returns (framing, sizes of the files or None, instant or None, settings)."""
    wanted = json.loads(header)
    sizes = [wanted["bytes"], wanted.get("request"), wanted.get("arrivals")]
    for size in sizes:
        if size is not None and (type(size) is not int or size < 0):
            raise ValueError("bad size")
    if sizes[0] is None or wanted["framing"] not in FRAMINGS:
        raise ValueError("no response")
    started = None
    if sizes[2] is not None:
        started = instant(wanted["arrivals_from"])
        if started is None:
            raise ValueError("bad time")
    return wanted["framing"], sizes, started, [settings_of(one) for one in wanted["settings"]]


def answer_of(framing, files, started, settings):
    """Returns the response to one request."""
    data, request, arrivals = files
    if arrivals is not None:
        arrivals = Arrivals(arrivals, started)
    response = Response(data, framing, request, arrivals)
    too_large = request is not None and len(request) > MAX_REQUEST
    results = []
    for run in response.runs:
        results.append([
            refused(["file_too_large"]) if too_large and one.projection == FOLDED  # I3 step 2
            else response.project(run, one)
            for one in settings
        ])
    return {"runs": len(response.runs), "results": results}


def serve(source, target):
    """Responds to each request of the input and returns the exit status."""
    for header in iter(source.readline, b""):
        try:
            framing, sizes, started, settings = request_of(header)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            print("project.py: bad request line", file=sys.stderr)
            return USAGE
        files = [None if size is None else source.read(size) for size in sizes]
        if any(data is not None and len(data) != size for data, size in zip(files, sizes)):
            print("project.py: the input ends too early", file=sys.stderr)
            return UNREADABLE
        answer = answer_of(framing, files, started, settings)
        target.write(json.dumps(answer).encode("ascii") + b"\n")
        target.flush()
    return FROZEN


def ask(options, settings):
    """Returns the results for one capture, one for each run that has a result."""
    try:
        if os.path.isdir(options.capture):
            response, status = open_directory(options.capture, settings.projection)
        else:
            with open(options.capture, "rb") as file:
                response, status = open_file(file.read(), options.framing)
    except Refused as refusal:
        return [refused([refusal.code])]
    runs = choose(response, status, options.run, settings.operator)
    if not runs:
        return [refused(response.codes)]
    return [response.project(run, settings) for run in runs]


def parse(arguments):
    """Returns the options; argparse exits if they are wrong."""
    parser = argparse.ArgumentParser(description="Says what a projection makes of a capture.")
    parser.add_argument("--serve", action="store_true", help="answer requests from standard input")
    parser.add_argument("--projection", choices=PROJECTIONS)
    parser.add_argument("--snapshot", default="only", metavar="only|first|last|N")
    parser.add_argument("--profile", choices=PROFILES, default="v1")
    parser.add_argument("--run", default="", metavar="ID|#N", help="one run; all by default")
    parser.add_argument("--started-at", metavar="TIME")
    parser.add_argument("--finished-at", metavar="TIME")
    parser.add_argument("--framing", choices=FRAMINGS, help="of a response without a directory")
    parser.add_argument("capture", nargs="?", metavar="CAPTURE")
    options = parser.parse_args(arguments)
    if options.serve:
        if len(sys.argv if arguments is None else ["", *arguments]) != 2:
            parser.error("--serve stands alone")
        return options, None
    if not (options.capture and options.projection):
        parser.error("CAPTURE and --projection are needed")
    if options.snapshot != "only" and options.projection != REDUCING:
        parser.error("--snapshot needs the projection %s" % REDUCING)  # I1
    if options.finished_at and not options.started_at:
        parser.error("--finished-at needs --started-at")  # I1
    if options.framing and os.path.isdir(options.capture):
        parser.error("--framing is for files; the manifest states the framing of a directory")  # I6
    try:
        return options, settings_of(vars(options))
    except ValueError as error:
        return parser.error(str(error))


def main(arguments=None):
    """Runs the command and returns its exit status."""
    options, settings = parse(arguments)
    if settings is None:
        return serve(sys.stdin.buffer, sys.stdout.buffer)
    try:
        answers = ask(options, settings)
    except OSError as error:
        print("project.py: cannot read the capture: %s" % error.strerror, file=sys.stderr)
        return UNREADABLE
    except NoResult as reason:
        print("project.py: no result: %s" % reason, file=sys.stderr)
        return UNREADABLE
    for answer in answers:
        print(json.dumps(answer))
    return FROZEN if all(answer["outcome"] == "frozen" for answer in answers) else REFUSED


if __name__ == "__main__":
    sys.exit(main())
