"""Tests the reference: files that satisfy and files that break each rule of the contract."""

import contextlib
import datetime
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from p20 import validate  # noqa: E402
from p20.canonical import canonical_file, encode_string, event_bytes  # noqa: E402
from p20.families import EVENT_TYPES, FURTHER, family  # noqa: E402
from p20.report import CODES, make_pointer  # noqa: E402
from p20.times import read_time  # noqa: E402
from p20.characters import WHITE_SPACE  # noqa: E402
from validate import serve  # noqa: E402

TOP = (
    "schema framework surface thread_id_ref run_id_ref parent_run_id_ref started_at "
    "finished_at messages terminal_event error_code error_message"
).split()


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


class Text(unittest.TestCase):
    """Section 2."""

    def only_text(self, data):
        return [text for text in found(data) if text[0] == "T"]

    def test_t1(self):
        data = to_bytes(artifact())
        self.assertEqual(found(data + b" " * (8388608 - len(data))), [])
        self.assertEqual(found(data + b" " * (8388609 - len(data))), ["T1 "])
        self.assertEqual(found(b"\xff" * 8388609), ["T1 "])

    def test_t2(self):
        for good in (b"\xc2\x80", b"\xef\xbb\xbf", b"\xf4\x8f\xbf\xbf", b"\xed\x9f\xbf"):
            self.assertEqual(found(b'"' + good + b'"'), ["A1 "])
        for bad in (b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xe2\x82",
                    b"\xe2\x82\x01", b"\xe2\x82\\x", b"\\n\xff"):
            self.assertEqual(found(b'"' + bad + b'"'), ["T2 "], bad)
        self.assertEqual(found(b'"\xe2\x82'), ["T2 "])
        self.assertEqual(found(b'{"\xff":1}'), ["T2 "])

    def test_t3_strings(self):
        for bad in (b'"', b'"\\', b'"\\"', b'"\x00"', b'"\x1f"', b'"\n"', b'"\\x"', b'"\\u12g4"',
                    b'"\\u123"', b'"\\\xc3\xa9"', b'"\\\xff"', b'"\\u12\xff"', b'"\x01\xff"', b'"\\U0041"', b"'a'"):
            self.assertEqual(found(bad), ["T3 "], bad)
        self.assertEqual(found(b'"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00Ff\x7f"'), ["A1 "])

    def test_t3_other(self):
        for bad in (b"", b" ", b"\xef\xbb\xbf{}", b"\xff", b"\xc3\xa9", b"tru", b"nul ", b"True",
                    b"-", b"-a", b"+1", b".5", b"1.", b"1.e1", b"1e", b"1e+", b"NaN", b"\x0c1",
                    b"]", b"}", b",", b":", b"/**/1"):
            self.assertEqual(found(bad), ["T3 "], bad)
        for good in (b"0", b"-0", b"1e400", b"1E+05", b"-1.50e-7", b"9" * 5000, b"true", b" null\r\n"):
            self.assertEqual(found(good), ["A1 "], good)

    def test_t3_pointer(self):
        cases = {
            b"[": "/0", b"[ ": "/0", b"[1": "/0", b"[1,": "/1", b"[1,]": "/1", b"[1 2]": "/0",
            b"[[": "/0/0", b"[[]": "/0", b"[[],{": "/1", b"[}": "/0",
            b'[{"a"': "/0", b'[{"a":': "/0/a", b'[{"a":1': "/0/a", b'[{"a":1,': "/0/a",
            b'[{"a":1,}': "/0/a", b'[{"a":1,"b"': "/0/a", b'[{"a":1,"b":': "/0/b",
            b'[{"a":{}': "/0/a", b'[{"a":{': "/0/a", b"[{,": "/0", b"[{1": "/0",
            b'[{"a":[0,{"b/~":tru': "/0/a/1/b~1~0",
        }
        for data, pointer in cases.items():
            self.assertEqual(found(data), ["A1 ", "T3 " + pointer], data)

    def test_t3_place(self):
        cases = {
            b"[tru]": 4, b"tru": 3, b"trux": 3, b"fal,": 3, b"nul": 3, b"n": 1, b"nil": 1,
            b"-": 1, b"-x": 1, b"1e": 2, b"1ex": 2, b"1e+": 3, b"[1.]": 3, b"[01]": 2,
            b'["\\x"]': 2, b'["\\u12x': 2, b'["a': 3, b'{"a":': 5, b"[1 2]": 3,
        }
        for data, place in cases.items():
            self.assertEqual(validate(data, "artifact", "v1")["findings"][-1]["offset"], place)

    def test_t4(self):
        self.assertEqual(found(b'[{"a":1,"A":1}]'), ["A1 "])
        self.assertEqual(found(b'[{"a":1,"\\u0061":1,"a":2}]'), ["A1 ", "T4 /0/a", "T4 /0/a"])
        self.assertEqual(found(b'[{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":1}]')[1:], ["T4 /0/\U0001f600"])
        self.assertEqual(found(b'[{"\\ud800":1,"\\ufffd":1}]'), ["A1 "])
        self.assertEqual(found(b'[{"\\ud800":1,"\\uD800":1}]')[1:], ["T4 /0/\ufffd"])

    def test_t4_first_is_judged(self):
        data = to_bytes(artifact())[:-1]
        self.assertEqual(found(data + b',"run_id_ref":1}'), ["T4 /run_id_ref"])
        self.assertEqual(found(data + b',"x":1,"x":{"raw":1}}'), ["A3 /x", "T4 /x", "A4 /x/raw"])
        self.assertEqual(found(data + b',"messages":[{"raw":1}]}'), ["T4 /messages", "M7 /messages/0/raw"])
        self.assertEqual(found(data + b',"raw":1,"raw":{"raw":1}}'), ["A4 /raw", "T4 /raw", "A4 /raw/raw"])
        self.assertEqual(found(data + b',"raw":{"a":1,"a":{"raw":1}}}'), ["A4 /raw", "T4 /raw/a"])

    def test_t5(self):
        self.assertEqual(found(b"[" * 512 + b"]" * 512), ["A1 "])
        self.assertEqual(found(b"[" * 513), ["A1 ", "T5 " + "/0" * 512])
        self.assertEqual(found(b'{"a":' * 512 + b"[]"), ["A3 /a", "T5 " + "/a" * 512])
        self.assertEqual(found(b"[" * 512 + b"0"), ["A1 ", "T3 " + "/0" * 512])
        self.assertEqual(len(found(b"[" * 200000)), 2)

    def test_t6(self):
        data = to_bytes(artifact())
        self.assertEqual(found(b" \t\r\n" + data + b" \t\r\n"), [])
        for more in (b"{}", b"\x00", b"\x0c", b"\xff", b"\xef\xbb\xbf", b","):
            self.assertEqual(found(data + more), ["T6 "])
        self.assertEqual(found(b"{} x"), ["A2 /" + key for key in sorted(REQUIRED)] + ["T6 "])
        self.assertEqual(found(b"01"), ["A1 ", "T6 "])

    def test_unread_values(self):
        """Rules about whole objects and lists are not checked before the closing bracket."""
        self.assertEqual(found(b'{"messages":[]'), ["M2 /messages", "T3 /messages"])
        self.assertEqual(found(b'{"messages":[{"id":"a"'), ["T3 /messages/0/id"])
        self.assertEqual(found(b'{"messages":[{"role":"b"},{'),
                         ["M5 /messages/0/content", "M5 /messages/0/id", "M14 /messages/0/role",
                          "T3 /messages/1"])
        late = b'{"started_at":"2025-01-02T00:00:00Z","finished_at":"2025-01-01T00:00:00Z"'
        self.assertEqual(found(late), ["T3 /finished_at"])
        many = b'{"messages":[' + b"0," * 2000 + b"0"
        self.assertEqual(found(many)[-1], "None ")
        self.assertNotIn("M3 /messages", found(many))
        self.assertEqual(found(many + b"],")[0], "M3 /messages")
        forbidden = b'{"terminal_event":"RUN_FINISHED","error_code":'
        self.assertEqual(found(forbidden), ["T3 /error_code"])
        self.assertEqual(found(b'{"schema":[{"raw":'), ["A5 /schema", "A4 /schema/0/raw", "T3 /schema/0/raw"])
        self.assertEqual(found(b'{"x"'), ["T3 "])
        self.assertEqual(found(b'{"x":'), ["A3 /x", "T3 /x"])

    def test_against_json(self):
        """The json module agrees about what is JSON."""

        def constant(text):
            raise ValueError(text)

        rnd = random.Random(20)
        parts = ['{"a":', "[", "]", "}", ",", '"', "\\u00e9", "\\", "1", "-", "0.5", "e3", "null", " ", '"b":']
        seed = '{"a":[1,-2.5e3,{"b":"\\u00e9"}],"c":null}'
        for _ in range(3000):
            at = rnd.randrange(len(seed))
            text = seed[:at] + rnd.choice(parts) + seed[at + rnd.randrange(3):]
            try:
                json.loads(text, parse_constant=constant)
                good = True
            except ValueError:
                good = False
            faults = [rule for rule in found(text.encode()) if rule[:2] in ("T2", "T3", "T5", "T6")]
            self.assertEqual(not faults, good, text)


REQUIRED = [key for key in TOP if key not in
            ("parent_run_id_ref", "finished_at", "error_code", "error_message")]


class Artifact(unittest.TestCase):
    """Section 3."""

    def test_good(self):
        self.assertEqual(found(artifact()), [])
        self.assertEqual(found(artifact(parent_run_id_ref="p", finished_at="2025-01-01T00:00:00Z")), [])
        self.assertEqual(found(artifact(terminal_event="RUN_ERROR", error_message="x", error_code="y")), [])

    def test_a1(self):
        for value in ([], "x", 1, None, [{"raw": 1}]):
            self.assertEqual(found(value), ["A1 "])

    def test_a2(self):
        for key in TOP:
            if key in REQUIRED:
                self.assertEqual(found(artifact(**{key: ...})), ["A2 /" + key])
        self.assertEqual(found({}), ["A2 /" + key for key in sorted(REQUIRED)])

    def test_a3(self):
        for key in ("x", "", "Schema", "name", "id", "threadId"):
            self.assertEqual(found(artifact(**{key: None})), ["A3 /" + key])
        self.assertEqual(found(to_bytes(artifact())[:-1] + b',"a\\ud800\\ud800/":1}'), ["A3 /a\ufffd~1"])

    def test_a4(self):
        self.assertEqual(found(artifact(state={"raw": 1})), ["A4 /state"])
        self.assertEqual(found(artifact(x=[{"y": {"S_t-ATE": {"raw": 1}, "delta": 1}}])),
                         ["A3 /x", "A4 /x/0/y/S_t-ATE", "A4 /x/0/y/delta"])
        self.assertEqual(found(artifact(run_id_ref={"raw": 1})), ["A5 /run_id_ref", "A4 /run_id_ref/raw"])
        self.assertEqual(found(artifact(messages={"raw": 1})), ["M1 /messages", "M7 /messages/raw"])
        self.assertEqual(found(artifact(x='{"state":1}')), ["A3 /x"])

    def test_a5(self):
        for key in TOP:
            if key != "messages":
                for value in (None, 1, True, [], {}):
                    rules = found(artifact(**{key: value}))
                    self.assertIn("A5 /" + key, rules)
                    rules = [rule for rule in rules if rule[:3] != "A22"]
                    self.assertEqual(len(rules), 1)

    def test_a6(self):
        for key in TOP:
            if key == "messages":
                continue
            self.assertIn("A6 /" + key, found(artifact(**{key: "a\ud800"})))
        self.assertEqual(found(artifact(run_id_ref="a \udc00" + "x" * 300)), ["A6 /run_id_ref"])
        self.assertEqual(found(artifact(schema="\ud800")), ["A6 /schema"])
        good = to_bytes(artifact(run_id_ref="@")).replace(b"@", b"\\ud83d\\uDE00")
        self.assertEqual(found(good), [])
        half = to_bytes(artifact(run_id_ref="@")).replace(b"@", b"\\ud83d\\ud83d\\ude00")
        self.assertEqual(found(half), ["A6 /run_id_ref"])

    def test_a7(self):
        for blank in ("", " ", "\u3000\u0085\x1c", WHITE_SPACE):
            self.assertEqual(found(artifact(run_id_ref=blank)), ["A7 /run_id_ref"])
            self.assertEqual(found(artifact(started_at=blank)), ["A7 /started_at"])
        self.assertEqual(found(artifact(run_id_ref="\u200b")), [])
        self.assertEqual(found(artifact(run_id_ref="\ufeff")), [])

    def test_a8_a9_a10(self):
        for rule, key in (("A8", "schema"), ("A9", "framework"), ("A10", "surface")):
            for value in ("", " ", "x", artifact()[key] + " ", artifact()[key].upper()):
                self.assertEqual(found(artifact(**{key: value})), ["%s /%s" % (rule, key)])

    def test_a11(self):
        for key in ("thread_id_ref", "run_id_ref", "parent_run_id_ref"):
            self.assertEqual(found(artifact(**{key: "\U0001f600" * 256})), [])
            self.assertEqual(found(artifact(**{key: "e\u0301" * 128 + "x"})), ["A11 /" + key])
        both = validate(to_bytes(artifact(run_id_ref="://" + "x" * 256)), "artifact", "v1")
        self.assertEqual([finding["code"] for finding in both["findings"]], ["ref_not_opaque", "too_long"])

    def test_a12_a13_a14(self):
        self.assertEqual(found(artifact(run_id_ref="a:/b//c:")), [])
        self.assertEqual(found(artifact(run_id_ref="a:// \t")), ["A12 /run_id_ref"])
        for control in "\x00\t\x1f\x7f\x85\x9f":
            self.assertEqual(found(artifact(run_id_ref="a %sb" % control)), ["A13 /run_id_ref"])
        for space in " \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000":
            self.assertEqual(found(artifact(run_id_ref="a" + space)), ["A14 /run_id_ref"])
        self.assertEqual(found(artifact(run_id_ref="a\u200b\u180e\u2060")), [])

    def test_a27_a28_a29(self):
        for rule, texts in (
            ("A27", ("//a", "\\\\a\\b", "/\\a", "WWW.a", "www.")),
            ("A28", ("javascript:", "DATA:,", "mailto:a@b.c", "http:a.b/c", "facetime-audio:1")),
            ("A29", ("a.b/", "A.b:1/c", "a.b.?c", "x@a.b#", "LocalHost\\x", "localhost.:1", "1.2.3.4:5",
                     "001.2.3.255./", "[::]:1", "[1::2.3.4.5]/", "\u00e9.x/y", "a:b@c@[::1]:2")),
        ):
            for text in texts:
                self.assertEqual(found(artifact(thread_id_ref=text)), [rule + " /thread_id_ref"], text)
        for good in ("/a", "www", "ww\u1e89.", "thread:7", "s\u212aype:1", "\u017fms:1", "xdata:1", "a/b", "a.b",
                     "a.b:80", "a.1/b", "a..b/c", ".a.b/c", "a.b../c", "localhost", "localhost:", "loca\u017fhost/x",
                     "1.2.3.4", "1.2.3.256/x", "1.2.3/x", "[1]/x", "[::1]", "[::1/x", "a,b.c,d/e", "a.b:c/d", "x@y/z"):
            self.assertEqual(found(artifact(thread_id_ref=good)), [], good)
        self.assertEqual(found(artifact(run_id_ref="www.a b")), ["A14 /run_id_ref"])
        self.assertEqual(sorted(found(artifact(run_id_ref="a.b/" * 100))), ["A11 /run_id_ref", "A29 /run_id_ref"])

    def test_a15(self):
        for bad in ("2025-01-01", "2025-01-01t00:00:00Z", "2025-01-01T00:00:00z", "2025-01-01 00:00:00Z",
                    "2025-01-01T00:00:00", "2025-01-01T00:00:00.Z", "2025-01-01T00:00:00.1234567Z",
                    "2025-01-01T00:00:00,1Z", "2025-01-01T00:00:00+24:00", "2025-01-01T00:00:00+23:60",
                    "2025-01-01T00:00:00+0100", "2025-01-01T00:00:00+01", "12025-01-01T00:00:00Z",
                    "2025-1-01T00:00:00Z", "2025-01-01T00:00Z", "2025-01-01T00:00:00Z\n",
                    " 2025-01-01T00:00:00Z", "\u0662025-01-01T00:00:00Z"):
            self.assertEqual(found(artifact(started_at=bad)), ["A15 /started_at"], bad)
        for good in ("2025-01-01T00:00:00.123456Z", "2025-01-01T00:00:00-00:00", "2025-01-01T00:00:00+23:59"):
            self.assertEqual(found(artifact(started_at=good)), [], good)

    def test_a16(self):
        for bad in ("2025-00-01T00:00:00Z", "2025-13-01T00:00:00Z", "2025-01-00T00:00:00Z",
                    "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2025-04-31T00:00:00Z",
                    "2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z", "2016-12-31T23:59:60Z",
                    "0000-02-30T00:00:00Z"):
            self.assertEqual(found(artifact(started_at=bad)), ["A16 /started_at"], bad)
        self.assertEqual(found(artifact(started_at="2000-02-29T23:59:59Z")), [])

    def test_a17(self):
        for bad in ("0000-02-29T00:00:00Z", "0000-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01",
                    "9999-12-31T23:59:59.999999-00:01"):
            self.assertEqual(found(artifact(started_at=bad)), ["A17 /started_at"], bad)
        for good in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:01:00+00:01"):
            self.assertEqual(found(artifact(started_at=good)), [], good)

    def test_instants(self):
        """The datetime module agrees about instants."""
        epoch = datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc)
        rnd = random.Random(3)
        base = read_time("0001-01-01T00:00:00Z")[1]
        for _ in range(2000):
            day = epoch + datetime.timedelta(days=rnd.randrange(10, 3652000), microseconds=rnd.randrange(10**11))
            minutes = rnd.randrange(-1439, 1440)
            zone = datetime.timezone(datetime.timedelta(minutes=minutes))
            text = day.astimezone(zone).isoformat()
            passed = (day - epoch) // datetime.timedelta(microseconds=1)
            self.assertEqual(read_time(text), (None, base + passed), text)

    def test_a18(self):
        def ordered(start, end):
            return found(artifact(started_at=start, finished_at=end))

        self.assertEqual(ordered("2025-01-01T00:00:00.1Z", "2025-01-01T00:00:00.100000Z"), [])
        self.assertEqual(ordered("2025-01-01T00:00:00.1Z", "2025-01-01T00:00:00.099999Z"), ["A18 /finished_at"])
        self.assertEqual(ordered("2025-01-01T01:00:00+01:00", "2025-01-01T00:00:00Z"), [])
        self.assertEqual(ordered("2025-01-01T00:00:00Z", "2025-01-01T01:00:00+01:01"), ["A18 /finished_at"])
        self.assertEqual(ordered("2025-01-02T00:00:00Z", "2025-01-01"), ["A15 /finished_at"])

    def test_a19_a20(self):
        for value in ("run_finished", "RUN-ERROR", "RUN_FINISHED ", "x", "RUNFINISHED"):
            self.assertEqual(found(artifact(terminal_event=value)), ["A19 /terminal_event"])
        for value in ("RUN_STARTED", "text-message-end", "state", "Raw"):
            self.assertEqual(found(artifact(terminal_event=value)), ["A20 /terminal_event"])

    def test_a21(self):
        self.assertEqual(found(artifact(terminal_event="RUN_ERROR")), ["A21 /error_message"])
        self.assertEqual(found(artifact(terminal_event="RUN_ERROR", error_code="x")), ["A21 /error_message"])
        self.assertEqual(found(artifact(terminal_event="RUN_ERROR", error_message=None)), ["A5 /error_message"])
        self.assertEqual(found(artifact(terminal_event="run_error")), ["A19 /terminal_event"])

    def test_a22(self):
        self.assertEqual(found(artifact(error_code="x", error_message="y")), ["A22 /error_code", "A22 /error_message"])
        self.assertEqual(sorted(found(artifact(error_code=None))), ["A22 /error_code", "A5 /error_code"])
        self.assertEqual(found(artifact(terminal_event="x", error_code="x")), ["A19 /terminal_event"])

    def test_a23_a24_a25(self):
        def error(**more):
            more.setdefault("error_message", "x")
            return found(artifact(terminal_event="RUN_ERROR", **more))

        self.assertEqual(error(error_code="\u00e9" * 128), [])
        self.assertEqual(error(error_code=" " * 128 + "x"), ["A23 /error_code"])
        self.assertEqual(error(error_message="x" * 1024), [])
        self.assertEqual(error(error_message="x" * 1025), ["A24 /error_message"])
        self.assertEqual(error(error_message="a\nb"), ["A25 /error_message"])
        self.assertEqual(error(error_code="a\x9f"), ["A25 /error_code"])
        self.assertEqual(error(error_message="a \u2028 \u200b b"), [])

    def test_a26(self):
        def error(text):
            return found(artifact(terminal_event="RUN_ERROR", error_message="x", error_code=text))

        try:
            raise ValueError("x")
        except ValueError:
            trace = traceback.format_exc()[:120]
        self.assertEqual(error(repr(trace)[:128]), ["A26 /error_code"])
        self.assertEqual(error(trace), ["A25 /error_code", "A26 /error_code"])
        for text in ("at f (/a/b.js:3:5)", "@http://a/b.js:3:5", "boom\\nat A.b(C.java:3)", "goroutine 1 [running]:",
                     "stack backtrace:", "at A.b(String x) in c.cs:line 3", "e\u0301  at /a.js:3:5"):
            self.assertEqual(error(text), ["A26 /error_code"], text)
        for text in ("panicked at src/main.rs:2:5", "at 10:15:30", "line 3, column 5", "at f (10:15:30)",
                     "\u00e9at f(x)", "at a.b", "File \"x\", line 3"):
            self.assertEqual(error(text), [], text)
        for length, rules in ((8192, ["A23 /error_code", "A26 /error_code"]), (8193, ["A23 /error_code"])):
            text = "stack backtrace:".rjust(length, "\u00e9")
            self.assertEqual(sorted(error(text)), rules)


class Messages(unittest.TestCase):
    """Section 4."""

    def one(self, profile="v1", **changes):
        return found(artifact(messages=[message(**changes)]), profile)

    def test_m1_m2(self):
        for value in (None, "x", {}, 1):
            self.assertEqual(found(artifact(messages=value)), ["M1 /messages"])
        self.assertEqual(found(artifact(messages=[])), ["M2 /messages"])

    def test_m3(self):
        many = [message(id="m%d" % n) for n in range(2001)]
        self.assertEqual(found(artifact(messages=many[:2000])), [])
        self.assertEqual(found(artifact(messages=many)), ["M3 /messages"])
        self.assertEqual(found(artifact(messages=many[:2000] + [1, {"raw": 1}])), ["M3 /messages"])
        data = to_bytes(artifact(messages=many[:2000] + ["@"])).replace(b'"@"', b'{"a":1,"a":{"raw":2}}')
        self.assertEqual(found(data), ["M3 /messages", "T4 /messages/2000/a"])

    def test_m4(self):
        self.assertEqual(found(artifact(messages=[None])), ["M4 /messages/0"])
        self.assertEqual(found(artifact(messages=[message(), [{"raw": 1}]])),
                         ["M4 /messages/1", "M7 /messages/1/0/raw"])

    def test_m5(self):
        for key in ("id", "role", "content"):
            self.assertEqual(self.one(**{key: ...}), ["M5 /messages/0/" + key])

    def test_m6_m7(self):
        self.assertEqual(self.one(x=1), ["M6 /messages/0/x"])
        self.assertEqual(self.one(toolCalls=[{"delta": 1}]), ["M7 /messages/0/toolCalls"])
        self.assertEqual(self.one(x=[{"delta": 1}]), ["M6 /messages/0/x", "M7 /messages/0/x/0/delta"])
        self.assertEqual(self.one(content=[{"delta": 1}]), ["M8 /messages/0/content", "M7 /messages/0/content/0/delta"])

    def test_m8(self):
        for key in ("id", "role", "content", "name"):
            for value in (None, 1, [], {}):
                self.assertEqual(self.one(**{key: value}), ["M8 /messages/0/" + key])

    def test_m9_m10(self):
        for key in ("id", "role", "content", "name"):
            self.assertEqual(self.one(**{key: "\ud800"}), ["M9 /messages/0/" + key])
            self.assertEqual(self.one(**{key: "\u2003\n"}), ["M10 /messages/0/" + key])
        self.assertEqual(self.one(content=" a\n\x00 "), [])

    def test_m11_m12_m13(self):
        for rule, key, limit in (("M11", "id", 256), ("M12", "content", 262144), ("M13", "name", 128)):
            self.assertEqual(self.one(**{key: "\u00e9" * limit}), [])
            self.assertEqual(self.one(**{key: " " * limit + "x"}), ["%s /messages/0/%s" % (rule, key)])

    def test_m14_m15(self):
        for role in ("developer", "system", "assistant", "user", "tool"):
            self.assertEqual(self.one(role=role), [])
        for role in ("User", "user ", "x"):
            self.assertEqual(self.one(role=role), ["M14 /messages/0/role"])
        for role in ("reasoning", "activity", "RUN_ERROR"):
            self.assertEqual(self.one(role=role), ["M15 /messages/0/role"])

    def test_m16(self):
        def ids(*values):
            return found(artifact(messages=[message(id=value) for value in values]))

        self.assertEqual(ids("a", "A", "a b"), [])
        self.assertEqual(ids("a", " a\u2028", "a"), ["M16 /messages/1/id", "M16 /messages/2/id"])
        self.assertEqual(ids("x" * 257, "x" * 257), ["M11 /messages/0/id", "M16 /messages/1/id", "M11 /messages/1/id"])
        self.assertEqual(ids(1, 1, "", "", "\ud800", "\ud800"),
                         ["M8 /messages/0/id", "M8 /messages/1/id", "M10 /messages/2/id",
                          "M10 /messages/3/id", "M9 /messages/4/id", "M9 /messages/5/id"])


class Assay(unittest.TestCase):
    """Section 5."""

    def test_limits(self):
        for rule, key, limit, wide, wide_limit in (
            ("P1", "run_id_ref", 96, "A11", 256), ("P5", "error_code", 48, "A23", 128),
            ("P6", "error_message", 200, "A24", 1024),
        ):
            base = {"terminal_event": "RUN_ERROR", "error_message": "x"}
            for size, rules in ((limit, []), (limit + 1, [rule]), (wide_limit, [rule]), (wide_limit + 1, [wide])):
                base[key] = "\u00e9" * size
                self.assertEqual(found(artifact(**base), "assay"), ["%s /%s" % (r, key) for r in rules])
        for rule, key, limit, wide, wide_limit in (
            ("P2", "id", 96, "M11", 256), ("P3", "name", 60, "M13", 128), ("P4", "content", 400, "M12", 262144),
        ):
            for text, rules in (("x" * limit + "  ", []), ("x" * (limit + 1), [rule]), (" " * wide_limit + "x", [wide])):
                value = artifact(messages=[message(**{key: text})])
                self.assertEqual(found(value, "assay"), ["%s /messages/0/%s" % (r, key) for r in rules])
        self.assertEqual(found(artifact(run_id_ref="a" * 97), "v1"), [])

    def test_p7(self):
        def sized(extra):
            many = [message(id="m%d" % n, content="\x01" * 398 + "ab", role="tool") for n in range(427)]
            many += [message(id="z%d" % n, content="x" * n) for n in range(1, 1 + extra)]
            return artifact(messages=many)

        value = sized(1)
        size = event_bytes(value, value["messages"])
        whole = {key: value.get(key, "") for key in TOP}
        whole["messages"] = [{k: m.get(k, "") for k in ("id", "role", "content", "name")} for m in value["messages"]]
        text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
        self.assertEqual(size, len(text.encode()) + 1 + 3)
        room = 1044480 - size
        self.assertTrue(0 <= room < 2900, room)
        for step in range(-1, 2):
            changed = json.loads(json.dumps(value))
            left = room + step
            for item in changed["messages"]:
                more = min(left, 50)
                item["name"] = "n" * more
                left -= more
                if not more:
                    del item["name"]
            self.assertEqual(found(changed, "assay"), ["P7 "] if step > 0 else [], step)
            self.assertEqual(found(changed), [])

    def test_p7_only_alone(self):
        many = [message(id="m%d" % n, content="\x01" * 398 + "ab") for n in range(500)]
        self.assertEqual(found(artifact(messages=many), "assay"), ["P7 "])
        self.assertEqual(found(artifact(messages=many, x=1), "assay"), ["A3 /x"])


class Families(unittest.TestCase):
    """Section 6."""

    def test_names(self):
        self.assertEqual(len(EVENT_TYPES), 37)
        for name in EVENT_TYPES:
            self.assertEqual(family(name), name)
            self.assertEqual(family(name.lower().replace("_", "-")), name)
        for name, forms in FURTHER.items():
            for form in forms.split():
                self.assertEqual(family(form.upper()), name)
        for name in ("", "stat", "state ", "st\u0430te", "to\u212al", "\u212a", "sta.te", "TOOL", "messages"):
            self.assertIsNone(family(name), name)
        self.assertIsNone(family("tool_\u212aall"))
        self.assertEqual(family("_" * 59 + "state"), "STATE_SNAPSHOT")
        self.assertIsNone(family("_" * 60 + "state"))
        for key in TOP + ["id", "role", "content", "name"]:
            self.assertIsNone(family(key))


class Envelope(unittest.TestCase):
    """Section 7."""

    def test_good(self):
        self.assertEqual(events(STARTED, SNAPSHOT, FINISHED), [])
        self.assertEqual(events(STARTED, SNAPSHOT, {"type": "RUN_ERROR", "message": 1}), [])
        loose = b"\xef\xbb\xbf \r\n" + envelope(STARTED, SNAPSHOT).replace(b"\n", b" \r\n\n\t") + to_bytes(FINISHED)
        self.assertEqual(found(loose, kind="envelope"), [])

    def test_text(self):
        for bad, rule in ((b'{"\xff', "T2 "), (b"{", "T3 "), (b'{"a":1,"a":2', "T4 /a"),
                          (b"[" * 513, "T5 " + "/0" * 512), (b"{} {}", "T6 "), (b'{"type":1,', "T3 /type"),
                          (b"[1,", "T3 /1"), (b"\xef\xbb\xbf{}", "T3 ")):
            self.assertEqual(events(STARTED, bad, SNAPSHOT, FINISHED), [rule])

    def test_large(self):
        big = dict(SNAPSHOT, more="x" * 8388608)
        self.assertEqual(events(STARTED, big, FINISHED), [])

    def test_e1_e2(self):
        self.assertEqual(events(STARTED, b"[]", SNAPSHOT, FINISHED), ["E1 "])
        self.assertEqual(events(STARTED, {}, SNAPSHOT, FINISHED), ["E2 "])
        for kind in ("", 1, None, "RUN_STARTED\ud800"):
            self.assertEqual(events(STARTED, {"type": kind}, SNAPSHOT, FINISHED), ["E2 /type"])

    def test_e3(self):
        for kind in (" ", "run_started", "RAW", "RUN_FINISHED "):
            self.assertEqual(events(STARTED, {"type": kind}, SNAPSHOT, FINISHED), ["E3 /type"])

    def test_e4_e5_e6(self):
        self.assertEqual(events(STARTED, {"type": "RUN_STARTED"}, SNAPSHOT, FINISHED), ["E4 /type"])
        self.assertEqual(events(STARTED, SNAPSHOT, FINISHED, {"type": "RUN_ERROR", "runId": 1}), ["E4 /type"])
        self.assertEqual(events(SNAPSHOT, STARTED, FINISHED), ["E5 /type"])
        self.assertEqual(events(FINISHED, SNAPSHOT, STARTED), ["E5 /type", "E5 /type"])
        self.assertEqual(events(FINISHED, {"type": "MESSAGES_SNAPSHOT"}, STARTED), ["E12 /messages", "E5 /type", "E5 /type"])
        self.assertEqual(found(b"", kind="envelope"), ["E6 "] * 3)
        self.assertEqual(found(b"\xef\xbb\xbf\n \r\n", kind="envelope"), ["E6 "] * 3)
        self.assertEqual(events(STARTED, SNAPSHOT, b"{"), ["E6 ", "T3 "])

    def test_e7(self):
        self.assertEqual(events({"type": "RUN_STARTED"}, SNAPSHOT, FINISHED), ["E7 /runId", "E7 /threadId"])
        self.assertEqual(events(STARTED, SNAPSHOT, {"type": "RUN_ERROR", "threadId": "t"}), [])

    def test_e8_e9(self):
        for value, rule in ((1, "E8"), (None, "E8"), ("\ud800", "E9")):
            for key in ("threadId", "runId"):
                pointer = "%s /%s" % (rule, key)
                self.assertEqual(events(dict(STARTED, **{key: value}), SNAPSHOT, FINISHED), [pointer])
                self.assertEqual(events(STARTED, SNAPSHOT, dict(FINISHED, **{key: value})), [pointer])
                self.assertEqual(events(SNAPSHOT, dict(FINISHED, **{key: value})), ["E6 "])
        self.assertEqual(events(dict(STARTED, runId=""), SNAPSHOT, dict(FINISHED, runId="")), [])

    def test_e11(self):
        self.assertEqual(events(STARTED, SNAPSHOT, dict(FINISHED, runId="R")), [])
        self.assertEqual(events(STARTED, SNAPSHOT, dict(FINISHED, threadId="t ")), ["E11 /threadId"])
        self.assertEqual(events(dict(FINISHED, threadId="T"), SNAPSHOT, STARTED), ["E11 /threadId", "E5 /type", "E5 /type"])

    def test_e12_e13(self):
        for value in (None, {}, "x"):
            self.assertEqual(events(STARTED, dict(SNAPSHOT, messages=value), FINISHED), ["E12 /messages"])
        self.assertEqual(events(STARTED, {"type": "MESSAGES_SNAPSHOT"}, FINISHED), ["E12 /messages"])
        self.assertEqual(events(STARTED, dict(SNAPSHOT, messages=[]), FINISHED), [])
        self.assertEqual(events(STARTED, dict(SNAPSHOT, messages=[1, {}, []]), FINISHED),
                         ["E13 /messages/0", "E13 /messages/2"])
        many = dict(SNAPSHOT, messages=[1] * 5000)
        rules = events(STARTED, many, FINISHED)
        self.assertEqual((len(rules), rules[99], rules[100]), (101, "E13 /messages/99", "None "))


class Canonical(unittest.TestCase):
    """Section 8."""

    def test_artifact(self):
        value = artifact(messages=[message(name="n"), message(id="m2")], parent_run_id_ref="p\u00e9")
        ordered = {key: value[key] for key in TOP if key in value}
        ordered["messages"] = [{k: m[k] for k in ("id", "role", "content", "name") if k in m} for m in value["messages"]]
        data = (json.dumps(ordered, indent=2, ensure_ascii=False) + "\n").encode()
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        answer = validate(data, "artifact", "v1")
        self.assertEqual((answer["canonical"], answer["canonical_digest"]), (True, digest))
        for other in (data[:-1], data + b"\n", data.replace(b"\n", b"\r\n"), data.replace(b": ", b":"),
                      data.replace(b'"user"', b'"\\u0075ser"'), to_bytes(value)):
            answer = validate(other, "artifact", "assay")
            self.assertEqual((answer["canonical"], answer["canonical_digest"]), (False, digest))
        self.assertEqual(canonical_file(value, value["messages"]), data)

    def test_spelling(self):
        self.assertEqual(encode_string('"\\/\b\t\n\f\r\x00\x1f\x7f\u2028\U0001f600'),
                         '"\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\u2028\U0001f600"')

    def test_envelope(self):
        data = envelope(STARTED, SNAPSHOT, FINISHED)
        self.assertIs(validate(data, "envelope", "v1")["canonical"], True)
        for other in (data[:-1], data + b"\n", data.replace(b"\n", b"\r\n"), b" " + data, b"\xef\xbb\xbf" + data,
                      data.replace(b"\n", b" \n"), data.replace(b"[{", b"[\r{")):
            answer = validate(other, "envelope", "v1")
            self.assertEqual((answer["verdict"], answer["canonical"]), ("accepted", False))


class Reporting(unittest.TestCase):
    """Section 9."""

    def test_order(self):
        data = b'{"x":[{"raw":1}],"schema":"","terminal_event":"RUN_ERROR"}'
        absent = ["A2 /" + key for key in sorted(REQUIRED) if key not in ("schema", "terminal_event")]
        self.assertEqual(found(data), absent + ["A3 /x", "A4 /x/0/raw", "A8 /schema", "A21 /error_message"])

    def test_limit(self):
        for count in (99, 100, 101, 5000):
            value = artifact(**{"k%05d" % n: 1 for n in range(count)})
            rules = found(value)
            self.assertEqual(rules[:100], ["A3 /k%05d" % n for n in range(min(count, 100))])
            self.assertEqual(rules[100:], ["None "] if count > 100 else [])
        answer = validate(to_bytes(value), "artifact", "v1")
        self.assertEqual(answer["findings"][-1]["code"], "findings_past_limit")
        self.assertEqual(answer["findings"][-1]["severity"], "info")

    def test_late_finding_before_the_limit(self):
        value = {"x%05d" % n: 1 for n in range(5000)}
        self.assertEqual(found(value)[:8], ["A2 /" + key for key in sorted(REQUIRED)])

    def test_pointer(self):
        self.assertEqual(make_pointer(["a/b~", 3, "", None]), "/a~1b~0/3/")
        self.assertEqual(make_pointer(["\ud800\udbff-\udc00"]), "/\ufffd-\ufffd")
        self.assertEqual(make_pointer(["x" * 1023]), "/" + "x" * 1023)
        self.assertEqual(make_pointer(["x" * 1024]), "")
        self.assertEqual(make_pointer(["a", "\u00e9" * 511]), "/a")
        self.assertEqual(make_pointer(["a", "\u00e9" * 510, "b"]), "/a/" + "\u00e9" * 510)
        self.assertEqual(found(artifact(**{"x" * 1024: {"raw": 1}})), ["A3 ", "A4 "])

    def test_never_an_exception(self):
        rnd = random.Random(7)
        good = to_bytes(artifact()) + b"\n" + envelope(STARTED, SNAPSHOT, FINISHED)
        parts = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b"\xff", b"\xe2\x82", b"\\ud800", b"\n", b"\x00", b"-"]
        for _ in range(3000):
            data = bytearray(good)
            for _ in range(rnd.randrange(1, 5)):
                at = rnd.randrange(len(data))
                data[at:at + rnd.randrange(30)] = rnd.choice(parts)
            for kind in ("artifact", "envelope"):
                json.dumps(validate(bytes(data), kind, "assay"))


class Command(unittest.TestCase):
    """validate.py."""

    def run_it(self, *words, data=b""):
        command = [sys.executable, os.path.join(HERE, "validate.py"), *words]
        done = subprocess.run(command, input=data, capture_output=True, timeout=60)
        return done.returncode, done.stdout

    def test_files(self):
        words = ("--kind", "artifact", "--profile", "v1")
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.json")
            with open(name, "wb") as file:
                file.write(to_bytes(artifact()))
            status, output = self.run_it(*words, name)
            self.assertEqual((status, json.loads(output)["verdict"]), (0, "accepted"))
            self.assertEqual(self.run_it(*words, name + "x")[0], 3)
            self.assertEqual(self.run_it(*words, folder)[0], 3)
        status, output = self.run_it(*words, "-", data=b"{")
        self.assertEqual((status, json.loads(output)["verdict"]), (1, "malformed"))

    def test_usage(self):
        for words in ((), ("--kind", "x"), ("--kind", "artifact", "-"), ("--serve", "-")):
            self.assertEqual(self.run_it(*words)[0], 2)

    def test_serve(self):
        files = [b"", to_bytes(artifact()), b"\n{\n"]
        source = b"".join(
            to_bytes({"kind": "artifact", "profile": "v1", "bytes": len(data)}) + b"\n" + data for data in files
        )
        target = io.BytesIO()
        self.assertEqual(serve(io.BytesIO(source), target), 0)
        verdicts = [json.loads(line)["verdict"] for line in target.getvalue().splitlines()]
        self.assertEqual(verdicts, ["malformed", "accepted", "malformed"])
        for bad in (b"x\n", b"{}\n", b'{"kind":"artifact","profile":"v1","bytes":-1}\n'):
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(serve(io.BytesIO(bad), target), 2)


if __name__ == "__main__":
    unittest.main()
