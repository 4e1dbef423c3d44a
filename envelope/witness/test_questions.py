"""Tests that events are marked on which the specification leaves a choice, and others are not."""

import unittest

from streams import call, chunk, event, finished, in_run, row, span, started, step, subagent, text, thought


def value(subtype="message", **more):
    return event("REASONING_ENCRYPTED_VALUE", subtype=subtype, encryptedValue="v", **more)


def listed(**more):
    return event("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", **more}])


class Questions(unittest.TestCase):
    def raises(self, expected, *events, wrap=in_run):
        answer = wrap(*events)
        self.assertEqual([(mark["event"], mark["question"]) for mark in answer["open"]], expected, answer)

    def test_plain(self):
        self.raises([], text("START", subagentRunId="a"), text("CONTENT"), text("END", subagentRunId="a"),
                    call("START"), call("END"), span("START"), span("END"), step("STARTED"), step("FINISHED"))
        self.raises([], text("START", subagentRunId="a"), text("END", subagentRunId="b"))

    def test_calls(self):
        said = (text("START", subagentRunId="a"), text("END"))
        self.raises([(3, "call-owner")], *said, call("START", parentMessageId="m", subagentRunId="b"), call("END"))
        self.raises([], *said, call("START", parentMessageId="m"), call("END"))
        self.raises([(3, "call-reopened")], call("START"), call("END"), call("START", subagentRunId="b"), call("END"))
        self.raises([(3, "call-owner")], call("START"), *said[:1], call("START", parentMessageId="m"))

    def test_values(self):
        self.raises([(2, "value-owner")], text("START"), value(entityId="m", subagentRunId="a"), text("END"))
        self.raises([], text("START"), value(entityId="m"), value("tool-call", entityId="m", subagentRunId="a"),
                    text("END"))

    def test_spans(self):
        self.raises([(2, "span-owner")], span("START", "m"), thought("START", subagentRunId="a"), thought("END"),
                    span("END", "m"))
        self.raises([], span("START", "s"), thought("START", subagentRunId="a"), thought("END"), span("END", "s"))

    def test_sources(self):
        given = event("TOOL_CALL_RESULT", messageId="m", toolCallId="c", content="")
        self.raises([(2, "result-owner")], given, text("START", subagentRunId="a"), text("END"))
        self.raises([(3, "snapshot-owner")], text("START"), listed(subagentRunId="a"), text("END", subagentRunId="a"))
        self.raises([(4, "snapshot-owner")], text("START"), text("END"), event("MESSAGES_SNAPSHOT", messages=[]),
                    text("START", subagentRunId="a"), text("END"))
        asked = {"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": ""}]}
        self.raises([(1, "input-owner")], started(input=asked), text("START", subagentRunId="a"), text("END"),
                    finished(), wrap=row)

    def test_parents(self):
        self.raises([(1, "unknown-parent")], subagent("STARTED", parentSubagentRunId="z"), subagent("FINISHED"))
        self.raises([], subagent("STARTED"), subagent("STARTED", "b", parentSubagentRunId="a"),
                    subagent("FINISHED", "b"), subagent("FINISHED"))

    def test_lanes(self):
        theirs = (text("START", "n", subagentRunId="a"), chunk(messageId="m"))
        self.raises([(3, "lane"), (4, "lane"), (5, "lane"), (6, "lane"), (6, "lane")], *theirs, text("CONTENT", "n"),
                    text("END", "n"), chunk(delta="x"))
        self.raises([], *theirs, text("CONTENT", "n", subagentRunId="a"), chunk(delta="x"),
                    text("END", "n", subagentRunId="a"))

    def test_retired(self):
        self.raises([(1, "retired"), (2, "retired")], event("THINKING_START"), {"type": 5})
        self.raises([(1, "retired")], event("RAW", event=1, rawEvent=None))
        self.raises([], event("RAW", event=None))


if __name__ == "__main__":
    unittest.main()
