"""Tests the validator: sections 2 and 6 to 9 of the contract, and validate.py."""

import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from p20 import validate
from p20.canonical import canonical_file, encode_string
from p20.families import EVENT_TYPES, FURTHER, family
from p20.report import make_pointer
from sample_artifacts import FINISHED, REQUIRED, SNAPSHOT, STARTED, TOP, artifact, envelope, events, found, message, to_bytes
from validate import serve

HERE = os.path.dirname(os.path.abspath(__file__))


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
