#!/usr/bin/env python3
"""Validates one file or, with --serve, the files on standard input.

validate.py --kind artifact|envelope --profile v1|assay FILE|-
    prints one line of JSON; exit status 0 accepted, 1 malformed,
    2 usage, 3 the file cannot be read
validate.py --serve
    reads a header line {"kind": ..., "profile": ..., "bytes": N} and N bytes,
    writes one line of JSON, and repeats this until the end of the input
"""

import argparse
import json
import sys

from p20 import KINDS, PROFILES, validate
from p20.artifact import MAX_BYTES

ACCEPTED, MALFORMED, USAGE, UNREADABLE = 0, 1, 2, 3


def read_file(name, kind):
    """Returns the bytes of a file; for an artifact, no more than T1 needs."""
    limit = MAX_BYTES + 1 if kind == "artifact" else -1
    if name == "-":
        return sys.stdin.buffer.read(limit)
    with open(name, "rb") as file:
        return file.read(limit)


def serve(source, target):
    """Validates each file of the input and returns the exit status."""
    for header in iter(source.readline, b""):
        try:
            wanted = json.loads(header)
            kind, profile, size = wanted["kind"], wanted["profile"], wanted["bytes"]
            known = kind in KINDS and profile in PROFILES and type(size) is int and size >= 0
        except (ValueError, TypeError, KeyError, RecursionError):
            known = False
        if not known:
            print("validate.py: bad header line", file=sys.stderr)
            return USAGE
        data = source.read(size)
        if len(data) != size:
            print("validate.py: the input ends too early", file=sys.stderr)
            return UNREADABLE
        answer = validate(data, kind, profile)
        target.write(json.dumps(answer).encode("ascii") + b"\n")
        target.flush()
    return ACCEPTED


def main(arguments=None):
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description="Judges one file by the v1 contract.")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--profile", choices=PROFILES)
    parser.add_argument("--serve", action="store_true", help="validate files from standard input")
    parser.add_argument("file", nargs="?", metavar="FILE", help="the file, - for standard input")
    options = parser.parse_args(arguments)
    if options.serve:
        if options.kind or options.profile or options.file:
            parser.error("--serve stands alone")
        return serve(sys.stdin.buffer, sys.stdout.buffer)
    if not (options.kind and options.profile and options.file):
        parser.error("--kind, --profile and FILE are needed")
    try:
        data = read_file(options.file, options.kind)
    except OSError as error:
        print("validate.py: cannot read the file: %s" % error.strerror, file=sys.stderr)
        return UNREADABLE
    answer = validate(data, options.kind, options.profile)
    print(json.dumps(answer))
    return ACCEPTED if answer["verdict"] == "accepted" else MALFORMED


if __name__ == "__main__":
    sys.exit(main())
