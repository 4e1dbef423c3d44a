"""Tests project.py, and section 2 of docs/projections.md."""

import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout

from p20 import frames as framing
from p20.projection import FOLDED, REDUCING, STRICT, Response, Settings
from project import main, serve
from sample_runs import EXAMPLE, T0, event, failed, finished, lines, message, snapshot, started

HERE = os.path.dirname(os.path.abspath(__file__))


class Command(unittest.TestCase):
    """Section 2, and project.py."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, data):
        with open(os.path.join(self.folder.name, name), "wb") as file:
            file.write(data)

    def capture(self, contents, framing="ndjson", source=(), **members):
        """Writes a capture directory; `members` change its manifest."""
        listed = {}
        for name, data in contents.items():
            self.write(name, data)
            listed[name] = {"bytes": len(data), "digest": "sha256:" + hashlib.sha256(data).hexdigest()}
        manifest = {
            "schema": "p20export.capture.v1", "source": dict({"kind": "http"}, **dict(source)), "framing": framing,
            "started_at": "2026-01-01T00:00:00.000000Z", "ended_at": "2026-01-01T00:00:01.000000Z", "end": "eof",
            "files": listed, "tool": {"name": "x", "version": "1"},
        }
        manifest.update(members)
        self.write("capture.json", json.dumps(manifest).encode())

    def ask(self, *words, projection=REDUCING, path=None):
        output = io.StringIO()
        with redirect_stdout(output), redirect_stderr(io.StringIO()):
            try:
                status = main([path or self.folder.name, "--projection", projection, *words])
            except SystemExit as stop:
                status = stop.code
        answers = [json.loads(line) for line in output.getvalue().splitlines()]
        return status, [" ".join(answer.get("errors", ["frozen"])) for answer in answers]

    def codes(self, *words, **more):
        return self.ask(*words, **more)[1]

    def test_good(self):
        self.capture({"response.ndjson": EXAMPLE})
        self.assertEqual(self.ask(), (0, ["frozen"]))
        self.assertEqual(self.ask(projection=STRICT), (1, ["content_not_text key_outside_subset"]))

    def test_opening(self):
        self.assertEqual(self.codes(), ["capture_unfinished"])
        self.capture({"response.ndjson": EXAMPLE, "request.json": b"{}"})
        os.remove(os.path.join(self.folder.name, "request.json"))
        self.assertEqual(self.codes(), ["capture_file_missing"])
        os.symlink("capture.json", os.path.join(self.folder.name, "request.json"))
        self.assertEqual(self.codes(), ["capture_file_link"])
        self.capture({"response.ndjson": EXAMPLE})
        self.write("response.ndjson", EXAMPLE + b" ")
        self.assertEqual(self.codes(), ["capture_digest_mismatch"])
        os.remove(os.path.join(self.folder.name, "capture.json"))
        os.mkdir(os.path.join(self.folder.name, "capture.json"))
        self.assertEqual(self.codes(), ["capture_file_missing"])

    def test_manifest(self):
        for members in ({"schema": "x"}, {"framing": "sse"}, {"end": None}, {"x": 1}, {"labels": {"a": 1}},
                        {"labels": {"a": "\ud800"}}, {"ended_at": "2025-01-01T00:00:00.000000Z"}, {"files": {}},
                        {"ended_at": "2026-01-01T00:00:01Z"}, {"tool": {"name": "", "version": "1"}},
                        {"started_at": "2026-02-30T00:00:00.000000Z"}, {"source": {"kind": "x"}},
                        {"source": {"kind": "http", "status": 1000}}, {"source": {"kind": "http", "status": 2.0}}):
            self.capture({"response.ndjson": EXAMPLE}, **members)
            self.assertEqual(self.codes(), ["capture_manifest_malformed"], members)
        for data in (b"", b"[]", b'{"a":1,"a":1}', b" " * 1048577):
            self.write("capture.json", data)
            self.assertEqual(self.codes(), ["capture_manifest_malformed"])

    def test_opaque(self):
        for coding in ("", "br"):
            self.capture({"response.opaque": EXAMPLE}, framing="opaque", end="storage", source={"headers": {"content-encoding": coding}})
            self.assertEqual(self.codes(), ["framing_opaque"])
        self.capture({"response.ndjson": EXAMPLE}, framing="opaque")
        self.assertEqual(self.codes(), ["capture_manifest_malformed"])

    def test_coding(self):
        packed = gzip.compress(EXAMPLE[:100]) + gzip.compress(EXAMPLE[100:])

        def coded(data, coding="gzip"):
            self.capture({"response.ndjson": data}, source={"headers": {"content-encoding": coding}})
            return self.codes()

        for coding in ("gzip", " X-GZip\t"):
            self.assertEqual(coded(packed, coding), ["frozen"])
        self.assertEqual(coded(EXAMPLE, "Identity"), ["frozen"])
        self.assertEqual(coded(b""), ["no_run"])
        self.assertEqual(coded(packed, "br"), ["content_coding_unsupported"])
        for bad in (packed[:-1], packed + b"\0", b"x" + packed, EXAMPLE):
            self.assertEqual(coded(bad), ["content_coding_damaged"])
        self.assertEqual(coded(b"x", "zstd"), [])
        self.assertEqual(self.ask()[0], 3)

    def test_status(self):
        for status, data, code in ((500, b"", "http_status"), (200, b"", "array_malformed no_run"),
                                   (500, b"[,]", "array_malformed http_status")):
            self.capture({"response.json": data}, framing="json", source={"status": status})
            self.assertEqual(self.codes(), [code])
        self.capture({"response.ndjson": EXAMPLE}, source={"status": 404})
        self.assertEqual(self.codes(), ["frozen"])

    def test_choice(self):
        self.capture({"response.ndjson": EXAMPLE + EXAMPLE.replace(b'"r1"', b'"r2"') + EXAMPLE})
        self.assertEqual(self.codes(), ["frozen"] * 3)
        for choice, wanted in (("#1", "frozen"), ("r2", "frozen"), ("r1", "run_ambiguous"), ("#4", "run_not_found"),
                               ("#01", "run_not_found"), ("x", "run_not_found"), ("2", "run_not_found")):
            self.assertEqual(self.codes("--run", choice), [wanted], choice)
        times = ("--started-at", "2026-01-01T00:00:00Z")
        self.assertEqual(self.codes(*times), ["operator_times_need_run"] * 3)
        self.assertEqual(self.codes("--run", "r2", *times), ["frozen"])

    def test_arrivals(self):
        data = EXAMPLE.replace(b"timestamp", b"time")
        first = "2026-01-01T00:00:00.000005Z"
        arrivals = b"300\t5\n%d\t6\n" % len(data)
        self.capture({"response.ndjson": data, "arrivals.tsv": arrivals}, first_byte_at=first)
        self.assertEqual(self.codes(), ["frozen"])
        self.capture({"response.ndjson": data, "arrivals.tsv": arrivals})
        self.assertEqual(self.codes(), ["arrivals_malformed started_at_missing"])

    def test_request(self):
        data = lines(started(), finished())
        request = json.dumps({"messages": [message()]}).encode()
        self.capture({"response.ndjson": data, "request.json": request})
        self.assertEqual(self.codes(projection=FOLDED), ["frozen"])

    def test_usage(self):
        self.capture({"response.ndjson": EXAMPLE})
        for words in (("--snapshot", "0"), ("--profile", "x"), ("--finished-at", "2026-01-01T00:00:00Z"),
                      ("--started-at", "x"), ("--framing", "sse"), ("--serve",)):
            self.assertEqual(self.ask(*words)[0], 2, words)
        self.assertEqual(self.ask("--snapshot", "last", projection=STRICT)[0], 2)

    def test_file(self):
        self.write("f", EXAMPLE)
        name = os.path.join(self.folder.name, "f")
        self.assertEqual(self.codes(path=name), ["frozen"])
        self.assertEqual(self.codes("--framing", "sse", path=name), ["no_run"])
        self.assertEqual(self.ask(path=name + "x")[0], 3)

    def test_serve(self):
        data = EXAMPLE.replace(b"timestamp", b"time")
        request, arrivals = b'{"messages":[]}', b"%d\t7\n" % len(data)
        header = {"framing": "ndjson", "bytes": len(data), "request": len(request), "arrivals": len(arrivals),
                  "arrivals_from": "2026-01-01T00:00:00.000000Z", "settings": [
                      {"projection": name, "snapshot": "only", "profile": "v1"} for name in (REDUCING, FOLDED)]}
        empty = {"framing": "json", "bytes": 0, "settings": header["settings"]}
        source = b"".join((json.dumps(header).encode() + b"\n", data, request, arrivals, json.dumps(empty).encode(), b"\n"))
        command = [sys.executable, os.path.join(HERE, "project.py"), "--serve"]
        done = subprocess.run(command, input=source, capture_output=True, timeout=60)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual((done.returncode, done.stderr, len(answers)), (0, b"", 2))
        self.assertEqual([(one["outcome"], one.get("times")) for one in answers[0]["results"][0]],
                         [("frozen", "arrival"), ("refused", None)])
        self.assertEqual(answers[1], {"runs": 0, "results": []})
        for bad in (b"x\n", b"[]\n", b"{}\n", b'{"framing":"x","bytes":0,"settings":[]}\n',
                    json.dumps(dict(empty, settings=[{"projection": REDUCING, "snapshot": "+1", "profile": "v1"}])).encode()):
            with redirect_stderr(io.StringIO()):
                self.assertEqual(serve(io.BytesIO(bad), io.BytesIO()), 2)
        with redirect_stderr(io.StringIO()):
            self.assertEqual(serve(io.BytesIO(json.dumps(dict(empty, bytes=5)).encode() + b"\nx"), io.BytesIO()), 3)

    def test_never_an_exception(self):
        rnd = random.Random(11)
        rows = [started(input={"messages": [message()]}), event("TEXT_MESSAGE_START", messageId="a", role="user", name="n"),
                event("TEXT_MESSAGE_CONTENT", messageId="a", delta="x\ud83d"), event("TEXT_MESSAGE_END", messageId="a"),
                event("TEXT_MESSAGE_CHUNK", messageId="b", subagentRunId="A", delta="\ude00"),
                event("TEXT_MESSAGE_CHUNK", delta="q"), snapshot(message(), message(content=[{"type": "text", "text": "x"}])),
                failed(message="boom\nx", code="c", timestamp=T0)]
        parts = [b"null", b"1", b'"\\ud800"', b"{}", b"[]", b'"', b"\n", b"[", b"true", b'"a"', b"\xff", b'{"type":"text"}']
        for _ in range(1500):
            data = bytearray(lines(*[row for row in rows if rnd.random() < 0.8]))
            for _ in range(rnd.randrange(0, 4)):
                at = rnd.randrange(len(data) + 1)
                start = data.find(b": ", at) + 2
                stop = min([data.find(mark, start) % (len(data) + 1) for mark in (b",", b"}")])
                data[start:stop] = rnd.choice(parts)
            for name in framing.FRAMINGS:
                for head in (b"", b"[", b"data: "):
                    response = Response(head + bytes(data), name, bytes(data[:50]))
                    for run in response.runs:
                        for projection in (STRICT, REDUCING, FOLDED):
                            json.dumps(response.project(run, Settings(projection, "only", "assay")))


if __name__ == "__main__":
    unittest.main()
