"""Tests the rules that bind only the producer, on both sides."""

import unittest

from streams import call, duties, event, finished, in_run, row, started, subagent, text, thought, verdict


def drawn(**more):
    return event("ACTIVITY_SNAPSHOT", messageId="v", activityType="t", content={}, **more)


def changed(*patch):
    return event("ACTIVITY_DELTA", messageId="v", activityType="t", patch=list(patch))


def given(message="r", to="c"):
    return event("TOOL_CALL_RESULT", messageId=message, toolCallId=to, content="")


class Duties(unittest.TestCase):
    def broken(self, expected, *events, wrap=in_run, **how):
        answer = wrap(*events, **how)
        self.assertIsNone(verdict(answer), answer)
        self.assertEqual(duties(answer), expected)

    def test_quiet(self):
        self.broken([], text("START"), text("END"), call("START"), call("END"), given())

    def test_shapes(self):
        self.broken([(1, "unknown-event")], event("WEATHER_REPORT"))
        self.broken([(1, "unknown-outcome")], started(), finished(outcome={"type": "postponed"}), wrap=row)
        self.broken([(2, "success-with-interrupts")], subagent("STARTED"),
                    subagent("FINISHED", outcome={"type": "success", "interruptIds": []}))
        self.broken([], subagent("STARTED"), subagent("FINISHED", outcome={"type": "suspended", "interruptIds": []}))

    def test_identity(self):
        self.broken([(1, "finished-run")], started(), finished(run="s"), wrap=row)
        self.broken([(1, "finished-thread")], started(), finished(thread="u"), wrap=row)
        self.broken([(2, "other-thread")], started(), finished(), started(thread="u"), finished(thread="u"), wrap=row)
        self.broken([(2, "run-id")], started(), finished(), started(), finished(), wrap=row)
        undeclared = event("RUN_STARTED", threadId="t", runId="r")
        self.broken([(0, "declaration")], undeclared, finished(), wrap=row)
        self.broken([(0, "declaration")], {**undeclared, "protocolVersion": "draft"}, finished(), wrap=row,
                    protocol="draft")

    def test_interrupts(self):
        asked = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}] * 2}
        self.broken([(1, "interrupt-id")], started(), finished(outcome=asked), wrap=row)

    def test_message_ids(self):
        self.broken([(3, "message-id")], text("START"), text("END"), thought("START"), thought("END"))
        self.broken([(2, "message-id")], given(), given())
        self.broken([], given("r", "c"), given("s", "d"))

    def test_reopened(self):
        first = (text("START", role="user"), text("END"))
        self.broken([], *first, text("START", role="user"), text("END"))
        self.broken([(3, "reopened-otherwise")], *first, text("START"), text("END"))
        self.broken([], text("START"), text("END"), text("START", role="assistant"), text("END"))
        self.broken([(3, "reopened-otherwise")], call("START"), call("END"), call("START", toolCallName="o"),
                    call("END"))
        self.broken([(3, "reopened-otherwise")], call("START"), call("END"), call("START", subagentRunId="a"),
                    call("END"))

    def test_call_owner(self):
        said = text("START", subagentRunId="a")
        self.broken([], said, text("END"), call("START", parentMessageId="m", subagentRunId="a"), call("END"))
        self.broken([(3, "call-owner")], said, text("END"), call("START", parentMessageId="m", subagentRunId="b"),
                    call("END"))

    def test_pending(self):
        def left(*names):
            calls = call("START", "c"), call("END", "c"), call("START", "d"), call("END", "d"), given("r", "d")
            return started(), *calls, finished(outcome={"type": "success", "pendingToolCallIds": list(names)})

        self.broken([], *left("c"), wrap=row)
        self.broken([], *left(), wrap=row)
        self.broken([(6, "pending")], *left("c", "d"), wrap=row)
        self.broken([(6, "pending")], *left("c", "c"), wrap=row)

    def test_subagents(self):
        self.broken([(2, "late-announcement")], text("START", subagentRunId="a"), subagent("STARTED"), text("END"),
                    subagent("FINISHED"))
        self.broken([(1, "unknown-parent")], subagent("STARTED", parentSubagentRunId="z"), subagent("FINISHED"))
        self.broken([], subagent("STARTED"), subagent("STARTED", "b", parentSubagentRunId="a"),
                    subagent("FINISHED", "b"), subagent("FINISHED"))

    def test_activities(self):
        self.broken([], drawn(), changed())
        self.broken([(1, "no-baseline")], changed())
        self.broken([(2, "not-an-object")], drawn(), changed({"op": "replace", "path": "", "value": 1}))
        self.broken([], drawn(), changed({"op": "replace", "path": "", "value": {}}))
        self.broken([(2, "kept-owner")], drawn(subagentRunId="a"), drawn(subagentRunId="b", replace=False))
        self.broken([], drawn(subagentRunId="a"), drawn(subagentRunId="b"))

    def test_artefacts(self):
        def held(**more):
            return event("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", **more}])

        self.broken([(1, "type-without-value")], held(encryptedValueType="x"))
        self.broken([], held(encryptedValueType="x", encryptedValue="v"))

    def test_usage(self):
        def spent(**counts):
            return started(), finished(usage=[counts])

        self.broken([], *spent(inputTokens=3, outputTokens=2, totalTokens=5, cachedInputTokens=3), wrap=row)
        self.broken([(1, "usage-total")], *spent(inputTokens=3, outputTokens=2, totalTokens=6), wrap=row)
        self.broken([(1, "usage-part")], *spent(inputTokens=3, cachedInputTokens=2, cacheWriteInputTokens=2), wrap=row)
        self.broken([(1, "usage-part")], *spent(outputTokens=3, reasoningTokens=4), wrap=row)

    def test_rejected_event_breaks_no_duty(self):
        answer = row(started(), finished(), event("WEATHER_REPORT"), finished(run="s"))
        self.assertEqual(duties(answer), [(2, "unknown-event")])


if __name__ == "__main__":
    unittest.main()
