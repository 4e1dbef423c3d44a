"""Counts the figures of LINT.md: what lint finds in each capture, and what each capture exercises.

It follows docs/lint.md and docs/sequence.md, for the rules that the committed captures break. The
form of events is that of envelope/witness, which was written from AG-UI's specification. If a
capture breaks another rule, the page has a finding that this program lacks, and both disagree.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

import figures
from capture import Capture, Event, arrivals, events, parse_json
from figures import DISCOVERY, Integration
from page import Prose, Table

sys.path.append(str(Path(__file__).resolve().parents[2] / "envelope" / "witness"))
from enforce import enforce  # noqa: E402
from reading import Rejected  # noqa: E402
from shapes import EVENTS  # noqa: E402

ERROR, WARNING, INFO = "error", "warning", "info"
SHAPES = EVENTS["1.0"]
Found = tuple[str, str, str]  # severity, code, rule

FEATURES = (
    "text", "tool-calls", "parallel", "tool-results", "frontend-tools", "reasoning", "steps", "subagents",
    "state-snapshot", "state-delta", "messages-snapshot", "activity", "chunks", "interrupts", "resume", "cancelled",
    "errors", "several-runs", "usage", "metadata", "custom", "raw",
)  # fmt: skip
SIMPLE = {
    "TEXT_MESSAGE_START": "text", "TEXT_MESSAGE_CHUNK": "text", "TOOL_CALL_START": "tool-calls",
    "TOOL_CALL_CHUNK": "tool-calls", "TOOL_CALL_RESULT": "tool-results", "STEP_STARTED": "steps",
    "SUBAGENT_STARTED": "subagents", "STATE_SNAPSHOT": "state-snapshot", "STATE_DELTA": "state-delta",
    "MESSAGES_SNAPSHOT": "messages-snapshot", "ACTIVITY_SNAPSHOT": "activity", "ACTIVITY_DELTA": "activity",
    "RUN_ERROR": "errors", "CUSTOM": "custom", "RAW": "raw",
}  # fmt: skip
OPENS = {"TEXT_MESSAGE": "messageId", "TOOL_CALL": "toolCallId", "SUBAGENT": "subagentRunId"}


def form(event: Event) -> list[Found]:
    """What the event has that AG-UI does not define, or lacks."""
    altered = WARNING, "event_altered", ""
    try:
        _, removed = enforce(SHAPES, event.value)
    except Rejected:
        shape = SHAPES.members[event.type]
        return [(ERROR, "event_refused", ""), *[altered for name in event.value if name not in shape.required | shape.optional]]
    return [altered] * len(removed)


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


class Stream:
    """The rules about the order of events and about ids."""

    def __init__(self) -> None:
        self.started: dict[str, Any] | None = None
        self.failed = self.after = False
        self.texts: dict[str, str] = {}  # what the run streamed, without what a snapshot was compared with
        self.open: dict[str, set[str]] = {"messageId": set(), "toolCallId": set(), "stepName": set()}
        self.calls: set[str] = set()
        self.used: set[str] = set()
        self.chunk = ""

    def event(self, event: Event, first: bool) -> Iterator[Found]:
        value, kind = event.value, event.type
        if first and kind not in ("RUN_STARTED", "RUN_ERROR"):
            yield ERROR, "event_outside_run", "G1"
        if self.failed and kind != "RUN_STARTED":
            if not self.after:
                yield ERROR, "event_outside_run", "G3"
            self.after = True
            return
        if isinstance(value.get("timestamp"), int) and 10**8 <= value["timestamp"] < 10**11:
            yield WARNING, "timestamp_unit", "W18"
        match kind:
            case "RUN_STARTED":
                self.__init__()  # type: ignore[misc]
                self.started = value
            case "RUN_FINISHED":
                if self.started and isinstance(self.started.get("runId"), str) and value["runId"] != self.started["runId"]:
                    yield ERROR, "run_id_differs", "G30"
                if any(self.open.values()):
                    yield ERROR, "left_open", "G23"
            case "RUN_ERROR":
                for rule, member in (("W1", "messageId"), ("W2", "toolCallId"), ("W3", "stepName")):
                    yield from [(INFO, "never_ended", rule)] * len(self.open[member])
                self.failed = True
            case "TEXT_MESSAGE_START":
                if value["messageId"] in self.used:
                    yield WARNING, "id_reused", "W11"
                self.used.add(value["messageId"])
                self.texts.setdefault(value["messageId"], "")
                self.open["messageId"].add(value["messageId"])
            case "TEXT_MESSAGE_CONTENT":
                self.texts[value["messageId"]] += value["delta"]
            case "TEXT_MESSAGE_CHUNK":
                self.chunk = value.get("messageId", self.chunk)
                self.texts[self.chunk] = self.texts.get(self.chunk, "") + value.get("delta", "")
            case "TEXT_MESSAGE_END":
                self.open["messageId"].discard(value["messageId"])
            case "REASONING_MESSAGE_START" | "TOOL_CALL_RESULT":
                self.used.add(value["messageId"])
            case "TOOL_CALL_START" | "TOOL_CALL_CHUNK":
                if value.get("toolCallId"):
                    self.calls.add(value["toolCallId"])
                if kind == "TOOL_CALL_START":
                    self.open["toolCallId"].add(value["toolCallId"])
            case "TOOL_CALL_END":
                self.open["toolCallId"].discard(value["toolCallId"])
            case "STEP_STARTED":
                self.open["stepName"].add(value["stepName"])
            case "STEP_FINISHED":
                self.open["stepName"].discard(value["stepName"])
            case "MESSAGES_SNAPSHOT":
                yield from self.snapshot(value["messages"])

    def snapshot(self, messages: list[dict[str, Any]]) -> Iterator[Found]:
        """Compares what was streamed and ended with a snapshot, once (W14, W15)."""
        held = {message["id"]: text_of(message) for message in messages}
        called = {call["id"] for message in messages for call in message.get("toolCalls") or ()}
        lacking = set()  # each kind counts once for a snapshot
        for id in self.calls - self.open["toolCallId"]:
            self.calls.discard(id)
            if id not in called:
                lacking.add("call")
        for id in [id for id in self.texts if id not in self.open["messageId"]]:
            text = self.texts.pop(id)
            if text and held.get(id) != text:
                lacking.add("text" if id in held else "renamed" if text in held.values() else "message")
        for kind in lacking:
            yield (INFO, "snapshot_renames_message", "W15") if kind == "renamed" else (WARNING, "snapshot_drops_message", "W14")


@dataclass(frozen=True)
class Linted:
    """What is found in a capture."""

    capture: Capture
    runs: int
    found: Counter[Found]
    features: frozenset[str]

    @property
    def accepted(self) -> bool:
        return not any(severity == ERROR for severity, _, _ in self.found)


def exercised(capture: Capture, stream: list[Event]) -> Iterator[str]:
    """The features of docs/lint.md."""
    tools = {tool["name"] for tool in capture.request.get("tools") or ()}
    if capture.request.get("resume"):
        yield "resume"
    open: Counter[str] = Counter()
    if sum(event.type == "RUN_STARTED" for event in stream) > 1:
        yield "several-runs"
    for event in stream:
        kind, value = event.type, event.value
        if kind in SIMPLE:
            yield SIMPLE[kind]
        if kind.endswith("_CHUNK") and kind in SHAPES.members:
            yield "chunks"
        if isinstance(value.get("metadata"), dict):
            yield "metadata"
        if kind.startswith(("REASONING_", "THINKING_")):
            yield "reasoning"
        if value.get("toolCallName") in tools:
            yield "frontend-tools"
        family, _, step = kind.rpartition("_")
        if family in OPENS:
            open[family] += {"START": 1, "STARTED": 1, "END": -1, "FINISHED": -1, "ERROR": -1}.get(step, 0)
            if open[family] > 1:
                yield "parallel"
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            if isinstance(value.get("usage"), list):
                yield "usage"
            outcome = value.get("outcome")
            name = outcome.get("type") if isinstance(outcome, dict) else None
            yield from {"interrupt": ["interrupts"], "cancelled": ["cancelled"]}.get(str(name), [])


def events_of(capture: Capture) -> list[Event]:
    """The events of a response, also of one that is an error."""
    match capture.manifest["framing"]:
        case "sse":
            return events(capture.response, arrivals(capture.path / "arrivals.tsv"))
        case "json":
            value = parse_json(capture.response)
            items = value if isinstance(value, list) else [value]
            return [Event(0, 0, 0, b"", item, None) for item in items if isinstance(item.get("type"), str)]
    return []


def lint(capture: Capture, integration: Integration) -> Linted:
    found: Counter[Found] = Counter()
    received = events_of(capture)
    if capture.http_error:
        found[ERROR, "http_status", "N9" if received else ""] += 1
    if capture.manifest["end"] == "error":
        found[WARNING, "connection_cut", "N8"] += 1
    stream = Stream()
    for index, event in enumerate(received):
        found.update(form(event))
        if event.type in SHAPES.members:  # others are dropped
            found.update(stream.event(event, index == 0))
    for entry in integration.runs:
        if entry.run.capture is capture and entry.verdict != "exact":
            found[INFO, "evidence_lacking", "W20"] += 1
    runs = sum(event.type == "RUN_STARTED" for event in received)
    return Linted(capture, runs, found, frozenset(exercised(capture, received)))


def link(rule: str) -> str:
    page = "sequence" if rule.startswith("G") else "lint"
    return f"[{rule}](../docs/{page}.md#{rule})" if rule else "–"


def checks() -> list[Prose | Table]:
    """Returns every figure of LINT.md with its place."""
    every = figures.integrations()
    linted = [[lint(capture, integration) for capture in integration.captures] for integration in every]
    title = "What lint finds in real integrations"
    sizes = sum(map(len, linted)), len(every)
    found: list[Prose | Table] = [Prose(title, "finds in the {} captures of [the discovery gate](GATE.md): {} integrations", sizes)]
    verdicts, findings = [], []
    for i, rows in zip(every, linted):
        accepted = sum(row.accepted for row in rows)
        without = sum(not row.accepted and row.runs == 0 for row in rows)
        severe = [sum(any(kind[0] == severity for kind in row.found) for row in rows) for severity in (ERROR, WARNING, INFO)]
        verdicts.append([i.name, i.version, len(rows), accepted, len(rows) - accepted - without, without, *severe])
        kinds = {kind for row in rows for kind in row.found}
        for severity, code, rule in sorted(kinds, key=lambda kind: ((ERROR, WARNING, INFO).index(kind[0]), f"{kind[1]} {kind[2]}")):
            having = [row for row in rows if row.found[severity, code, rule]]
            first = having[0].capture
            place = f"[{first.scenario}](captures/{first.name})"
            count = sum(row.found[severity, code, rule] for row in having)
            findings.append([i.name, link(rule), severity, f"`{code}`", len(having), count, place])
    header = "| integration | version | captures | accepted | refused | HTTP errors | with errors | with warnings | with infos |"
    found.append(Table("Verdicts", header, verdicts))
    found.append(Table("Findings", "| integration | rule | severity | code | captures | findings | first capture |", findings))
    features = [[f"`{name}`", *(sum(name in row.features for row in rows) for rows in linted)] for name in FEATURES]
    harnesses = [rows[0].capture.harness for rows in linted]
    found.append(Table("Features", f"| feature | {' | '.join(harnesses)} |", features))
    return found
