"""Tests enforcement: what is removed, what is malformed, and what is data."""

import unittest

from streams import call, event, finished, in_run, removed, row, started, text, verdict

MALFORMED = (1, "basic/processing", "malformed")
RESULT = {"messageId": "m", "toolCallId": "c"}


def result(*parts):
    return event("TOOL_CALL_RESULT", content=list(parts), **RESULT)


def snapshot(*messages):
    return event("MESSAGES_SNAPSHOT", messages=list(messages))


def delta(*operations):
    return event("STATE_DELTA", delta=list(operations))


class Enforcement(unittest.TestCase):
    def check(self, one, places=(), fatal=None, protocol="1.1"):
        """Compares what becomes of one event within a run."""
        answer = in_run(one, protocol=protocol)
        self.assertEqual(verdict(answer), fatal, answer)
        self.assertEqual(removed(answer), [(1, *place) for place in places])

    def test_whole_events(self):
        self.check(event("WEATHER_REPORT", messageId=5), [("", "event")])
        self.check(event("THINKING_START"), [("", "event")])
        self.check({"messageId": "m"}, fatal=MALFORMED)
        self.check({"type": 5}, fatal=MALFORMED)
        self.check({"type": None}, fatal=MALFORMED)
        self.assertEqual(verdict(row("{")), (0, "basic/transports/http-sse", "not-json"))
        self.assertEqual(verdict(row("NaN")), (0, "basic/transports/http-sse", "not-json"))
        self.assertEqual(verdict(row("[" * 100000)), (0, "basic/transports/http-sse", "not-json"))
        self.assertEqual(verdict(row("[]")), (0, "basic/transports/http-sse", "not-an-object"))

    def test_unknown_first_event_is_not_seen(self):
        self.assertIsNone(verdict(row(event("WEATHER_REPORT"), started(), finished())))

    def test_properties(self):
        self.check(event("CUSTOM", name="n", value=None, zap=1), [("/zap", "property")])
        self.check(event("CUSTOM", name="n", value={"zap": 1}))
        self.check(event("CUSTOM", name="n", value=1, **{"a/b~c": 1}), [("/a~1b~0c", "property")])
        self.check(event("CUSTOM", name="n"), fatal=MALFORMED)
        self.check(event("CUSTOM", name=1, value=1), fatal=MALFORMED)
        self.check(event("RAW", event=None, source="s"))
        self.check(event("RAW", source="s"), fatal=MALFORMED)

    def test_envelope(self):
        raw = event("RAW", event=1)
        for good in (0, -1, 1.0, 2**53 - 1, 1 - 2**53):
            self.check({**raw, "timestamp": good})
        for bad in (1.5, 2**53, -(2**53), "1", None, True, 1e300, 10**50):
            self.check({**raw, "timestamp": bad}, fatal=MALFORMED)
        self.check({**raw, "metadata": {"any": None}, "rawEvent": []})
        self.check({**raw, "metadata": None}, fatal=MALFORMED)
        self.check({**raw, "metadata": []}, fatal=MALFORMED)
        self.check({**raw, "rawEvent": None}, fatal=MALFORMED)
        self.check({**raw, "subagentRunId": None}, fatal=MALFORMED)

    def test_numbers_without_bounds(self):
        template = '{"type":"RAW","event":1,"timestamp":%s}'
        for number, fatal in (("1e999999999999999999999", MALFORMED), ("1e-400", MALFORMED), ("10e-1", None),
                              ("9" * 5000, MALFORMED), ("-0", None)):
            self.assertEqual(verdict(row(started(), template % number, finished())), fatal, number[:20])

    def test_run_scoped_events_have_no_owner(self):
        answer = row(started(subagentRunId="a"), finished())
        self.assertEqual(removed(answer), [(0, "/subagentRunId", "property")])

    def test_roles(self):
        for role in ("developer", "system", "assistant", "user"):
            self.assertIsNone(verdict(in_run(text("START", role=role), text("END"))))
        answer = in_run(text("START", role="narrator"), text("END"))
        self.assertIsNone(verdict(answer))
        self.assertEqual(removed(answer), [(1, "/role", "value")])
        self.check(text("START", role=None), fatal=MALFORMED)
        self.check(text("START", role=7), fatal=MALFORMED)

    def test_fixed_values(self):
        self.check(event("TOOL_CALL_RESULT", content="", role="tool", **RESULT))
        self.check(event("TOOL_CALL_RESULT", content="", role="user", **RESULT), fatal=MALFORMED)
        self.check(event("REASONING_MESSAGE_START", messageId="m", role="assistant"), fatal=MALFORMED)
        self.check(event("REASONING_MESSAGE_START", messageId="m"), fatal=MALFORMED)

    def test_required_unknown_value_removes_the_event(self):
        value = {"entityId": "m", "encryptedValue": "v"}
        self.check(event("REASONING_ENCRYPTED_VALUE", subtype="message", **value))
        self.check(event("REASONING_ENCRYPTED_VALUE", subtype="plan", **value), [("", "event")])
        self.check(event("REASONING_ENCRYPTED_VALUE", subtype=1, **value), fatal=MALFORMED)
        self.check(event("REASONING_ENCRYPTED_VALUE", subtype="plan", entityId="m"), fatal=MALFORMED)

    def test_encrypted_value_type(self):
        value = event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="v",
                      encryptedValueType="x")
        wrong = {**value, "encryptedValueType": 1}
        for protocol in ("1.1", "draft"):
            self.check(value, protocol=protocol)
            self.check(wrong, fatal=MALFORMED, protocol=protocol)
        for one in (value, wrong):
            self.check(one, [("/encryptedValueType", "property")], protocol="1.0")
        held = {"id": "m", "role": "reasoning", "content": "", "encryptedValue": "v", "encryptedValueType": "x"}
        self.check(snapshot(held))
        self.check(snapshot(held), [("/messages/0/encryptedValueType", "property")], protocol="1.0")

    def test_outcomes(self):
        def finish(outcome):
            answer = row(started(), finished(outcome=outcome))
            return verdict(answer) or removed(answer)

        self.assertEqual(finish({"type": "cancelled"}), [])
        self.assertEqual(finish({"type": "success", "pendingToolCallIds": []}), [])
        self.assertEqual(finish({"type": "postponed", "until": 5}), [(1, "/outcome", "value")])
        self.assertEqual(finish({"type": "cancelled", "by": "x"}), [(1, "/outcome/by", "property")])
        interrupt = {"id": "i", "reason": "approval", "responseSchema": {"zap": 1}}
        self.assertEqual(finish({"type": "interrupt", "interrupts": [interrupt]}), [])
        self.assertEqual(finish({"type": "interrupt", "interrupts": [{**interrupt, "zap": 1}]}),
                         [(1, "/outcome/interrupts/0/zap", "property")])
        for bad in ([], None, "success", {}, {"type": 1}, {"type": "interrupt"},
                    {"type": "interrupt", "interrupts": []}, {"type": "interrupt", "interrupts": [{"id": "i"}]},
                    {"type": "interrupt", "interrupts": [{**interrupt, "responseSchema": True}]},
                    {"type": "success", "pendingToolCallIds": [1]}):
            self.assertEqual(finish(bad), MALFORMED, bad)
        self.check(event("SUBAGENT_FINISHED", subagentRunId="a", outcome="suspended"), fatal=MALFORMED)

    def test_parts(self):
        picture = {"type": "image", "source": {"type": "url", "value": "u"}}
        self.check(result({"type": "text", "text": ""}, picture))
        self.check(event("TOOL_CALL_RESULT", content=5, **RESULT), fatal=MALFORMED)
        self.check(result({"type": "smell", "source": 5}, picture), [("/content/0", "element")])
        self.check(result({**picture, "source": {"type": "tape"}}), [("/content/0", "element")])
        self.check(result({**picture, "source": {"type": "tape"}, "zap": 1}), [("/content/0", "element")])
        self.check(result({**picture, "source": {"type": "tape"}, "id": 5}), fatal=MALFORMED)
        self.check(result({**picture, "source": {"type": "data", "value": ""}}), fatal=MALFORMED)
        self.check(result({**picture, "source": {"type": "file", "value": "", "provider": "x", "zap": 1}}),
                   [("/content/0/source/zap", "property")])
        self.check(result({"type": "image"}), fatal=MALFORMED)
        self.check(result({"text": "x"}), fatal=MALFORMED)
        self.check(result({**picture, "metadata": None}), fatal=MALFORMED)
        self.check(result({**picture, "metadata": 5}))

    def test_messages(self):
        self.check(snapshot({"id": "m", "role": "assistant"}, {"id": "n", "role": "narrator"}),
                   [("/messages/1", "element")])
        self.check(snapshot({"id": "m", "role": "user"}), fatal=MALFORMED)
        self.check(snapshot({"id": "m", "content": ""}), fatal=MALFORMED)
        self.check(snapshot({"id": "m", "role": "user", "content": [{"type": "smell"}]}),
                   [("/messages/0/content/0", "element")])
        self.check(snapshot({"id": "m", "role": "system", "content": []}), fatal=MALFORMED)
        self.check(snapshot({"id": "m", "role": "tool", "content": "", "toolCallId": "c", "name": "n"}),
                   [("/messages/0/name", "property")])
        self.check(snapshot({"id": "m", "role": "activity", "activityType": "a", "content": {"zap": 1}}))
        made = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{"}}
        self.check(snapshot({"id": "m", "role": "assistant", "toolCalls": [{**made, "zap": 1}]}),
                   [("/messages/0/toolCalls/0/zap", "property")])
        self.check(snapshot({"id": "m", "role": "assistant", "toolCalls": [{**made, "type": "server"}]}),
                   fatal=MALFORMED)
        self.check(event("MESSAGES_SNAPSHOT", messages={}), fatal=MALFORMED)

    def test_patches(self):
        add = {"op": "add", "path": "/a", "value": None}
        self.check(delta(add, {"op": "remove", "path": "", "value": 1, "zap": 1}))
        self.check(delta({"op": "increment", "path": 5}, add), [("/delta/0", "element")])
        self.check(delta({"op": "move", "from": "/a~1", "path": "/b~0"}, {"op": "test", "path": "/a", "value": 1}))
        for bad in ({"op": "add", "path": "/a"}, {"op": "add", "path": "a", "value": 1}, {"path": "/a"},
                    {"op": 5, "path": "/a"}, {"op": "copy", "path": "/a"}, {"op": "remove", "path": "/~2"},
                    {"op": "remove", "path": None}, {"op": "remove", "path": "/a~"}, 5):
            self.check(delta(bad), fatal=MALFORMED)
        self.check(event("STATE_DELTA", delta={}), fatal=MALFORMED)
        self.check(event("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[{"op": "twist"}]),
                   [("/patch/0", "element")])

    def test_input(self):
        request = {"threadId": "t", "runId": "r", "messages": []}

        def start(**more):
            answer = row(started(input={**request, **more}), finished())
            return verdict(answer) or removed(answer)

        wrong = (0, *MALFORMED[1:])
        self.assertEqual(start(tools=[{"name": "n", "description": "d", "zap": 1}]),
                         [(0, "/input/tools/0/zap", "property")])
        self.assertEqual(start(resume=[{"interruptId": "i", "status": "ignored"}]), [(0, "/input/resume/0", "element")])
        self.assertEqual(start(resume=[{"interruptId": "i", "status": "resolved"}], state=0), [])
        self.assertEqual(start(messages=[{"id": "m", "role": "narrator"}]), [(0, "/input/messages/0", "element")])
        for bad in ({"state": None}, {"forwardedProps": None}, {"messages": None}, {"tools": {}}, {"context": [1]},
                    {"context": [{"description": "d", "value": 1}]}):
            self.assertEqual(start(**bad), wrong, bad)

    def test_usage(self):
        for good in ([], [{}], [{"inputTokens": 0, "model": "m"}]):
            self.assertIsNone(verdict(row(started(), finished(usage=good))))
        for bad in ([{"inputTokens": -1}], [{"totalTokens": 0.5}], [{"model": 5}], {}):
            self.assertEqual(verdict(row(started(), finished(usage=bad))), MALFORMED)

    def test_chunks_are_judged_as_events(self):
        self.check(event("TEXT_MESSAGE_CHUNK", messageId="m", role=5), fatal=MALFORMED)
        self.check(event("TEXT_MESSAGE_CHUNK", messageId="m", timestamp="x"), fatal=MALFORMED)
        self.check(event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="n", zap=1), [("/zap", "property")])

    def test_nothing_after_a_rejection(self):
        answer = row(started(), call("START", zap=1), {"type": 5}, event("WEATHER_REPORT"))
        self.assertEqual(removed(answer), [(1, "/zap", "property")])


if __name__ == "__main__":
    unittest.main()
