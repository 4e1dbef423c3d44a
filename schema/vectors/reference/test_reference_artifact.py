"""Tests the validator: files that satisfy and files that break the rules of sections 3 to 5 of the contract."""

import datetime
import json
import random
import traceback
import unittest

from p20 import validate
from p20.canonical import event_bytes
from p20.characters import WHITE_SPACE
from p20.times import read_time
from sample_artifacts import REQUIRED, TOP, artifact, found, message, to_bytes


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
                     "stack backtrace:", "at A.b(String x) in c.cs:line 3", "e\u0301  at /a.js:3:5",
                     "#0 /a/b.php(3): f()", "a.rb:3:in `f'", "a.rb:3:in 'A#f'", "a.swift:3: Fatal error: x",
                     "0 A 0x000000001 f + 1", "(a 0.1.0) lib/a.ex:3: A.f/1"):
            self.assertEqual(error(text), ["A26 /error_code"], text)
        for text in ("panicked at src/main.rs:2:5", "at 10:15:30", "line 3, column 5", "at f (10:15:30)",
                     "\u00e9at f(x)", "at a.b", "File \"x\", line 3", "#0 in a.php(3): x",
                     "a.rb:3: x", "Fatal error: x", "1 of 2 at 0x000000001", "** (E) lib/a.ex:3: f/1"):
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


if __name__ == "__main__":
    unittest.main()
