"""Tests the runner with small vectors and commands."""

import base64
import contextlib
import hashlib
import io
import json
import os
import shlex
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402

GOOD = b"[1]"
DIGEST = "sha256:" + hashlib.sha256(GOOD).hexdigest()


def vector(name, **changes):
    base = {
        "name": name, "rule": "A1", "kind": "artifact", "profile": "v1", "about": "a test",
        "input": {"text": "x"}, "outcome": "malformed",
        "findings": [{"code": "bad", "pointer": ""}],
    }
    base.update(changes)
    return base


ACCEPTED = vector("good", rule="C1", input={"text": "[1]"}, outcome="accepted", findings=[],
                  canonical_digest=DIGEST)
MALFORMED = vector("bad")

# A validator that is right about the two vectors above.
CORRECT = """
import json, sys
data = open(sys.argv[1], "rb").read()
if data == b"[1]":
    print(json.dumps({"verdict": "accepted", "canonical": True, "findings": []}))
else:
    print("a word before", flush=True)
    print(json.dumps({"verdict": "malformed", "findings": [{"code": "bad", "more": 1}]}))
"""


def python(script, *words):
    """Returns a command line that runs a Python script."""
    return shlex.join([sys.executable, "-c", script, *words])


class Runner(unittest.TestCase):
    def runner(self, command, *more, vectors=(ACCEPTED, MALFORMED), how="--command"):
        """Runs the runner and returns (exit status, standard output)."""
        with tempfile.TemporaryDirectory(suffix="-oo") as folder:  # no part of what --name selects
            os.mkdir(os.path.join(folder, "section"))
            for number, item in enumerate(vectors):
                name = os.path.join(folder, "section", "%d.json" % number)
                with open(name, "w", encoding="utf-8") as file:
                    file.write(item if isinstance(item, str) else json.dumps(item))
            words = [how, command, "--vectors", folder, *more]
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
                try:
                    status = run.main(words)
                except SystemExit as end:
                    status = end.code
        return status, output.getvalue()

    def answer(self, answer, item=ACCEPTED, *more):
        """Returns the exit status for a command that prints this answer for this vector."""
        return self.runner(python("print(%r)" % json.dumps(answer)), *more, vectors=[item])[0]

    def test_passing(self):
        status, output = self.runner(python(CORRECT, "{file}"))
        self.assertEqual((status, output), (0, "2 vectors, 2 passed, 0 failed\n"))

    def test_server(self):
        """One server reads all files. A server that ends or hangs fails only its current file."""
        script = """
import json, sys, time
count = 0
for header in iter(sys.stdin.buffer.readline, b""):
    data = sys.stdin.buffer.read(json.loads(header)["bytes"])
    count += 1
    if data == b"die":
        sys.exit(0)
    if data == b"hang":
        time.sleep(1000)
    good = data == b"[1]"
    print(json.dumps({"verdict": "accepted" if good else "malformed",
                      "findings": [] if good else [{"code": "bad", "pointer": "/%d" % count}]}), flush=True)
"""
        def numbered(number, text="x"):
            return vector("v%d" % number, input={"text": text},
                          findings=[{"code": "bad", "pointer": "/%d" % number}])

        passing = [ACCEPTED, numbered(2), numbered(3)]
        one = ("--jobs", "1")
        status, output = self.runner(python(script), *one, vectors=passing, how="--server")
        self.assertEqual((status, output), (0, "3 vectors, 3 passed, 0 failed\n"))
        for text, trouble in (("die", "the server ended"), ("hang", "timeout after 2 s")):
            vectors = [numbered(1), numbered(2, text), numbered(1)]
            status, output = self.runner(python(script), *one, "--timeout", "2", vectors=vectors, how="--server")
            self.assertEqual(status, 1)
            self.assertIn("FAIL v2 (A1): expected malformed; got %s\n" % trouble, output)
            self.assertIn("3 vectors, 2 passed, 1 failed\n", output)
        self.assertEqual(self.runner("/nowhere/at/all", how="--server")[0], 3)
        self.assertEqual(self.runner("x", "--server", "y")[0], 2)

    def test_failing(self):
        status, output = self.runner(python("print('{\"verdict\": \"accepted\"}')"))
        self.assertEqual(status, 1)
        self.assertEqual(output, "FAIL bad (A1): expected malformed; got accepted\n"
                                 "2 vectors, 1 passed, 1 failed\n")

    def test_json(self):
        status, output = self.runner(python("print('{\"verdict\": \"accepted\"}')"), "--format", "json")
        result = json.loads(output)
        self.assertEqual((status, result["passed"], result["failed"]), (1, 1, 1))
        self.assertEqual(result["failures"][0]["name"], "bad")

    def test_crash(self):
        status, output = self.runner(python("import os; os.abort()"))
        self.assertEqual(status, 1)
        self.assertEqual(output.count("no verdict, exit status"), 2)

    def test_timeout(self):
        start = time.monotonic()
        status, output = self.runner(python("import time; time.sleep(60)"), "--timeout", "0.5", "--jobs", "2")
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual((status, output.count("timeout after 0.5 s")), (1, 2))

    def test_timeout_of_a_child(self):
        child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
        start = time.monotonic()
        status, output = self.runner(python(child), "--timeout", "1", vectors=[ACCEPTED])
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(status, 1)

    def test_garbage(self):
        script = ("import sys; sys.stdout.buffer.write(b'\\xff\\x00{\\n{\"verdict\": 1}\\n[1]\\n"
                  "{\"verdict\"\\n' + b'[' * 100000); sys.exit(4)")
        status, output = self.runner(python(script))
        self.assertEqual((status, output.count("no verdict, exit status 4")), (1, 2))
        self.assertEqual(self.answer({"verdict": "maybe"}), 1)

    def test_endless_output(self):
        script = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
        status, output = self.runner(python(script), vectors=[ACCEPTED])
        self.assertEqual((status, "bytes of output" in output), (1, True))

    def test_exit_status_alone(self):
        script = "import sys; sys.exit(sys.stdin.read() != '[1]')"
        self.assertEqual(self.runner(python(script), "--level", "verdict")[0], 0)
        status, output = self.runner(python(script))
        self.assertEqual(status, 1)
        self.assertIn('findings from number 1 on [bad at ""]; got findings []', output)

    def test_last_line_counts(self):
        script = "print('{\"verdict\": \"malformed\"}'); print('{\"verdict\": \"accepted\"}'); print('{}')"
        self.assertEqual(self.runner(python(script), vectors=[ACCEPTED])[0], 0)

    def test_canonical(self):
        self.assertEqual(self.answer({"verdict": "accepted", "canonical": False}), 1)
        self.assertEqual(self.answer({"verdict": "accepted", "canonical": 1}), 1)
        self.assertEqual(self.answer({"verdict": "accepted", "canonical": None}), 0)
        self.assertEqual(self.answer({"verdict": "accepted", "canonical_digest": DIGEST}), 0)
        self.assertEqual(self.answer({"verdict": "accepted", "canonical_digest": "sha256:0"}), 1)
        other = dict(ACCEPTED, input={"text": "[1] "})
        self.assertEqual(self.answer({"verdict": "accepted", "canonical": False}, other), 0)
        self.assertEqual(self.answer({"verdict": "accepted", "canonical": True}, other), 1)

    def test_findings(self):
        item = vector("two", findings=[{"code": "a", "pointer": "/x"}, {"code": "b", "pointer": "", "times": 2}])
        a, b = {"code": "a", "pointer": "/x", "rule": "A3"}, {"code": "b"}
        for findings, status in (([a, b, b], 0), ([a, b], 1), ([b, a, b], 1), ([a, b, b, b], 1), (None, 1),
                                 ({}, 1), ([a, 1, b], 1), ([a, {"code": 1}, b], 1)):
            self.assertEqual(self.answer({"verdict": "malformed", "findings": findings}, item), status, findings)
        self.assertEqual(self.answer({"verdict": "malformed"}, item, "--level", "verdict"), 0)

    def test_input(self):
        parts = {"parts": [{"text": "\u00e9", "times": 2}, {"base64": "/w=="}, {"parts": [{"text": "a"}], "times": 3}]}
        self.assertEqual(run.input_bytes(parts), b"\xc3\xa9\xc3\xa9\xffaaa")
        self.assertEqual(run.input_bytes({"text": "a", "times": 0}), b"")
        script = "import sys, base64; sys.exit(base64.b64encode(open(sys.argv[1],'rb').read()).decode() != sys.argv[2])"
        wanted = base64.b64encode(run.input_bytes(parts)).decode()
        item = vector("parts", input=parts, outcome="accepted", findings=[])
        self.assertEqual(self.runner(python(script, "{file}", wanted), vectors=[item])[0], 0)

    def test_words(self):
        script = "import sys; sys.exit(sys.argv[1:] != ['--kind=artifact', 'v1', '$HOME;', '{x}'])"
        self.assertEqual(self.runner(python(script, "--kind={kind}", "{profile}", "$HOME;", "{x}"),
                                    vectors=[ACCEPTED])[0], 0)

    def test_selection(self):
        command = python(CORRECT, "{file}")
        self.assertEqual(self.runner(command, "--rule", "C1"), (0, "1 vectors, 1 passed, 0 failed\n"))
        self.assertEqual(self.runner(command, "--name", "oo"), (0, "1 vectors, 1 passed, 0 failed\n"))
        self.assertEqual(self.runner(command, "--rule", "C"), (3, ""))
        self.assertEqual(self.runner(command, vectors=[])[0], 3)

    def test_not_run(self):
        self.assertEqual(self.runner("no-such-command-anywhere {file}"), (3, ""))

    def test_usage(self):
        for command, more in (("", ()), ("'", ()), ("true", ("--level", "x")), ("true", ("--jobs", "0")),
                              ("true", ("--timeout", "nan"))):
            self.assertEqual(self.runner(command, *more)[0], 2)

    def test_bad_vector(self):
        for bad in ("{", "[]", dict(ACCEPTED, outcome="maybe"), dict(ACCEPTED, input={}), dict(ACCEPTED, input=1),
                    dict(ACCEPTED, input={"base64": "?"}), dict(ACCEPTED, findings=[{}]), dict(ACCEPTED, kind=1),
                    dict(ACCEPTED, input={"text": "\ud800"})):
            self.assertEqual(self.runner("true", vectors=[bad])[0], 2, bad)

    def test_reference(self):
        """The reference is tested like any other command."""
        command = shlex.join([sys.executable, os.path.join(HERE, "reference", "validate.py")])
        item = vector("t3", findings=[{"code": "not_an_object", "pointer": ""}, {"code": "json_syntax", "pointer": "/0"}],
                      input={"text": "["})
        self.assertEqual(self.runner(command + " --kind {kind} --profile {profile} {file}", vectors=[item])[0], 0)
        self.assertEqual(self.runner(command + " --kind {kind} --profile {profile} -", vectors=[item])[0], 0)


if __name__ == "__main__":
    unittest.main()
