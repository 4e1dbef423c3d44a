"""Tests the order of events: runs, items, steps, subagents, owners and chunks."""

import io
import json
import unittest

from streams import call, chunk, event, finished, in_run, row, span, started, step, subagent, text, thought, verdict
from witness import serve

LIFECYCLE, SUBAGENTS, STREAMING = "events/lifecycle", "events/subagents", "basic/patterns/streaming"
MESSAGES, CALLS, REASONING = "events/text-messages", "events/tool-calls", "events/reasoning"
ERROR = event("RUN_ERROR", message="no")
RAW = event("RAW", event=1)


class Case(unittest.TestCase):
    def accepts(self, *events, **how):
        answer = in_run(*events, **how)
        self.assertIsNone(verdict(answer), answer)

    def rejects(self, at, page, code, *events, **how):
        self.assertEqual(verdict(in_run(*events, **how)), (at, page, code))


class Runs(Case):
    def test_first_event(self):
        self.assertIsNone(verdict(row(ERROR)))
        self.assertIsNone(verdict(row(ERROR, started(), finished())))
        self.assertEqual(verdict(row(RAW, started())), (0, LIFECYCLE, "first-event"))
        self.assertEqual(verdict(row(finished())), (0, LIFECYCLE, "first-event"))

    def test_after_close(self):
        self.assertIsNone(verdict(row(started(), finished(), ERROR, started(run="s"), finished(run="s"))))
        self.assertIsNone(verdict(row(started(), finished(), started(run="s"), finished(run="s"))))
        self.assertEqual(verdict(row(started(), finished(), RAW)), (2, LIFECYCLE, "after-close"))
        self.assertEqual(verdict(row(started(), ERROR, finished())), (2, LIFECYCLE, "after-close"))
        self.assertEqual(verdict(row(started(), ERROR, ERROR)), (2, LIFECYCLE, "after-close"))
        self.assertEqual(verdict(row(started(), finished(), chunk(messageId="m"))), (2, LIFECYCLE, "after-close"))

    def test_nested(self):
        self.assertEqual(verdict(row(started(), started(run="s"))), (1, LIFECYCLE, "nested-run"))

    def test_error_ends_everything(self):
        self.assertIsNone(verdict(row(started(), text("START"), step("STARTED"), subagent("STARTED"), ERROR,
                                      started(run="s"), text("START"), text("END"), finished(run="s"))))
        self.assertEqual(verdict(row(started(), text("START"), ERROR, started(), text("CONTENT"))),
                         (4, MESSAGES, "not-open"))

    def test_identity(self):
        for events, at, code in (((started(), finished(run="s")), 1, "finished-run"),
                                 ((started(), finished(thread="u")), 1, "finished-thread"),
                                 ((started(), finished(), started(thread="u")), 2, "other-thread"),
                                 ((ERROR, started(), finished(), started(thread="u")), 3, "other-thread")):
            self.assertEqual(verdict(row(*events, protocol="draft")), (at, "basic/run-input", code))
            for protocol in ("1.0", "1.1"):
                self.assertIsNone(verdict(row(*events, protocol=protocol)))
        self.assertIsNone(verdict(row(started(), finished(), started(run="s"), finished(run="s"), protocol="draft")))

    def test_interrupts(self):
        def asked(*names):
            asking = {"type": "interrupt", "interrupts": [{"id": name, "reason": "r"} for name in names]}
            return started(), finished(outcome=asking)

        self.assertIsNone(verdict(row(*asked("i", "j"), protocol="draft")))
        self.assertEqual(verdict(row(*asked("i", "j", "i"), protocol="draft")),
                         (1, "basic/patterns/interrupt-resume", "interrupt-id"))
        self.assertIsNone(verdict(row(*asked("i", "i"))))

    def test_truncation(self):
        cut = (started(), text("START"))
        self.assertEqual(verdict(row(*cut, protocol="draft")), (2, "basic/transports", "truncated"))
        answer = row(*cut)
        self.assertIsNone(verdict(answer))
        self.assertTrue(answer["truncated"])
        self.assertTrue(row()["truncated"])
        self.assertIsNone(verdict(row(protocol="draft")))
        self.assertFalse(row(started(), finished())["truncated"])
        self.assertFalse(row(started(), ERROR)["truncated"])


class Items(Case):
    FAMILIES = ((text, MESSAGES, "CONTENT"), (call, CALLS, "ARGS"), (thought, REASONING, "CONTENT"))

    def test_open_content_close(self):
        for make, page, content in self.FAMILIES:
            self.accepts(make("START"), make(content), make(content), make("END"))
            self.accepts(make("START"), make("END"), make("START"), make(content), make("END"))
            self.accepts(make("START", "x"), make("START", "y"), make("END", "x"), make("END", "y"))
            self.rejects(2, page, "already-open", make("START"), make("START"))
            self.rejects(1, page, "not-open", make(content))
            self.rejects(1, page, "not-open", make("END"))
            self.rejects(3, page, "not-open", make("START"), make("END"), make(content))
            self.rejects(2, LIFECYCLE, "open-at-finish", make("START"))

    def test_spans(self):
        self.accepts(span("START"), thought("START", "s"), thought("END", "s"), span("END"))
        self.accepts(span("START"), span("END"), span("START"), span("END"))
        self.rejects(2, REASONING, "already-open", span("START"), span("START"))
        self.rejects(1, REASONING, "not-open", span("END"))
        self.rejects(2, REASONING, "not-open", span("START"), thought("CONTENT", "s"))
        self.rejects(2, LIFECYCLE, "open-at-finish", span("START"))

    def test_steps(self):
        self.accepts(step("STARTED"), step("STARTED", "act"), step("FINISHED"), step("FINISHED", "act"))
        self.accepts(step("STARTED"), step("STARTED", subagentRunId="a"), step("FINISHED", subagentRunId="a"),
                     step("FINISHED"))
        self.rejects(2, LIFECYCLE, "already-open", step("STARTED"), step("STARTED"))
        self.rejects(1, LIFECYCLE, "not-open", step("FINISHED"))
        self.rejects(2, LIFECYCLE, "not-open", step("STARTED", subagentRunId="a"), step("FINISHED"))
        self.rejects(2, LIFECYCLE, "open-at-finish", step("STARTED"))

    def test_results_do_not_reopen(self):
        given = event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content="")
        self.accepts(given)
        self.accepts(call("START"), given, call("ARGS"), call("END"), given)
        self.rejects(4, CALLS, "not-open", call("START"), call("END"), given, call("ARGS"))

    def test_encrypted_value_for_nothing(self):
        self.accepts(event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="?", encryptedValue="v"))


class Owners(Case):
    def test_continuations(self):
        for make, _, content in Items.FAMILIES:
            self.accepts(make("START", subagentRunId="a"), make(content), make(content, subagentRunId="a"),
                         make("END"))
            for later in (content, "END"):
                self.rejects(2, SUBAGENTS, "attribution", make("START", subagentRunId="a"),
                             make(later, subagentRunId="b"))
                self.rejects(2, SUBAGENTS, "attribution", make("START"), make(later, subagentRunId="b"))
        self.rejects(2, SUBAGENTS, "attribution", span("START"), span("END", subagentRunId="a"))
        self.accepts(span("START", subagentRunId="a"), span("END"))

    def test_reopened(self):
        for make in (text, thought):
            first = (make("START", subagentRunId="a"), make("END"))
            self.accepts(*first, make("START", subagentRunId="a"), make("END"))
            self.accepts(*first, make("START"), make("CONTENT", subagentRunId="a"), make("END"))
            self.rejects(3, SUBAGENTS, "attribution", *first, make("START", subagentRunId="b"))
        self.accepts(call("START", subagentRunId="a"), call("END"), call("START", subagentRunId="b"), call("END"))
        self.accepts(text("START", subagentRunId="a"), text("END"), finished(), started(run="s"),
                     text("START", subagentRunId="b"), text("END"))

    def test_snapshot_gives_owners(self):
        mine = event("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", "subagentRunId": "a"}])
        self.rejects(2, SUBAGENTS, "attribution", mine, text("START", subagentRunId="b"))
        self.accepts(mine, text("START", subagentRunId="a"), text("END"))
        none = event("MESSAGES_SNAPSHOT", messages=[])
        self.accepts(mine, none, text("START", subagentRunId="b"), text("END"))

    def test_activities(self):
        def drawn(**more):
            return event("ACTIVITY_SNAPSHOT", messageId="v", activityType="t", content={}, **more)

        def changed(**more):
            return event("ACTIVITY_DELTA", messageId="v", activityType="t", patch=[], **more)

        self.accepts(changed(subagentRunId="a"))
        self.accepts(drawn(subagentRunId="a"), changed(), changed(subagentRunId="a"))
        self.rejects(2, SUBAGENTS, "attribution", drawn(), changed(subagentRunId="a"))
        self.accepts(drawn(subagentRunId="a"), drawn(subagentRunId="b"), changed(subagentRunId="b"))
        self.rejects(3, SUBAGENTS, "attribution", drawn(subagentRunId="a"),
                     drawn(subagentRunId="b", replace=False), changed(subagentRunId="b"))

    def test_call_inherits_from_its_message(self):
        said = (text("START", subagentRunId="a"), call("START", parentMessageId="m"))
        self.accepts(*said, call("ARGS", subagentRunId="a"), call("END"), text("END"))
        self.rejects(3, SUBAGENTS, "attribution", *said, call("ARGS", subagentRunId="b"))

    def test_subagents(self):
        self.accepts(subagent("STARTED"), subagent("FINISHED"))
        self.accepts(subagent("STARTED"), subagent("STARTED", "b"), subagent("ERROR"), subagent("FINISHED", "b"))
        self.accepts(text("START", subagentRunId="ghost"), text("END"))
        self.accepts(subagent("STARTED"), subagent("FINISHED"), finished(), started(run="s"), subagent("STARTED"),
                     subagent("ERROR"))
        self.rejects(2, SUBAGENTS, "already-open", subagent("STARTED"), subagent("STARTED"))
        self.rejects(3, SUBAGENTS, "reused", subagent("STARTED"), subagent("FINISHED"), subagent("STARTED"))
        self.rejects(1, SUBAGENTS, "not-open", subagent("FINISHED"))
        self.rejects(1, SUBAGENTS, "not-open", subagent("ERROR"))
        self.rejects(2, SUBAGENTS, "open-at-finish", subagent("STARTED"))


class Chunks(Case):
    FIRST = (chunk(messageId="m"), chunk("TOOL_CALL", toolCallId="c", toolCallName="n"),
             chunk("REASONING_MESSAGE", messageId="m"))
    MORE = (chunk(delta="x"), chunk("TOOL_CALL", delta="x"), chunk("REASONING_MESSAGE", delta="x"))

    def test_first_and_later(self):
        for first, later in zip(self.FIRST, self.MORE):
            self.accepts(first, later, first, later)
            self.rejects(1, STREAMING, "first-chunk", later)
        self.rejects(1, STREAMING, "first-chunk", chunk("TOOL_CALL", toolCallId="c"))
        self.rejects(1, STREAMING, "first-chunk", chunk("TOOL_CALL", toolCallName="n"))
        self.rejects(2, STREAMING, "first-chunk", chunk(messageId="m"), chunk("TOOL_CALL", delta="x"))
        self.rejects(2, STREAMING, "first-chunk", self.FIRST[1], chunk("TOOL_CALL", toolCallId="d", delta="x"))

    def test_conflicts(self):
        said = chunk(messageId="m", role="user", name="n")
        self.accepts(said, chunk(role="user", name="n"))
        self.accepts(chunk(messageId="m"), chunk(role="assistant"))
        for later in (chunk(role="assistant"), chunk(name="o"), chunk(messageId="m", role="system")):
            self.rejects(2, STREAMING, "chunk-conflict", said, later)
        self.rejects(2, STREAMING, "chunk-conflict", chunk(messageId="m"), chunk(role="user"))
        self.rejects(2, STREAMING, "chunk-conflict", chunk(messageId="m"), chunk(name="n"))
        made = chunk("TOOL_CALL", toolCallId="c", toolCallName="n", parentMessageId="m")
        self.accepts(made, chunk("TOOL_CALL", toolCallName="n", parentMessageId="m"))
        self.rejects(2, STREAMING, "chunk-conflict", made, chunk("TOOL_CALL", toolCallName="o"))
        self.rejects(2, STREAMING, "chunk-conflict", made, chunk("TOOL_CALL", parentMessageId="o"))

    def test_what_closes(self):
        value = event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="v")
        shown = event("ACTIVITY_SNAPSHOT", messageId="v", activityType="t", content={})
        for between in (RAW, value, shown, event("ACTIVITY_DELTA", messageId="v", activityType="t", patch=[]),
                        subagent("STARTED"), event("WEATHER_REPORT"), step("STARTED", subagentRunId="a"),
                        event("CUSTOM", name="n", value=1, subagentRunId="a"), self.FIRST[0]):
            ends = [subagent("FINISHED")] if between["type"] == "SUBAGENT_STARTED" else []
            ends += [step("FINISHED", subagentRunId="a")] if between["type"] == "STEP_STARTED" else []
            self.accepts(chunk(messageId="m"), between, chunk(delta="x"), *ends)
        for between in (event("CUSTOM", name="n", value=1), event("STATE_SNAPSHOT", snapshot=1),
                        event("STATE_DELTA", delta=[]), step("STARTED"), span("START"), thought("START"),
                        event("MESSAGES_SNAPSHOT", messages=[]), call("START"), text("START", "n"),
                        event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content=""), self.FIRST[1]):
            self.rejects(3, STREAMING, "first-chunk", chunk(messageId="m"), between, chunk(delta="x"))

    def test_another_item_closes(self):
        self.rejects(3, MESSAGES, "not-open", chunk(messageId="m"), chunk(messageId="n"), text("CONTENT"))
        self.accepts(chunk(messageId="m"), chunk(messageId="n"), chunk(messageId="m"))

    def test_forms_do_not_mix(self):
        self.rejects(2, MESSAGES, "not-open", chunk(messageId="m"), text("CONTENT"))
        self.rejects(2, MESSAGES, "not-open", chunk(messageId="m"), text("END"))
        self.accepts(chunk(messageId="m"), text("START"), text("END"))
        self.rejects(2, MESSAGES, "already-open", text("START"), chunk(messageId="m"))
        self.rejects(2, CALLS, "not-open", chunk("TOOL_CALL", toolCallId="c", toolCallName="n", subagentRunId="a"),
                     call("END"))

    def test_lanes(self):
        mine, theirs = chunk(messageId="m"), chunk(messageId="n", subagentRunId="a")
        other = chunk(messageId="o", subagentRunId="b")
        self.accepts(mine, theirs, chunk(delta="x"), chunk(subagentRunId="a", delta="x"), chunk(messageId="n"))
        self.accepts(theirs, chunk(delta="x"))
        self.rejects(3, STREAMING, "ambiguous-chunk", theirs, other, chunk(delta="x"))
        self.rejects(2, STREAMING, "first-chunk", theirs, chunk(subagentRunId="b"))
        self.rejects(2, SUBAGENTS, "attribution", theirs, chunk(messageId="n", subagentRunId="b"))
        self.rejects(2, SUBAGENTS, "attribution", mine, chunk(messageId="m", subagentRunId="b"))
        self.accepts(mine, step("STARTED", subagentRunId="a"), chunk(delta="x"), step("FINISHED", subagentRunId="a"))

    def test_terminal_event_closes_the_lane(self):
        lane = (subagent("STARTED"), chunk(messageId="m", subagentRunId="a"), subagent("FINISHED"))
        self.accepts(*lane)
        self.rejects(4, STREAMING, "first-chunk", *lane, chunk(delta="x"))
        self.accepts(chunk(messageId="m"), subagent("STARTED"), subagent("ERROR"), chunk(delta="x"))


class Serve(unittest.TestCase):
    def test_rows(self):
        ask = [json.dumps({"protocol": "1.1", "events": [json.dumps(started()), json.dumps(end)]}) + "\n"
               for end in (finished(), RAW)]
        out = io.StringIO()
        self.assertEqual(serve(ask, out), 0)
        rows = [json.loads(line) for line in out.getvalue().splitlines()]
        self.assertEqual([answer["truncated"] for answer in rows], [False, True])


if __name__ == "__main__":
    unittest.main()
