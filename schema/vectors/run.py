#!/usr/bin/env python3
"""Tests a validator with the conformance vectors.

run.py --command 'CMD {kind} {profile} {file}' runs CMD once for each vector and
compares its output. run.py --server CMD starts CMD once for each of --jobs. A server
reads a header line {"kind": ..., "profile": ..., "bytes": N} and N bytes, writes one
line of JSON, and repeats this until the end of its input. Exit status: 0 all vectors
pass, 1 some fail, 2 usage (or a vector that cannot be read), 3 the command could not
be run or no vector is selected.
"""

import argparse
import base64
import concurrent.futures
import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

PASSED, FAILED, USAGE, NOT_RUN = 0, 1, 2, 3
VERDICTS = ("accepted", "malformed")
OUTPUT_LIMIT = 16 * 1024 * 1024  # bytes of a command's output that are read
CONTROL = "A1-object"  # a vector that every validator accepts
PAST_LIMIT = "findings_past_limit"  # the only finding of severity info that is compared
MAX_SHOWN = 3  # findings shown on each side of a failing vector


class BadVector(Exception):
    """A malformed vector file."""


# Vectors


def input_bytes(item):
    """Returns the bytes of an `input` or of one of its parts."""
    if "text" in item:
        data = item["text"].encode("utf-8")
    elif "base64" in item:
        data = base64.b64decode(item["base64"], validate=True)
    else:
        data = b"".join(input_bytes(part) for part in item["parts"])
    return data * item.get("times", 1)


def expected_findings(vector):
    """Returns the (code, pointer) pairs of a vector, repeated as `times` says."""
    pairs = []
    for finding in vector["findings"]:
        pairs += [(finding["code"], finding["pointer"])] * finding.get("times", 1)
    return pairs


def load_vector(name):
    """Reads and checks one vector file."""
    try:
        with open(name, encoding="utf-8") as file:
            vector = json.load(file)
        for key in ("name", "rule", "kind", "profile"):
            if not isinstance(vector[key], str):
                raise BadVector("%s: %s is not a string" % (name, key))
        if vector["outcome"] not in VERDICTS:
            raise BadVector("%s: unknown outcome" % name)
        input_bytes(vector["input"])
        expected_findings(vector)
        vector.get("canonical_digest")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadVector("%s: %s: %s" % (name, type(error).__name__, error)) from None
    return vector


def load_vectors(folder, rules, substring):
    """Returns the selected vectors below a folder, in the order of their paths.

    If no selected vector is accepted, CONTROL is added: a command that always fails
    must not pass.
    """
    vectors, control = [], None
    rules = [rule.upper() for rule in rules or ()]
    for where, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if not file.endswith(".json"):
                continue
            vector = load_vector(os.path.join(where, file))
            if vector["name"] == CONTROL:
                control = vector
            if rules and vector["rule"] not in rules:
                continue
            path = os.path.relpath(os.path.join(where, file), folder)
            if substring is None or substring in vector["name"] or substring in path:
                vectors.append(vector)
    if vectors and control and all(vector["outcome"] != VERDICTS[0] for vector in vectors):
        vectors.append(control)
    return vectors


# Running the command


def fill(words, values):
    """Returns the words of a command with {file}, {kind} and {profile} replaced."""
    filled = []
    for word in words:
        for key, value in values.items():
            word = word.replace("{%s}" % key, value)
        filled.append(word)
    return filled


def kill(process):
    """Kills the process group of a command."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass


def run_command(words, source, timeout):
    """Runs a command and returns (output, exit status, trouble or None).

    Raises OSError if the command cannot be started.
    """
    process = subprocess.Popen(
        words,
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    timed_out = threading.Event()

    def at_timeout():
        timed_out.set()
        kill(process)

    timer = threading.Timer(timeout, at_timeout)
    timer.start()
    try:
        output = process.stdout.read(OUTPUT_LIMIT + 1)
        if len(output) > OUTPUT_LIMIT:
            kill(process)
        status = process.wait()
    finally:
        timer.cancel()
        process.stdout.close()
    if timed_out.is_set():
        return output, status, "timeout after %g s" % timeout
    if len(output) > OUTPUT_LIMIT:
        return output, status, "more than %d bytes of output" % OUTPUT_LIMIT
    return output, status, None


class Servers:
    """The servers of one command, one for each thread."""

    def __init__(self, words, timeout):
        self.words = words
        self.timeout = timeout
        self.local = threading.local()
        self.all = []

    def validate(self, data, kind, profile):
        """Validates a file and returns (output, exit status or None, trouble or None).

        Raises OSError if the command cannot be started.
        """
        process = getattr(self.local, "process", None)
        if process is None:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.local.process = process
            self.all.append(process)
        timed_out = threading.Event()

        def at_timeout():
            timed_out.set()
            kill(process)

        timer = threading.Timer(self.timeout, at_timeout)
        timer.start()
        try:
            header = {"kind": kind, "profile": profile, "bytes": len(data)}
            process.stdin.write(json.dumps(header).encode("ascii") + b"\n" + data)
            process.stdin.flush()
            output = process.stdout.readline(OUTPUT_LIMIT + 1)
        except BrokenPipeError:
            output = b""
        finally:
            timer.cancel()
        if output.endswith(b"\n"):
            return output, None, None
        # This server cannot be used again; the next file starts another.
        self.local.process = None
        kill(process)
        if timed_out.is_set():
            return output, process.wait(), "timeout after %g s" % self.timeout
        if len(output) > OUTPUT_LIMIT:
            return output, process.wait(), "more than %d bytes of output" % OUTPUT_LIMIT
        return output, process.wait(), "the server ended"

    def close(self):
        """Kills the servers."""
        for process in self.all:
            kill(process)
            process.wait()
            process.stdout.close()
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass


def last_answer(output):
    """Returns the last line that is a JSON object with a string `verdict`, or None."""
    for line in reversed(output.split(b"\n")):
        line = line.strip()
        if not line.startswith(b"{"):
            continue
        try:
            answer = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            continue
        if isinstance(answer, dict) and isinstance(answer.get("verdict"), str):
            return answer
    return None


def parse_answer(output, status):
    """Returns the answer of a command, or its exit status as an answer if it printed none."""
    answer = last_answer(output)
    if answer is None and status in (0, 1):
        answer = {"verdict": VERDICTS[status]}
    return answer


# Comparing


def actual_findings(answer):
    """Returns the (code, pointer) pairs of an answer, or None if it has no list of findings."""
    findings = answer.get("findings")
    if findings is None:
        return []
    if not isinstance(findings, list):
        return None
    pairs = []
    for finding in findings:
        if not isinstance(finding, dict):
            return None
        if finding.get("severity") == "info" and finding.get("code") != PAST_LIMIT:
            continue
        pair = (finding.get("code"), finding.get("pointer", ""))
        if not all(isinstance(text, str) for text in pair):
            return None
        pairs.append(pair)
    return pairs


def show(pairs):
    """Returns a short text of a list of findings."""
    shown = ["%s at %s" % (code, json.dumps(pointer[:80])) for code, pointer in pairs[:MAX_SHOWN]]
    if len(pairs) > MAX_SHOWN:
        shown.append("%d in all" % len(pairs))
    return "[%s]" % ", ".join(shown)


def compare(vector, data, answer, level):
    """Returns None if the answer is right, otherwise (expected, actual)."""
    if answer["verdict"] not in VERDICTS:
        return vector["outcome"], "no verdict: %r" % answer["verdict"][:80]
    if answer["verdict"] != vector["outcome"]:
        return vector["outcome"], answer["verdict"]
    digest = vector.get("canonical_digest")
    canonical = digest == "sha256:" + hashlib.sha256(data).hexdigest()
    if answer.get("canonical") is not None and answer["canonical"] is not canonical:
        return "canonical %s" % canonical, "canonical %r" % (answer["canonical"],)
    theirs = answer.get("canonical_digest")
    if digest is not None and theirs is not None and theirs != digest:
        return "canonical_digest %s" % digest, "canonical_digest %r" % (theirs,)
    if level == "findings":
        return compare_findings(expected_findings(vector), actual_findings(answer))
    return None


def compare_findings(expected, actual):
    """Does the same for the ordered list of findings."""
    if actual is None:
        return "findings %s" % show(expected), "no list of findings"
    if actual == expected:
        return None
    first = 0
    while first < min(len(actual), len(expected)) and actual[first] == expected[first]:
        first += 1
    return "findings from number %d on %s" % (first + 1, show(expected[first:])), "findings %s" % show(actual[first:])


def check_vector(vector, words, servers, level, timeout):
    """Tests the command with one vector and returns None or the failure."""
    data = input_bytes(vector["input"])
    if servers:
        output, status, trouble = servers.validate(data, vector["kind"], vector["profile"])
    else:
        output, status, trouble = run_file(vector, data, words, timeout)
    if trouble is None:
        answer = parse_answer(output, status)
        if answer is None:
            trouble = "no verdict" if servers else "no verdict, exit status %d" % status
    if trouble is not None:
        difference = (vector["outcome"], trouble)
    else:
        difference = compare(vector, data, answer, level)
    if difference is None:
        return None
    expected, actual = difference
    return {"name": vector["name"], "rule": vector["rule"], "expected": expected, "came": actual}


def run_file(vector, data, words, timeout):
    """Runs the command on a file with these bytes; see run_command."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "input")
        with open(name, "wb") as file:
            file.write(data)
        values = {"kind": vector["kind"], "profile": vector["profile"], "file": name}
        has_file = any("{file}" in word for word in words)
        with open(os.devnull if has_file else name, "rb") as source:
            return run_command(fill(words, values), source, timeout)


def run_all(vectors, words, options):
    """Returns the failures of all vectors, in order."""
    servers = Servers(words, options.timeout) if options.server else None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [
            pool.submit(check_vector, vector, words, servers, options.level, options.timeout)
            for vector in vectors
        ]
        try:
            results = [run.result() for run in runs]
        except OSError:
            for run in runs:
                run.cancel()
            raise
        finally:
            if servers:
                servers.close()
    return [failure for failure in results if failure is not None]


def print_result(failures, total, form):
    """Prints a line for each failing vector and a summary, or one JSON object."""
    passed = total - len(failures)
    if form == "json":
        print(json.dumps({"passed": passed, "failed": len(failures), "failures": failures}))
        return
    for failure in failures:
        print("FAIL %(name)s (%(rule)s): expected %(expected)s; got %(came)s" % failure)
    print("%d vectors, %d passed, %d failed" % (total, passed, len(failures)))


# The command line


def positive(kind):
    """Returns an argument type for numbers of this kind above zero."""

    def read(text):
        number = kind(text)
        if not 0 < number < 1000000:
            raise ValueError(text)
        return number

    read.__name__ = "positive " + kind.__name__
    return read


def parse(arguments):
    """Returns the options and the words of the command."""
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Tests a validator with the conformance vectors.")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--command", metavar="CMD",
                     help="command to run for each vector; {file}, {kind} and {profile} are replaced")
    how.add_argument("--server", metavar="CMD",
                     help="server to start once for each of --jobs; it reads files from standard input")
    parser.add_argument("--level", choices=("verdict", "findings"), default="findings")
    parser.add_argument("--rule", action="append", help="select vectors of this rule; may be repeated")
    parser.add_argument("--name", metavar="SUBSTRING",
                        help="select vectors whose name, or path below DIR, contains this")
    parser.add_argument("--vectors", metavar="DIR", default=os.path.join(here, "cases"),
                        help="folder of the vectors (default: cases, next to this file)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--jobs", type=positive(int), default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--timeout", type=positive(float), default=60.0, metavar="SECONDS")
    options = parser.parse_args(arguments)
    try:
        words = shlex.split(options.command if options.server is None else options.server)
    except ValueError as error:
        parser.error("cannot parse the command: %s" % error)
    if not words:
        parser.error("the command is empty")
    return options, words


def main(arguments=None):
    """Runs the command and returns its exit status."""
    options, words = parse(arguments)
    try:
        vectors = load_vectors(options.vectors, options.rule, options.name)
    except BadVector as error:
        print("run.py: malformed vector: %s" % error, file=sys.stderr)
        return USAGE
    if not vectors:
        print("run.py: no vector is selected", file=sys.stderr)
        return NOT_RUN
    try:
        failures = run_all(vectors, words, options)
    except OSError as error:
        print("run.py: cannot run %s: %s" % (words[0], error.strerror), file=sys.stderr)
        return NOT_RUN
    print_result(failures, len(vectors), options.format)
    return FAILED if failures else PASSED


if __name__ == "__main__":
    sys.exit(main())
