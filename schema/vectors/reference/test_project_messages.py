"""Tests the messages of the projector: sections 8 to 11 of docs/projections.md."""

import unittest

from p20 import fold as folding
from p20.messages import text_of
from p20.projection import FOLDED, REDUCING, STRICT
from sample_runs import artifact, ended, errors, event, finished, message, omitted, project, snapshot, started


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


if __name__ == "__main__":
    unittest.main()
