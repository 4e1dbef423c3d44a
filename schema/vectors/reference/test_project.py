"""Tests the projector: the example of docs/projections.md, and its sections 4 to 7 and 12 to 14."""

import unittest

from p20.bounded import line_of
from p20.ends import shorten
from p20.frames import Frame
from p20.moments import Arrivals, instant, label
from p20.omissions import Omissions, token
from p20.projection import FOLDED, REDUCING, STRICT, Response, Settings
from sample_runs import (
    EXAMPLE, T0, artifact, ended, errors, event, failed, finished, lines, message, omitted, project, snapshot, started,
)


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


if __name__ == "__main__":
    unittest.main()
