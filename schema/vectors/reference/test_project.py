"""Tests the projector: the rules of docs/projections.md."""

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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from p20 import fold as folding  # noqa: E402
from p20 import frames as framing  # noqa: E402
from p20.bounded import line_of  # noqa: E402
from p20.ends import shorten  # noqa: E402
from p20.frames import Frame, cut, guess  # noqa: E402
from p20.join import join  # noqa: E402
from p20.messages import text_of  # noqa: E402
from p20.moments import Arrivals, instant, label  # noqa: E402
from p20.omissions import Omissions, token  # noqa: E402
from p20.projection import FOLDED, REDUCING, STRICT, Response, Settings  # noqa: E402
from p20.strict import HUGE, Broken, read, read_slowly  # noqa: E402
from project import main, serve  # noqa: E402

T0 = 1767225600000  # 2026-01-01T00:00:00Z
EXAMPLE = b"""\
{"type":"RUN_STARTED","threadId":"t1","runId":"r1","timestamp":1767225600000,"protocolVersion":"1.0"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","delta":"Hello."}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"Hi"}]},{"id":"m2","role":"assistant","content":"Hello.","toolCalls":[]}]}
{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","timestamp":1767225600250}
"""


def event(kind, **members):
    out = {"type": kind}
    out.update(members)
    return {key: value for key, value in out.items() if value is not ...}


def started(**members):
    return event("RUN_STARTED", **dict({"threadId": "t", "runId": "r", "timestamp": T0}, **members))


def finished(**members):
    return event("RUN_FINISHED", **members)


def failed(**members):
    return event("RUN_ERROR", **members)


def message(**members):
    out = dict({"id": "m", "role": "user", "content": "hi"}, **members)
    return {key: value for key, value in out.items() if value is not ...}


def snapshot(*messages, **members):
    return event("MESSAGES_SNAPSHOT", messages=list(messages), **members)


def lines(*events):
    return b"".join(
        (one if type(one) is bytes else json.dumps(one).encode()) + b"\n" for one in events
    )


def project(events, projection=REDUCING, request=None, arrivals=None, run=0, **settings):
    """Returns the result for one run of a capture."""
    data = events if type(events) is bytes else lines(*events)
    if request is not None and type(request) is not bytes:
        request = json.dumps(request).encode()
    response = Response(data, "ndjson", request, arrivals)
    return response.project(response.runs[run], Settings(projection, **settings))


def errors(events, projection=REDUCING, **more):
    answer = project(events, projection, **more)
    return " ".join(answer.get("errors", ["frozen"]))


def omitted(answer):
    """Returns the omissions, each as "place pointer reason" and its count."""
    out = []
    for one in answer["omissions"]:
        place = one.get("event_index", one.get("file", "-"))
        out.append("%s %s %s" % (place, one["pointer"], one["reason"]))
        if "count" in one:
            out[-1] += " %d" % one["count"]
    return out


def artifact(answer):
    return json.loads(answer["artifact"])


def ended(*middle, **more):
    """Returns a run with these events."""
    return project([started(), *middle, finished()], **more)


class Page(unittest.TestCase):
    """The example at the top of the page."""

    def test_strict_and_folded(self):
        self.assertEqual(errors(EXAMPLE, STRICT), "content_not_text key_outside_subset")
        self.assertEqual(errors(EXAMPLE, FOLDED), "snapshot_present")

    def test_reducing(self):
        answer = project(EXAMPLE)
        self.assertEqual(answer["times"], "event")
        self.assertEqual(answer["envelope"], "".join(EXAMPLE.decode().splitlines(True)[i] for i in (0, 2, 3)))
        self.assertEqual(answer["artifact"], """{
  "schema": "ag-ui.compacted-message-snapshot.export.v1",
  "framework": "ag_ui",
  "surface": "compacted_message_snapshot_artifact",
  "thread_id_ref": "t1",
  "run_id_ref": "r1",
  "started_at": "2026-01-01T00:00:00Z",
  "finished_at": "2026-01-01T00:00:00.250000Z",
  "messages": [
    {
      "id": "m1",
      "role": "user",
      "content": "Hi"
    },
    {
      "id": "m2",
      "role": "assistant",
      "content": "Hello."
    }
  ],
  "terminal_event": "RUN_FINISHED"
}
""")
        self.assertEqual(omitted(answer), [
            "0 /protocolVersion key_outside_subset", "2 /messages/0/content text_parts_joined",
            "2 /messages/1/toolCalls key_outside_subset"])


class Strictly(unittest.TestCase):
    """Section 1."""

    def code(self, data):
        codes = set()
        for reader in (read, read_slowly):
            try:
                codes.add(repr(reader(data)))
            except Broken as broken:
                codes.add(broken.code)
        self.assertEqual(len(codes), 1, data)
        return codes.pop()

    def test_faults(self):
        for data, code in (
            (b'{"a":1,"\\u0061":2', "json_duplicate_key"), (b'{"a":1,"a"}', "json_syntax"),
            (b'["\xff', "json_invalid_utf8"), (b"1 2", "json_trailing_data"), (b"", "json_syntax"),
            (b"\xef\xbb\xbf1", "json_syntax"), (b"[NaN]", "json_syntax"), (b"-Infinity", "json_syntax"),
            (b'"\x01"', "json_syntax"), (b"[1.]", "json_syntax"), (b"01", "json_trailing_data"),
            (b"[" * 513, "json_too_deep"), (b"[" * 512, "json_syntax"), (b"\x0b1", "json_syntax"),
            (b"[" * 513 + b"]" * 513, "json_too_deep"), (b"[" * 5000, "json_too_deep"),
            (b"[" + b'{"a":' * 512 + b"1" + b"}" * 512 + b"]", "json_too_deep"),
        ):
            self.assertEqual(self.code(data), code, data[:20])

    def test_values(self):
        for data in (b"[" * 512 + b"]" * 512, b'{"b":1,"a":[true,false,null,-0,1.5,"x\\u00e9\\ud83d\\ude00"]}',
                     b'"\\ud800\\ud800\\udc00\\udc00"', b" \r\n\t{} ", b"1e400", b"9" * 5000,
                     b"[" + b",".join([b'{"a":["[{\\"\\\\"]}'] * 900) + b"]"):
            self.assertNotIn("json_", self.code(data))
        self.assertEqual(read(b"9" * 5000), HUGE)
        self.assertEqual(read(b'"\\ud83d\\ude00"'), "\U0001f600")
        self.assertEqual(list(read(b'{"b":1,"a":2}')), ["b", "a"])

    def test_both_readers_agree(self):
        rnd = random.Random(3)
        good = b'{"a":[1,-2.5e+3,"x\\n\\u00e9\\ud83d\\ude00\\ud800",{"b":null,"c":true}],"d":"\xc3\xa9","e":{}}'
        parts = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\xff", b"\xe2\x82", b"\\ud800", b"\n",
                 b"\x00", b"-", b"0", b".", b'"a":1,', b"e", b" ", b"NaN", b"tru", b"\\u12"]
        for _ in range(20000):
            data = bytearray(good)
            for _ in range(rnd.randrange(1, 4)):
                at = rnd.randrange(len(data) + 1)
                data[at:at + rnd.choice((0, 0, 1, 3))] = rnd.choice(parts)
            self.code(bytes(data))

    def test_join(self):
        self.assertEqual(join(["a\ud83d", "", "\ude00b"]), "a\U0001f600b")
        self.assertEqual(join(["\ud83d", "\ude00", "\ude00"]), "\U0001f600\ude00")
        self.assertEqual(join(["\ud83d\ude00", "x"]), "\ud83d\ude00x")
        self.assertEqual(join([]), "")


class Frames(unittest.TestCase):
    """Section 3."""

    def data(self, data, kind):
        frames, malformed = cut(data, kind)
        self.assertEqual([frame.index for frame in frames], list(range(len(frames))))
        return [frame.data for frame in frames] + ([malformed] if malformed else [])

    def test_sse(self):
        for data, wanted in (
            (b'data: {"type":\ndata:"X"}\n\n', [b'{"type":\n"X"}']),
            (b"\xef\xbb\xbfdata: 1\r\n\r\ndata:2\r\rdata:  3\n\n", [b"1", b"2", b" 3"]),
            (b"data\n\ndata:\n\n", [b"", b""]), (b"data\ndata:x\n\n", [b"\nx"]),
            (b"data: 1\n", []), (b"data: 1\n\r", [b"1"]), (b"data: 1\n\ndata: 2", [b"1"]),
            (b":c\nevent: x\nid: 1\nData: x\ndata : x\ndatax: 1\n\n\n\n", []),
            (b"data: 1\nevent: y\ndata: 2\n\n", [b"1\n2"]), (b"data: \x0b\x85\n\n", [b"\x0b\x85"]),
            (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", []),
        ):
            self.assertEqual(self.data(data, "sse"), wanted, data)

    def test_sse_end(self):
        for data, end in ((b"data: 1\n\n", 9), (b"data: 1\r\n\r\n", 10), (b"\xef\xbb\xbfdata\r\r", 9)):
            self.assertEqual(cut(data, "sse")[0][0].end, end)

    def test_ndjson(self):
        self.assertEqual(self.data(b"\xef\xbb\xbf 1\r\n\r\n \t\n2\r3\n4", "ndjson"), [b"1", b"2\r3", b"4"])
        self.assertEqual([frame.end for frame in cut(b"1 \n\n2", "ndjson")[0]], [3, 5])

    def test_json(self):
        for data, wanted in (
            (b"[]", []), (b" [ \n] ", []), (b"[1, 2 ]", [b"1", b"2"]), (b"", [True]), (b"{}", [True]),
            (b"\xef\xbb\xbf[1]", [b"1"]), (b"[,]", [b"", b"", True]), (b"[1,]", [b"1", b"", True]),
            (b"[1,2", [b"1"]), (b"[1", []), (b"[", []), (b"[1]x", [b"1", True]), (b"[1],", [b"1", True]),
            (b'["a]\\",",[{],2]', [b'"a]\\","']), (b'["a]\\",",[{}],2]', [b'"a]\\","', b"[{}]", b"2"]),
            (b"[}1}]", [b"}1}"]), (b"[{],}]", [b"{]", b"}"]), (b'["\\', []), (b"[\\,1]", [b"\\", b"1"]),
        ):
            self.assertEqual(self.data(data, "json"), wanted, data)
        self.assertEqual([frame.end for frame in cut(b"[1 , 2]", "json")[0]], [4, 7])

    def test_reading(self):
        for data, wanted in ((b"[]", "event_not_object"), (b"{}", "event_type_missing"), (b"", "json_syntax"),
                             (b'{"type":""}', "event_type_missing"), (b'{"type":1}', "event_type_missing"),
                             (b'{"type":"\\ud800"}', "event_type_missing"), (b'{"type":"X"}', None)):
            frame = Frame(0, data, 0)
            frame.read()
            self.assertEqual((frame.fault, frame.kind), (wanted, None if wanted else "X"))

    def test_too_large(self):
        limit, framing.MAX_EVENT = framing.MAX_EVENT, 12
        try:
            frames = cut(b'{"type":"X"}\n{"type":"XY"}\n{"type":"Z"}', "ndjson")[0]
        finally:
            framing.MAX_EVENT = limit
        self.assertEqual([frame.fault or frame.kind for frame in frames], ["X", "event_too_large", "Z"])

    def test_guess(self):
        for data, wanted in ((b"", "sse"), (b"\xef\xbb\xbf \n[", "json"), (b" {", "ndjson"), (b"d", "sse"),
                             (b" " * 65536 + b"[", "sse"), (b" " * 65535 + b"[", "json")):
            self.assertEqual(guess(data), wanted)


class Runs(unittest.TestCase):
    """Section 4."""

    def test_runs(self):
        data = lines(b"x", snapshot(), started(runId="a"), snapshot(message()), finished(), started(), b"x")
        response = Response(data, "ndjson")
        self.assertEqual([(run.number, run.id, len(run.frames)) for run in response.runs], [(1, "a", 3), (2, "r", 2)])
        answer = response.project(response.runs[0], Settings(STRICT))
        self.assertEqual(artifact(answer)["run_id_ref"], "a")
        self.assertEqual(response.project(response.runs[1], Settings(STRICT))["errors"],
                         ["json_syntax", "run_not_terminated"])

    def test_identity(self):
        for value, code in ((..., "event_field_malformed"), (None, "event_field_malformed"),
                            ("\ud800", "lone_surrogate")):
            for key in ("threadId", "runId"):
                events = [started(**{key: value}), snapshot(message()), finished()]
                self.assertEqual(errors(events), code)
                self.assertEqual(errors(events[:1]), " ".join(sorted([code, "run_not_terminated"])))
                if value is not ...:
                    self.assertEqual(errors([started(), snapshot(message()), finished(**{key: value})]), code)

    def test_terminal(self):
        good = snapshot(message())
        self.assertEqual(errors([started(), finished(), failed(message="x"), good]),
                         "events_after_terminal terminal_several")
        self.assertEqual(errors([started(), good, finished(threadId="u")]), "terminal_names_other_thread")
        self.assertEqual(errors([started(), good, finished(threadId=1, runId="u")]), "event_field_malformed")
        self.assertEqual(errors([started(), good, finished(runId="u")], STRICT), "terminal_names_other_run")
        self.assertEqual(omitted(project([started(), good, finished(code=1, runId="u")])),
                         ["2 /runId terminal_names_other_run", "2 /code key_outside_subset"])

    def test_types(self):
        many = [event("X%d" % n) for n in range(513)] + [event("Y" * 129), event("X0"), event("CUSTOM"), event("META")]
        answer = ended(snapshot(message()), *many)
        # RUN_STARTED and MESSAGES_SNAPSHOT come first, so 510 others are counted separately.
        self.assertEqual(omitted(answer), ["-  families_uncounted 5"])


class Times(unittest.TestCase):
    """Section 5."""

    def test_label(self):
        for text, wanted in (("2026-01-31T14:00:00.50+02:00", "2026-01-31T12:00:00.500000Z"),
                             ("2026-01-31T14:00:00.000000Z", "2026-01-31T14:00:00Z"),
                             ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
                             ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z")):
            self.assertEqual(label(instant(text)), wanted)
        self.assertEqual(label(instant("9999-12-31T23:59:59.999999Z") + 1), "10000-01-01T00:00:00Z")

    def test_sources(self):
        good = snapshot(message())
        at = instant("2026-01-01T00:00:00Z")

        def times(first, last, **more):
            answer = project([started(timestamp=first), good, finished(timestamp=last)], **more)
            if "times" not in answer:
                return answer["errors"]
            value = artifact(answer)
            return answer["times"], value["started_at"][11:], value.get("finished_at", "")[11:], len(answer["omissions"])

        self.assertEqual(times(T0, T0 + 1), ("event", "00:00:00Z", "00:00:00.001000Z", 0))
        self.assertEqual(times(T0, 5), ("event", "00:00:00Z", "", 1))
        for bad in (1.5, "1", True, None, 5, 1735689599999, 4102444800001, 10 ** 30, -(10 ** 30)):
            self.assertEqual(times(bad, T0), ["started_at_missing"])
        self.assertEqual(times(1735689600000, 4102444800000)[0], "event")
        arrivals = Arrivals(b"200\t0\n10000\t7\n", at)
        self.assertEqual(times(5, T0, arrivals=arrivals), ("arrival", "00:00:00Z", "00:00:00.000007Z", 2))
        self.assertEqual(times(T0 + 86400001, T0, arrivals=arrivals)[0], "arrival")
        self.assertEqual(times(T0 + 86400000, T0, arrivals=arrivals), ["times_out_of_order"])
        self.assertEqual(times(5, T0, arrivals=Arrivals(b"100\t0\n", at)), ("arrival", "00:00:00Z", "", 2))
        given = ("2026-01-01T01:00:00+01:00", None)
        self.assertEqual(times(5, T0, operator=given), ("operator", "00:00:00Z", "", 2))
        self.assertEqual(times(T0, T0, operator=given)[0], "event")

    def test_arrivals(self):
        frame = Frame(0, b"", 10)
        arrivals = Arrivals(b"9\t5\n10\t6\n12\t6\n", 100)
        self.assertEqual((arrivals.valid, arrivals.of(frame)), (True, 106))
        frame.end = 13
        self.assertIsNone(arrivals.of(frame))

        def sound(data, size, first=100, ended=200):
            return Arrivals(data, 100, size, first, ended, whole=True).valid

        self.assertTrue(sound(b"", 0) and sound(b"3\t0\n", 3) and sound(b"3\t0\n4\t100\n", 4))
        for bad in (b"0\t0\n4\t0\n", b"04\t0\n", b"4\t0", b"4 0\n", b"4\t0\r\n", b"4\t1\n", b"3\t0\n", b"5\t0\n",
                    b"4\t0\n4\t0\n", b"3\t0\n4\t101\n", b"\xb2\t0\n", b"", b"9999999999999999999\t0\n"):
            self.assertFalse(sound(bad, 4), bad)
        self.assertFalse(sound(b"4\t0\n", 4, first=None))


class Ends(unittest.TestCase):
    """Section 6."""

    def test_parent(self):
        good = snapshot(message())
        for value, strict, reducing in (
            ("p", "frozen", []), (1, "wrong_type", "wrong_type"), ("\ud800", "lone_surrogate", "lone_surrogate"),
            (None, "value_null", ["0 /parentRunId value_null", "0 /a key_outside_subset"]),
            (" ", "value_blank", ["0 /parentRunId value_blank", "0 /a key_outside_subset"]),
        ):
            events = [started(a=1, parentRunId=value), good, finished()]
            self.assertEqual(errors(events, STRICT), strict)
            if reducing and type(reducing) is list:
                self.assertEqual(omitted(project(events)), reducing)
            elif reducing:
                self.assertEqual(errors(events), reducing)

    def test_error_texts(self):
        good = snapshot(message())

        def texts(projection=REDUCING, profile="v1", **members):
            answer = project([started(), good, failed(**members)], projection, profile=profile)
            if "errors" in answer:
                return answer["errors"]
            value = artifact(answer)
            return [value.get("error_message"), value.get("error_code")] + omitted(answer)

        self.assertEqual(texts(message="m", code="c"), ["m", "c"])
        self.assertEqual(texts(), ["key_missing"])
        self.assertEqual(texts(message=None), ["wrong_type"])
        self.assertEqual(texts(code=None, message="m"), ["m", None, "2 /code value_null"])
        self.assertEqual(texts(STRICT, code=None, message="m"), ["value_null"])
        self.assertEqual(texts(STRICT, message="a\nb"), ["control_character"])
        self.assertEqual(texts(STRICT, message=" "), ["value_blank"])
        self.assertEqual(texts(message="a\nb", code="x" * 129), ["a", "x" * 128, "2 /message text_shortened", "2 /code text_shortened"])
        self.assertEqual(texts(code="\nb", message="m"), ["m", "b", "2 /code text_shortened"])
        self.assertEqual(texts(code="\n\n", message=" m"), [" m", None, "2 /code text_shortened", "2 /code value_blank"])
        self.assertEqual(texts(message="\n"), ["key_missing"])
        self.assertEqual(texts(message="\ud800"), ["lone_surrogate"])
        self.assertEqual(texts(message="a\n\ud800"), ["a", None, "2 /message text_shortened"])
        self.assertEqual(texts(message="x" * 1024, z=1), ["x" * 1024, None, "2 /z key_outside_subset"])
        self.assertEqual(texts(message="  " + "x" * 200 + "y", profile="assay"),
                         ["  " + "x" * 200, None, "2 /message text_shortened"])
        self.assertEqual(texts(message="  " + "x" * 200 + " ", profile="assay"), ["  " + "x" * 200 + " ", None])

    def test_stack_trace(self):
        trace = "Traceback (most recent call last):"
        for text, wanted in (
            ("boom\n" + trace, ("boom", "error_stack_trace")), ("boom\\r\\n  " + trace, ("boom", "error_stack_trace")),
            ("bo\nom\n" + trace, ("bo", "text_shortened")), (trace, ("", "error_stack_trace")),
            ("n " + trace, ("n", "error_stack_trace")), ("x" * 1024 + " " + trace, ("x" * 1024, "error_stack_trace")),
            ("x" * 1025 + " " + trace, ("x" * 1024, "text_shortened")), ("boom at x", ("boom at x", None)),
            ("x" * 8160 + trace, ("x" * 1024, "text_shortened")),
        ):
            self.assertEqual(shorten(text, 1024, None), wanted)
        self.assertEqual(shorten(" " + "x" * 300 + trace, 1024, 200), (" " + "x" * 200, "error_stack_trace"))
        good = snapshot(message())
        self.assertEqual(errors([started(), good, failed(message=trace)], STRICT), "error_stack_trace")
        self.assertEqual(errors([started(), good, failed(message=trace)]), "key_missing")

    def test_other_keys(self):
        answer = project([started(input=1, **{"a~/\ud800\udc01x\udc00": 2}), snapshot(message(), timestamp=1, b=1),
                          finished(timestamp=T0, message="x", result=1)], STRICT)
        self.assertEqual(omitted(answer), [
            "0 /input key_outside_subset", "0 /a~0~1\U00010001x\ufffd key_outside_subset",
            "2 /message key_outside_subset", "2 /result key_outside_subset",
            "1 /timestamp key_outside_subset", "1 /b key_outside_subset"])


class Emitted(unittest.TestCase):
    """Section 7."""

    def test_selection(self):
        events = [started(), snapshot(message(id="a")), snapshot(message(id="b")), finished()]
        self.assertEqual(errors([started(), finished()]), "snapshot_missing")
        self.assertEqual(errors(events), "snapshot_several")
        for selection, wanted in (("first", "a"), ("last", "b"), ("1", "a"), ("2", "b")):
            answer = project(events, snapshot=selection)
            self.assertEqual(artifact(answer)["messages"][0]["id"], wanted)
            self.assertEqual(omitted(answer), ["%d  snapshot_not_chosen" % (2 if wanted == "a" else 1)])
        for selection in ("3", "9" * 5000):
            self.assertEqual(errors(events, snapshot=selection), "snapshot_out_of_range")

    def test_many(self):
        events = [started()] + [snapshot(message())] * 10003 + [finished(x=1)]
        answer = omitted(project(events, snapshot="first"))
        self.assertEqual(answer[:2] + answer[-2:], [
            "10004 /x key_outside_subset", "2  snapshot_not_chosen", "10000  snapshot_not_chosen",
            "-  omissions_past_limit 3"])

    def test_built(self):
        mark = {"p20export": {"origin": "built"}}
        self.assertEqual(errors([started(), snapshot(1, metadata=mark), finished()]), "snapshot_built snapshot_malformed")
        for other in (None, {"p20export": []}, {"p20export": {"origin": "Built"}}):
            answer = ended(snapshot(message(), metadata=other))
            self.assertEqual(omitted(answer), ["1 /metadata key_outside_subset"])

    def test_malformed(self):
        for value in (..., None, {}):
            self.assertEqual(errors([started(), event("MESSAGES_SNAPSHOT", messages=value), finished()]),
                             "snapshot_malformed")


class Messages(unittest.TestCase):
    """Section 8."""

    def judged(self, value, projection=REDUCING):
        answer = ended(snapshot(message(id="x"), value), projection=projection)
        if "errors" in answer:
            return " ".join(answer["errors"])
        return [one for one in artifact(answer)["messages"] if one["id"] != "x"] + omitted(answer)

    def test_page(self):
        value = {"id": "m", "role": "user", "content": [{"type": "text", "text": "a", "k": 1},
                                                        {"type": "text", "text": "b"}], "x": None}
        self.assertEqual(self.judged(value), [{"id": "m", "role": "user", "content": "ab"},
                                              "1 /messages/1/content text_parts_joined",
                                              "1 /messages/1/content/0/k key_outside_subset",
                                              "1 /messages/1/x key_outside_subset"])
        self.assertEqual(self.judged(value, STRICT), "content_not_text key_outside_subset")

    def test_misfits(self):
        out = "1 /messages/1 "
        for members, strict, reducing in (
            ({"role": ...}, "role_outside_subset", ["role_outside_subset"]),
            ({"role": []}, "role_outside_subset", ["role_outside_subset"]),
            ({"content": ...}, "content_missing", ["content_missing"]),
            ({"content": None}, "content_missing", ["content_missing"]),
            ({"content": 1}, "content_not_text", ["content_not_text"]),
            ({"content": "\u00a0"}, "content_blank", ["content_blank"]),
            ({"content": []}, "content_blank content_not_text", ["content_blank"]),
            ({"content": [{"type": "text", "text": " "}]}, "content_blank content_not_text", ["content_blank"]),
            ({"content": [{"type": "image", "text": "x"}]}, "content_not_text", ["content_not_text"]),
            ({"content": [{"type": "text", "text": "x"}, 1]}, "content_not_text", ["content_not_text"]),
            ({"role": "reasoning", "content": " "}, "content_blank role_outside_subset",
             ["role_outside_subset", "content_blank"]),
        ):
            self.assertEqual(self.judged(message(**members), STRICT), strict, members)
            self.assertEqual(self.judged(message(**members)), [out + code for code in reducing], members)
        self.assertEqual(self.judged(message(role=1, id=1, name=1, k=1)),
                         [out + "role_outside_subset", "1 /messages/1/k key_outside_subset"])

    def test_kept(self):
        for members, wanted in (
            ({"id": ...}, "key_missing"), ({"id": None}, "wrong_type"), ({"id": "\udc00"}, "lone_surrogate"),
            ({"content": "\ud83d"}, "lone_surrogate"), ({"name": 1}, "wrong_type"), ({"name": "\ud800"}, "lone_surrogate"),
            ({"id": "x "}, "message_id_repeated"),
        ):
            self.assertEqual(self.judged(message(**members)), wanted)
        self.assertEqual(self.judged(message(name=None, k=1)), [message(), "1 /messages/1/name value_null",
                                                                "1 /messages/1/k key_outside_subset"])
        self.assertEqual(self.judged(message(name=" ")), [message(), "1 /messages/1/name value_blank"])
        self.assertEqual(self.judged(message(name=" "), STRICT), "value_blank")
        self.assertEqual(self.judged(message(name=None), STRICT), "value_null")
        parts = [{"type": "text", "text": "\ud83d"}, {"type": "text", "text": "\ude00"}]
        self.assertEqual(self.judged(message(content=parts))[0]["content"], "\U0001f600")

    def test_elements(self):
        self.assertEqual(self.judged([]), "snapshot_malformed")
        many = [message(id="m%d" % n) for n in range(2001)]
        self.assertEqual(errors([started(), snapshot(*many, 1), finished()]), "messages_too_many")
        self.assertEqual(errors([started(), snapshot(*many[:2000], 1), finished()]), "snapshot_malformed")
        self.assertEqual(errors([started(), snapshot(*many[:2000], message(role="x"), 1), finished()]), "snapshot_malformed")
        self.assertEqual(errors([started(), snapshot(*many[:2000], message(role="x"), 1), finished()], STRICT),
                         "role_outside_subset")

    def test_text(self):
        self.assertEqual(text_of([{"type": "text", "text": "a"}, 1, {"type": "x", "text": "b"}, {"type": "text"}]), "a")


class Lacking(unittest.TestCase):
    """Section 9."""

    def found(self, held, texts, asked=None, **more):
        chunks = [event("TEXT_MESSAGE_CHUNK", messageId="s%d" % n, role=role, delta=text)
                  for n, (role, text) in enumerate(texts)]
        shot = snapshot(*[message(id="h%d" % n, role=role, content=text) for n, (role, text) in enumerate(held)])
        request = None
        if asked is not None:
            request = {"messages": [{"role": role, "content": text} for role, text in asked]}
        answer = ended(*chunks, shot, request=request, **more)
        return [int(one.split()[0]) - 1 for one in omitted(answer) if one.endswith("snapshot_lacks_streamed_text")]

    def test_page(self):
        asked, answer = [("user", "Hi")], [("assistant", "Hello, you.")]
        self.assertEqual(self.found(asked, answer, asked), [0])
        self.assertEqual(self.found(asked + [("assistant", "Hello,"), ("assistant", "you.")], answer, asked), [])
        self.assertEqual(self.found(asked + [("assistant", "So: Hello, you.")], answer, asked), [0])
        self.assertEqual(self.found(asked + answer, answer, asked), [])

    def test_joined(self):
        two = [("assistant", "a"), ("assistant", "b")]
        self.assertEqual(self.found([("assistant", "x"), ("assistant", "ab"), ("user", "u")], two), [])
        self.assertEqual(self.found([("assistant", "ab"), ("assistant", "x")], two), [0, 1])
        self.assertEqual(self.found([("assistant", "xab")], two), [0, 1])

    def test_echo(self):
        asked = [("assistant", "ok"), ("user", "again")]
        self.assertEqual(self.found(asked, [("assistant", "ok")], asked), [0])
        self.assertEqual(self.found(asked, [("assistant", "ok")]), [])
        self.assertEqual(self.found([("assistant", "ok")] + asked, [("assistant", " o k")], asked), [])
        self.assertEqual(self.found(asked + [("assistant", "ok")], [("assistant", "ok"), ("assistant", "ok")], asked), [1])
        self.assertEqual(self.found(asked, [("reasoning", "x"), ("assistant", " ")], asked), [])

    def test_input(self):
        asked = {"messages": [message(role="assistant", content="ok")]}
        chunk = event("TEXT_MESSAGE_CHUNK", messageId="s", delta="ok")
        events = [started(input=asked), chunk, snapshot(message(role="assistant", content="ok")), finished()]
        lack = "1  snapshot_lacks_streamed_text"
        self.assertIn(lack, omitted(project(events)))
        self.assertIn(lack, omitted(project(events, STRICT)))
        self.assertNotIn(lack, omitted(project(events, request={"messages": []})))
        self.assertIn(lack, omitted(project(events, request={"messages": [], "runId": "z"})))
        self.assertIn(lack, omitted(project(events, request=b"x")))

    def test_faults_of_the_stream(self):
        content = event("TEXT_MESSAGE_CONTENT", messageId="s", delta="x")
        chunks = [event("TEXT_MESSAGE_CHUNK", messageId="s", delta="a"),
                  event("TEXT_MESSAGE_CHUNK", messageId="s", role="user", delta="b"), content]
        self.assertEqual(omitted(ended(*chunks, snapshot(message(role="assistant", content="ab")))), [])


class Asked(unittest.TestCase):
    """Section 10."""

    def folded(self, *middle, begin=None, **more):
        return project([begin or started(), *middle, finished()], FOLDED, **more)

    def test_absent(self):
        chunk = event("TEXT_MESSAGE_CHUNK", messageId="a", delta="x")
        self.assertEqual(omitted(self.folded(chunk)), ["request.json  request_absent"])
        given = {"threadId": "t", "runId": "r", "messages": [message()], "tools": []}
        answer = self.folded(chunk, begin=started(input=given))
        self.assertEqual([one["id"] for one in artifact(answer)["messages"]], ["m", "a"])
        self.assertEqual(omitted(answer), ["request.json  request_absent", "0 /input/tools key_outside_subset"])
        answer = self.folded(chunk, begin=started(input=None))
        self.assertEqual(omitted(answer), ["0 /input key_outside_subset", "request.json  request_absent"])

    def test_request(self):
        chunk = event("TEXT_MESSAGE_CHUNK", messageId="a", delta="x")
        for request, code in ((b"", "json_syntax"), ([], "request_malformed"), ({"messages": {}}, "request_malformed"),
                              ({"messages": [1]}, "request_malformed"), (b'{"a":1,"a":1}', "json_duplicate_key"),
                              ({"messages": [message(id=" a ")]}, "streamed_id_in_request"),
                              ({"messages": [{"id": "a"}]}, "streamed_id_in_request")):
            self.assertEqual(self.folded(chunk, request=request)["errors"], [code])
        answer = self.folded(chunk, request={"b/": 1, "messages": [message(k=1)]}, begin=started(input=1))
        self.assertEqual(omitted(answer), ["0 /input key_outside_subset", "request.json /messages/0/k key_outside_subset",
                                           "request.json /b~1 key_outside_subset"])

    def test_other_run(self):
        chunk = event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")
        for members, key in (({"runId": "R", "threadId": 1}, "runId"), ({"runId": "r", "threadId": None}, "threadId"),
                             ({"runId": None}, "runId")):
            answer = self.folded(chunk, request=dict(members, messages=[message()], k=1))
            self.assertEqual(omitted(answer), ["request.json /%s request_names_other_run" % key])
            self.assertEqual(len(artifact(answer)["messages"]), 1)

    def test_snapshot(self):
        self.assertEqual(self.folded(snapshot(), event("TEXT_MESSAGE_CHUNK"), request=b"")["errors"], ["snapshot_present"])


class Streamed(unittest.TestCase):
    """Section 11."""

    def folded(self, *middle, **more):
        return project([started(), *middle, finished()], FOLDED, **more)

    def codes(self, *middle):
        answer = self.folded(event("TEXT_MESSAGE_CHUNK", messageId="ok", delta="ok"), *middle)
        return " ".join(answer.get("errors", []))

    def test_page(self):
        text = "TEXT_MESSAGE_"
        answer = self.folded(
            event(text + "CHUNK", messageId="s", subagentRunId="A", delta="x"), event(text + "CHUNK", delta="y"),
            event(text + "CHUNK", messageId="a", role="user", delta="x"), event(text + "CHUNK", delta="y", name="n"),
            event(text + "START", messageId="s", subagentRunId="A"),
            event(text + "START", messageId="a", subagentRunId="A"), event(text + "CHUNK", delta="z"))
        self.assertEqual(artifact(answer)["messages"], [{"id": "a", "role": "user", "content": "xyz"}])
        self.assertEqual(omitted(answer), ["request.json  request_absent", "1  subagent_text",
                                           "4 /name key_outside_subset", "6  subagent_text"])

    def start(self, **members):
        return event("TEXT_MESSAGE_START", **dict({"messageId": "a"}, **members))

    def content(self, **members):
        return event("TEXT_MESSAGE_CONTENT", **dict({"messageId": "a", "delta": "x"}, **members))

    def end(self, **members):
        return event("TEXT_MESSAGE_END", **dict({"messageId": "a"}, **members))

    def chunk(self, **members):
        return event("TEXT_MESSAGE_CHUNK", **members)

    def test_open(self):
        self.assertEqual(self.codes(self.start(), self.content(), self.end(), self.start(), self.content()), "")
        for bad in ((self.content(),), (self.end(),), (self.start(), self.end(), self.content()),
                    (self.chunk(messageId="a", delta="x"), self.content())):
            self.assertEqual(self.codes(*bad), "text_event_not_open")
        self.assertEqual(self.codes(self.content(delta=1)), "text_event_not_open")
        for bad in (self.content(delta=None), self.content(delta=...), self.start(messageId=...),
                    self.start(messageId="\ud800"), self.chunk(messageId=1), self.chunk(messageId="b", delta=None)):
            self.assertEqual(self.codes(self.start(), bad), "event_field_malformed")

    def test_speakers(self):
        two = "message_has_two_speakers"
        for first, second, wanted in (
            ({}, {"role": "user"}, two), ({"role": "assistant"}, {"role": None}, ""), ({"role": 1}, {"role": []}, ""),
            ({"role": ""}, {"role": []}, ""), ({"name": "n"}, {"name": "n"}, ""), ({"name": "n"}, {"name": "m"}, two),
            ({"name": None}, {"name": "n"}, two), ({"name": "n"}, {}, ""), ({"name": None}, {"name": False}, two),
            ({"name": "n"}, {"role": "assistant", "name": 1}, two),
        ):
            self.assertEqual(self.codes(self.start(**first), self.start(**second)), wanted, (first, second))
        for one, other, wanted in ((1, 2.5, False), (True, False, True), ([], {}, True), ([1], [], False), (1, True, True)):
            self.assertEqual(folding._differ(one, other), wanted)

    def test_continued(self):
        answer = self.folded(self.start(role="user"), self.content(), self.start(role="user", name="n", k=1), self.content())
        self.assertEqual(artifact(answer)["messages"], [{"id": "a", "role": "user", "content": "xx"}])
        self.assertEqual(omitted(answer)[1:], ["3 /name key_outside_subset", "3 /k key_outside_subset"])

    def test_other_keys(self):
        about = {"timestamp": 1, "rawEvent": 1, "subagentRunId": None}
        answer = self.folded(self.start(delta="y", **about), self.content(role=1, name=1, **about),
                             self.end(delta=1, **about), self.chunk(messageId="b", delta="x", k=1, **about))
        self.assertEqual(omitted(answer)[1:], ["1 /delta key_outside_subset", "2 /role key_outside_subset",
                                               "2 /name key_outside_subset", "3 /delta key_outside_subset",
                                               "4 /k key_outside_subset"])

    def test_current(self):
        closed = "text_event_not_open"
        first = self.chunk(messageId="a", delta="x")
        for kind in folding.CLOSING + folding.CLOSING_ALL[3:]:
            if kind != "MESSAGES_SNAPSHOT":
                self.assertEqual(self.codes(first, event(kind), self.chunk(delta="y")), closed, kind)
                self.assertEqual(self.codes(first, event(kind, subagentRunId="A"), self.chunk(delta="y")), "", kind)
        for kind in ("RAW", "X", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "SUBAGENT_STARTED", "REASONING_ENCRYPTED_VALUE"):
            self.assertEqual(self.codes(first, event(kind), self.chunk(delta="y")), "")
        self.assertEqual(self.codes(first, self.start(messageId="b"), self.chunk()), closed)
        self.assertEqual(self.codes(first, self.chunk(subagentRunId="A")), closed)

    def test_lanes(self):
        closed = "text_event_not_open"
        a = self.chunk(messageId="s", subagentRunId="A")
        b = self.chunk(messageId="q", subagentRunId="B")
        stop = event("STEP_STARTED")
        plain = self.chunk(delta=1)
        self.assertEqual(self.codes(stop, a, plain), "")
        self.assertEqual(self.codes(stop, a, b, plain), closed)
        self.assertEqual(self.codes(stop, a, b, event("CUSTOM", subagentRunId="B"), plain), "")
        self.assertEqual(self.codes(stop, a, a, event("CUSTOM", subagentRunId="A"), plain), closed)
        self.assertEqual(self.codes(a, self.chunk(subagentRunId="A", delta=1)), "")
        self.assertEqual(self.codes(a, self.chunk(subagentRunId=1, delta=1)), closed)
        self.assertEqual(self.codes(stop, self.chunk(messageId="s", subagentRunId=1), self.chunk(subagentRunId="")), "")
        self.assertEqual(self.codes(stop, a, self.chunk(messageId="s"), plain), "")

    def test_messages(self):
        answer = self.folded(self.start(role="activity"), self.content(), self.chunk(messageId="b", delta=" "),
                             self.chunk(messageId="c", name=None, delta="x"), self.chunk(messageId="d", name=" ", delta="\ud83d"),
                             self.chunk(messageId="d", delta="\ude00", name=" "))
        self.assertEqual(artifact(answer)["messages"], [
            {"id": "c", "role": "assistant", "content": "x"}, {"id": "d", "role": "assistant", "content": "\U0001f600"}])
        self.assertEqual(omitted(answer)[1:], ["1  role_outside_subset", "3  content_blank", "4 /name value_null",
                                               "5 /name value_blank"])
        for members, code in (({"name": 1}, "wrong_type"), ({"name": "\ud800"}, "lone_surrogate")):
            self.assertEqual(self.codes(self.chunk(messageId="z", delta="x", **members)), code)
        self.assertEqual(self.codes(self.chunk(messageId="z", delta="\ude00")), "lone_surrogate")
        self.assertEqual(self.codes(self.chunk(messageId="ok ", delta="x")), "message_id_repeated")

    def test_room(self):
        room, folding.ROOM = folding.ROOM, 1000
        try:
            start = self.start(role="user", name="n")  # takes 256 + 1 + 6 + 3
            self.assertEqual(self.codes_of(start, self.content(delta="x" * 732)), "")
            self.assertEqual(self.codes_of(start, self.content(delta="x" * 733)), "file_too_large")
            self.assertEqual(self.codes_of(start, self.content(delta="x" * 400), self.content(delta="x" * 330)), "")
            self.assertEqual(self.codes_of(start, self.content(delta="x" * 400), self.content(delta="x" * 331)), "file_too_large")
            sub = self.chunk(messageId="s", subagentRunId="\ud800")  # 256 + 1, 256 + 3
            self.assertEqual(self.codes_of(start, sub, sub, self.content(delta="x" * 216)), "")
            self.assertEqual(self.codes_of(start, sub, sub, self.content(delta="x" * 217)), "file_too_large")
        finally:
            folding.ROOM = room

    def codes_of(self, *middle):
        return " ".join(self.folded(*middle, event("RAW", filler="x" * 2000)).get("errors", []))


class End(unittest.TestCase):
    """Sections 12 to 14."""

    def test_nothing_left(self):
        for projection in (STRICT, REDUCING):
            self.assertEqual(errors([started(), snapshot(), finished()], projection), "nothing_left")
        self.assertEqual(errors([started(), finished()], FOLDED), "nothing_left")
        self.assertEqual(errors([started(timestamp=0), snapshot(), finished()]), "started_at_missing")

    def test_contract(self):
        self.assertEqual(errors([started(runId="a b"), snapshot(message(), message()), finished()]),
                         "message_id_repeated ref_not_opaque")
        events = [started(), snapshot(message(content="x" * 401)), finished()]
        self.assertEqual((errors(events), errors(events, profile="assay")), ("frozen", "too_long"))

    def test_bounds(self):
        answer = omitted(ended(snapshot(message(), **{"k%d" % n: 1 for n in range(10003)})))
        self.assertEqual((len(answer), answer[-1]), (10001, "-  omissions_past_limit 3"))
        omissions = Omissions()
        for size in (8388600, 9, 8, 1, 0):
            omissions.add(1, "x" * size, "r")
        self.assertEqual([len(one["pointer"]) for one in omissions.answer()], [8388600, 8, 0, 0])
        self.assertEqual(omissions.answer()[-1], {"pointer": "", "reason": "omissions_past_limit", "count": 2})
        whole = Omissions()
        for _ in range(9999):
            whole.add(1, "", "r")
        whole.add_all(omissions)
        self.assertEqual((len(whole.listed), whole.past), (10000, 4))

    def test_pointer(self):
        self.assertEqual(token("a/~b"), "/a~1~0b")
        self.assertEqual(token("\ud800\ud800x\udc00"), "/\ufffdx\ufffd")

    def test_envelope(self):
        def line(data):
            return line_of(Frame(0, data, 0))

        self.assertEqual(line(b' {"a": 1,\t"b":"\\u0041 \\"\\\\ "}\r'), '{"a": 1,\t"b":"\\u0041 \\"\\\\ "}\n')
        self.assertEqual(line(b'{"a":\r "\\\\ \\" x" ,\n\t"b" : "\xc3\xa9 " }'), '{"a":"\\\\ \\" x","b":"\u00e9 "}\n')

    def test_built(self):
        chunk = event("TEXT_MESSAGE_CHUNK", messageId="a", name="\u00e9/", delta="x\"\x01\n")
        answer = project([started(), chunk, finished()], FOLDED)
        self.assertEqual(answer["envelope"].splitlines()[1],
                         '{"type":"MESSAGES_SNAPSHOT","metadata":{"p20export":{"origin":"built"}},"messages":['
                         '{"id":"a","role":"assistant","content":"x\\"\\u0001\\n","name":"\u00e9/"}]}')
        built = answer["envelope"].encode()
        self.assertEqual(errors(built), "snapshot_built")

    def test_array_malformed(self):
        data = b"[" + b",".join(lines(started(), snapshot(), finished()).splitlines()) + b"]x"
        response = Response(data, "json")
        self.assertEqual(response.project(response.runs[0], Settings(STRICT))["errors"], ["array_malformed", "nothing_left"])


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
