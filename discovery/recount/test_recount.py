import json
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rebuilt
import recount
from capture import Capture, Run, events
from contract import refused_reference, stack_trace
from figures import DISCOVERY, AnalyzedRun, breaches, shape
from page import NUMBER, Page, Prose, Table
from projection import emitted, folded

PAGES = {name: (DISCOVERY / name).read_text(encoding="utf-8") for name in recount.PAGES}


def disagreements(text: str, checks: list[Prose | Table]) -> list[str]:
    page = Page(text)
    page.check(checks)
    return page.wrong + page.unchecked()


class ChangedPage(unittest.TestCase):
    def test_every_changed_number_is_reported(self) -> None:
        for name, text in PAGES.items():
            checks = recount.PAGES[name]()
            intact = disagreements(text, checks)
            numbers = list(NUMBER.finditer(text))
            self.assertGreater(len(numbers), 500)
            for number in numbers:
                last = number.end() - 1
                damaged = text[:last] + str((int(text[last]) + 1) % 10) + text[last + 1 :]
                with self.subTest(page=name, number=number[0], around=text[max(0, number.start() - 60) : number.end() + 20]):
                    self.assertNotEqual(disagreements(damaged, checks), intact)

    def test_number_that_is_not_a_figure_is_reported(self) -> None:
        page = Page("# The discovery gate\n\nThere are 17 more.\n")
        self.assertEqual(len(page.unchecked()), 1)


def run(lines: list[dict[str, Any]], requested: list[dict[str, Any]]) -> Run:
    """A run with these events, whose request has these messages."""
    response = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in lines)
    manifest = {"framing": "sse", "source": {"status": 200}}
    capture = Capture("harness", "scenario", manifest, {"messages": requested}, True, response, Path())
    return Run(capture, tuple(events(response, [])))


class Stream(unittest.TestCase):
    def test_lines_and_offsets(self) -> None:
        first, second = b'data: {"type":\r\ndata:"A"}\r\n\r\n', b'data: {"type":"B"}\r\r'
        response = b": comment\r\nevent: x\r\n" + first + b"\n" + second + b'data: {"type":"C"}\n'
        found = events(response, [(40, 7), (len(response), 9)])
        self.assertEqual([event.data for event in found], [b'{"type":\n"A"}', b'{"type":"B"}'])
        covered = [response[event.start : event.stop] for event in found]
        self.assertEqual(covered, [first.removeprefix(b"data: ").strip(), second.removeprefix(b"data: ").strip()])
        self.assertEqual([event.arrival for event in found], [9, 9])


class Boundaries(unittest.TestCase):
    def test_breaches(self) -> None:
        start = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
        end, error = {**start, "type": "RUN_FINISHED"}, {"type": "RUN_ERROR", "message": "x"}
        for lines, want in (
            ([start, end], ""),
            ([start, end, error], ""),
            ([start, error], ""),
            ([start, {**end, "runId": "s"}], "0"),
            ([start, {**end, "threadId": "s"}], "1"),
            ([{**start, "runId": None}, {**end, "runId": "s"}], "03"),
            ([start, end, end], "4"),
            ([start, end, error, error], "4"),
            ([start, error, {**end, "runId": "s"}], "4"),
        ):
            found = "".join(str(at) for at, broken in enumerate(breaches(run(lines, []))) if broken)
            self.assertEqual(found, want, lines)


class Projection(unittest.TestCase):
    START = {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1", "timestamp": 1767225600000}
    END = {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1", "timestamp": 1767225600250}
    USER = {"id": "m1", "role": "user", "content": "Hi"}

    def chunks(self, *texts: str) -> list[dict[str, Any]]:
        return [{"type": "TEXT_MESSAGE_CHUNK", "messageId": text, "delta": text} for text in texts]

    def snapshot(self, *messages: dict[str, Any]) -> dict[str, Any]:
        return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}

    def test_example_in_projections_md(self) -> None:
        parts = {**self.USER, "content": [{"type": "text", "text": "Hi"}]}
        reply = {"id": "m2", "role": "assistant", "content": "Hello."}
        result = emitted(run([self.START, self.snapshot(parts, {**reply, "toolCalls": []}), self.END], [self.USER]))
        assert result.artifact
        self.assertEqual(result.artifact["started_at"], "2026-01-01T00:00:00Z")
        self.assertEqual(result.artifact["finished_at"], "2026-01-01T00:00:00.250000Z")
        self.assertEqual(result.artifact["messages"], [self.USER, reply])
        omitted = [f"{omission.pointer} {omission.code}" for omission in result.omissions]
        self.assertEqual(omitted, ["/messages/0/content text_parts_joined", "/messages/1/toolCalls key_outside_subset"])

    def test_missing_messages(self) -> None:
        def lacks(*texts: str) -> int:
            replies = [{"id": text, "role": "assistant", "content": text} for text in texts]
            events = [self.START, *self.chunks("Hello, you."), self.snapshot(self.USER, *replies), self.END]
            return emitted(run(events, [self.USER])).missing

        self.assertEqual(lacks(), 1)
        self.assertEqual(lacks("So: Hello, you."), 1)
        self.assertEqual(lacks("Hello,", "you."), 0)
        self.assertEqual(lacks("Hello,  you.\n"), 0)

    def test_built(self) -> None:
        result = folded(run([self.START, *self.chunks("a", "b", "a"), self.END], [self.USER]))
        assert result.artifact
        self.assertEqual([message["content"] for message in result.artifact["messages"]], ["Hi", "aa", "b"])


class Rebuilt(unittest.TestCase):
    USER = {"id": "u", "role": "user", "content": "Hi"}

    def test_rebuild(self) -> None:
        found = rebuilt.rebuild(
            run(
                [
                    {**Projection.START, "input": {"messages": [self.USER, {"id": "v", "role": "user", "content": "Ho"}]}},
                    {"type": "TEXT_MESSAGE_START", "messageId": "a", "name": "n"},
                    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "Hel"},
                    {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
                    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "hm"},
                    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "lo"},
                    {"type": "TOOL_CALL_START", "toolCallId": "t", "toolCallName": "f", "parentMessageId": "a"},
                    {"type": "TOOL_CALL_ARGS", "toolCallId": "t", "delta": "{}"},
                    {"type": "TOOL_CALL_START", "toolCallId": "s"},
                    {"type": "TOOL_CALL_CHUNK", "toolCallId": "w", "toolCallName": "f", "parentMessageId": "u", "delta": "1"},
                    {"type": "MESSAGES_SNAPSHOT", "messages": []},
                    {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "t", "content": "ok"},
                    {"type": "TOOL_CALL_RESULT", "messageId": "q", "toolCallId": "none", "content": "ok"},
                ],
                [self.USER],
            )
        )
        self.assertEqual([message["id"] for message in found], ["u", "v", "a", "r", "g", "w", "q"])
        self.assertEqual(found[2]["content"], "Hello")
        self.assertEqual(found[2]["toolCalls"], [{"id": "t", "function": {"name": "f", "arguments": "{}"}}])
        self.assertEqual(found[4]["content"], "hm")

    def test_compare(self) -> None:
        reply = {"id": "a", "role": "assistant", "content": "Hello"}
        calls = [{"id": "t", "function": {"name": "f", "arguments": '{"n": 1}'}}]
        spaced = [{"id": "t", "function": {"name": "f", "arguments": '{"n":1.0}'}}]
        call = {"id": "b", "role": "assistant", "toolCalls": calls}
        both = {**reply, "id": "c", "toolCalls": spaced}
        for one, other, same, want in (
            ([self.USER, reply], [self.USER, {**reply, "toolCalls": []}], 2, []),
            ([call], [{**call, "content": None, "toolCalls": spaced}], 1, []),
            ([reply, call], [both], 0, ["two messages of the stream are one in the snapshot"]),
            ([both], [reply, call], 0, ["one message of the stream is two in the snapshot"]),
            ([self.USER, reply], [reply, self.USER], 2, ["a message is at another position"]),
            ([reply], [{**reply, "content": "Hello\n"}], 0, ["content differs in white space at its ends"]),
            ([reply], [both], 0, ["tool calls are only in the snapshot"]),
            ([self.USER], [self.USER, self.USER], 1, ["a message is in the snapshot twice"]),
            ([self.USER, reply], [self.USER], 1, ["text is only in the stream"]),
        ):
            with self.subTest(want=want):
                found = rebuilt.compare(one, other)
                self.assertEqual((found.same, sorted(found.deviations.elements())), (same, want))
                self.assertLessEqual(set(want), set(rebuilt.DEVIATIONS))

    def test_modern(self) -> None:
        def binary(**more: str) -> dict[str, str]:
            return {"type": "binary", "mimeType": "image/png", **more}

        source = {"type": "data", "value": "QQ==", "mimeType": "image/png"}
        image = {"type": "image", "source": source}
        url = {"type": "url", "value": "u", "mimeType": "text/plain"}
        named = {**image, "metadata": {"filename": "f"}}
        text = {"type": "text", "text": "x"}
        for content, want in (
            ("x", "x"),
            ([text, binary(data="QQ==")], [text, image]),
            ([binary(data="QQ==", filename="f"), image], [named, image]),
            ([binary(data="QQ=="), named, binary(data="QQ==", filename="f")], [named]),
            ([binary(id="f")], [binary(id="f")]),
            ([{**binary(url="u"), "mimeType": "text/plain"}], [{"type": "document", "source": url}]),
        ):
            with self.subTest(content=content):
                self.assertEqual(rebuilt.modern({"content": content})["content"], want)


class Qualification(unittest.TestCase):
    def test_qualifies(self) -> None:
        user = {"id": "u", "role": "user", "content": "Hi"}
        reply = {"id": "a", "role": "assistant", "content": "Hello."}
        end = Projection.END
        failed = {"type": "RUN_ERROR", "message": "no key", "timestamp": end["timestamp"]}
        filler = {"type": "CUSTOM", "name": "n", "value": "x" * 900}
        for messages, last, type, stop, want in (
            ([user, reply], end, "text/event-stream; charset=utf-8", "eof", True),
            ([user], end, "text/event-stream", "eof", False),
            ([user, reply], failed, "text/event-stream", "eof", False),
            ([user, reply], end, "text/plain", "eof", False),
            ([user, reply], end, "text/event-stream", "error", False),
        ):
            snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
            one = run([Projection.START, filler, snapshot, last], [user])
            one.capture.manifest["source"]["content_type"] = type
            one.capture.manifest["end"] = stop
            with patch.object(Capture, "runs", return_value=[one]):
                self.assertEqual(AnalyzedRun(one, emitted(one), "exact").qualifies, want)


class Rules(unittest.TestCase):
    def test_references(self) -> None:
        taken = "thread:7 a/b v1.2/run thread.x urn:uuid:3f8a2f6e example.com:8080"
        refused = "https://a //a WWW.a mailto:a example.com/x localhost/x 10.0.0.1?x [::1]:80"
        for ref in (*taken.split(), "x" * 256):
            self.assertIsNone(refused_reference(ref), ref)
        for ref in (*refused.split(), "", " a", "a b", "x" * 257):
            self.assertIsNotNone(refused_reference(ref), ref)

    def test_stack_traces(self) -> None:
        self.assertIsNone(stack_trace("error in main.go:12"))
        self.assertEqual(stack_trace("boom\nTraceback (most recent call last):"), 4)

    def test_shapes(self) -> None:
        uuid = "ea6357ac-8047-45c3-a1b7-99681be8ab5d"
        for id, want in {
            uuid: "UUID",
            "run-" + uuid: "UUID with a prefix",
            uuid + "-1": "UUID with more text",
            "a/" + uuid: "path-like",
            "17": "number",
            "msg-0123456789abCD": "letters and digits with a prefix",
            "short": "other",
        }.items():
            self.assertEqual(shape(id), want)


if __name__ == "__main__":
    unittest.main()
