"""Projects runs as docs/projections.md defines, under the profile v1.

It implements only what the figures need. Events of subagents, which no committed capture has,
are an error.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from capture import TERMINAL, Event, Run, Unexpected
from contract import CONTROL, NO_SPACE, ROLES, SPACE, V1_LIMITS, Finding
from contract import blank, format_time, instant, stack_trace, trim, validate

JSON_SPACE = b" \t\r\n"
HEAD = ("thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at")

Message = dict[str, str]


@dataclass
class Result:
    """The result of a projection. Findings refuse the run; omissions concern messages."""

    artifact: dict[str, Any] | None = None
    snapshot: bytes = b""  # the second line of the envelope
    missing: int = 0  # streamed messages that the snapshot lacks
    findings: list[Finding] = field(default_factory=list)
    omissions: list[Finding] = field(default_factory=list)

    def refuse(self, code: str, pointer: str = "", event: str = "") -> None:
        self.findings.append(Finding(code, pointer, event))

    def omit(self, code: str, pointer: str) -> None:
        self.omissions.append(Finding(code, pointer))


@dataclass
class Streamed:
    """A message of the stream during folding (section 11)."""

    id: str
    role: str
    name: Any
    named: bool
    text: str = ""
    open: bool = False


def arrival(run: Run, event: Event) -> datetime | None:
    if event.arrival is None:
        return None
    return instant(run.capture.manifest["started_at"]) + timedelta(microseconds=event.arrival)


def event_time(run: Run, event: Event) -> datetime | None:
    """The timestamp of the event, if it is plausible (L4)."""
    stamp = event.value.get("timestamp")
    if isinstance(stamp, bool) or not isinstance(stamp, int):
        return None
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    arrived = arrival(run, event)
    first = datetime(2025, 1, 1, tzinfo=timezone.utc)
    last = arrived + timedelta(hours=24) if arrived else datetime(2100, 1, 1, tzinfo=timezone.utc)
    milliseconds = timedelta(milliseconds=1)
    if not (first - epoch) / milliseconds <= stamp <= (last - epoch) / milliseconds:
        return None
    return epoch + stamp * milliseconds


def times(run: Run) -> tuple[str, datetime | None, datetime | None]:
    """The source of times and both labels (L1)."""
    for source, of in (("event", event_time), ("arrival", arrival)):
        if started := of(run, run.started):
            return source, started, of(run, run.terminal) if run.terminal else None
    return "", None, None


def emitted(run: Run, select: str = "only") -> Result:
    """Applies emitted-snapshot-text, with the selection "only" or "last"."""
    result = Result()
    ends = end_keys(run, result)
    snapshots = run.snapshots
    if not snapshots:
        result.refuse("snapshot_missing")
    elif len(snapshots) > 1 and select == "only":
        result.refuse("snapshot_several")
    elif run.terminal:
        chosen = snapshots[-1]
        if "p20export" in (chosen.value.get("metadata") or {}):
            raise Unexpected("a built snapshot")
        listed = chosen.value.get("messages")
        if not isinstance(listed, list):
            result.refuse("snapshot_malformed")
        else:
            messages = read_messages(listed, result, "/messages", "snapshot_malformed")
            finish(run, result, ends, messages, line(chosen.data))
            if result.artifact:
                result.missing = len(missing_messages(run, listed))
    return result


def folded(run: Run) -> Result:
    """Applies folded-stream."""
    result = Result()
    ends = end_keys(run, result)
    if run.snapshots:
        result.refuse("snapshot_present")
    elif run.terminal:
        messages = history(run, result)
        text = json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
        snapshot = '{"type":"MESSAGES_SNAPSHOT","metadata":{"p20export":{"origin":"built"}},"messages":%s}' % text
        finish(run, result, ends, messages, snapshot.encode())
    return result


def history(run: Run, result: Result) -> list[Message]:
    """Returns the messages of the request, followed by those of the stream (sections 10 and 11)."""
    request = run.capture.request
    messages: list[Message] = []
    requested: set[str] = set()
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        result.refuse("request_malformed")
    elif of_this_run(run):
        messages = read_messages(request["messages"], result, "/messages", "request_malformed")
        requested = {trim(m["id"]) for m in request["messages"] if isinstance(m, dict) and isinstance(m.get("id"), str)}
    for streamed in fold(run, result):
        if trim(streamed.id) in requested:
            result.refuse("streamed_id_in_request")
        elif streamed.role in ROLES and not blank(streamed.text):
            message = {"id": streamed.id, "role": streamed.role, "content": streamed.text}
            if streamed.named and check_name(streamed.name, result, "/name"):
                message["name"] = streamed.name
            messages.append(message)
    return messages


def of_this_run(run: Run) -> bool:
    """Whether the request names this run or no run (Q5)."""
    request, started = run.capture.request, run.started.value
    return all(request[key] == started.get(key, "") for key in ("runId", "threadId") if key in request)


def end_keys(run: Run, result: Result) -> dict[str, Any]:
    """Returns the keys of the artifact from RUN_STARTED and the terminal event (sections 4 to 6), in order."""
    started, terminal = run.started.value, run.terminal
    for key in ("threadId", "runId"):
        if not isinstance(started.get(key), str):
            result.refuse("event_field_malformed", "/" + key, run.started.type)
    if not terminal:
        result.refuse("run_not_terminated")
        return {}
    for event in run.events[run.events.index(terminal) + 1 :]:
        result.refuse("terminal_several" if event.type in TERMINAL else "events_after_terminal")
    for key in ("threadId", "runId"):
        if key in terminal.value and not isinstance(terminal.value[key], str):
            result.refuse("event_field_malformed", "/" + key, terminal.type)
    if terminal.value.get("threadId", started.get("threadId")) != started.get("threadId"):
        result.refuse("terminal_names_other_thread", "/threadId")

    ends = {"thread_id_ref": started.get("threadId"), "run_id_ref": started.get("runId")}
    parent = started.get("parentRunId")
    if parent is not None and not isinstance(parent, str):
        result.refuse("wrong_type", "/parentRunId")
    elif parent is not None and not blank(parent):
        ends["parent_run_id_ref"] = parent
    _, began, ended = times(run)
    if began is None:
        result.refuse("started_at_missing")
    else:
        ends["started_at"] = format_time(began)
    if ended:
        ends["finished_at"] = format_time(ended)
    ends["terminal_event"] = terminal.type
    for key in ("code", "message"):
        if terminal.type != "RUN_ERROR" or key not in terminal.value or (key, terminal.value[key]) == ("code", None):
            continue
        if not isinstance(terminal.value[key], str):
            result.refuse("wrong_type", "/" + key)
        elif not blank(text := shortened(terminal.value[key], V1_LIMITS[key])):
            ends["error_" + key] = text
    return ends


def shortened(text: str, limit: int) -> str:
    """Shortens an error text as the reducing projections do (B6)."""
    rest = text.lstrip(SPACE)
    if CONTROL.search(text[: len(text) - len(rest)]):
        text = rest
    cuts = [limit, len(text)]
    if control := CONTROL.search(text):
        cuts.append(control.start())
    if (trace := stack_trace(text)) is not None:
        cuts.append(trace)
    return text[: min(cuts)]


def read_messages(listed: list[Any], result: Result, at: str, malformed: str) -> list[Message]:
    """Returns the messages of a list that section 8 accepts."""
    taken: list[Message] = []
    for number, message in enumerate(listed):
        pointer = f"{at}/{number}"
        if not isinstance(message, dict):
            result.refuse(malformed, pointer)
            continue
        faults = subset_violations(message)
        for code in faults:
            result.omit(code, pointer)
        for key in message:
            if key not in ("id", "role", "content", "name"):
                result.omit("key_outside_subset", f"{pointer}/{key}")
        if faults:
            continue
        if isinstance(message["content"], list):
            result.omit("text_parts_joined", pointer + "/content")
        made: Message = {"id": "", "role": message["role"], "content": text_of(message["content"])}
        if "id" not in message:
            result.refuse("key_missing", pointer + "/id")
        elif not isinstance(message["id"], str):
            result.refuse("wrong_type", pointer + "/id")
        else:
            made["id"] = message["id"]
        if "name" in message and check_name(message["name"], result, pointer + "/name"):
            made["name"] = message["name"]
        taken.append(made)
    return taken


def subset_violations(message: dict[str, Any]) -> list[str]:
    """Returns why a message is outside the text subset (U2)."""
    faults = [] if message.get("role") in ROLES else ["role_outside_subset"]
    content = message.get("content")
    if content is None:
        faults.append("content_missing")
    elif not isinstance(content, (str, list)) or (isinstance(content, list) and not all(map(text_part, content))):
        faults.append("content_not_text")
    elif blank(text_of(content)):
        faults.append("content_blank")
    return faults


def text_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def text_of(content: Any) -> str:
    """Returns the text of a message's content (U2)."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if text_part(part)) if isinstance(content, list) else ""


def check_name(name: Any, result: Result, pointer: str) -> bool:
    """Whether the artifact keeps this name (U6)."""
    if name is not None and not isinstance(name, str):
        result.refuse("wrong_type", pointer)
    elif name is None or blank(name):
        result.omit("value_null" if name is None else "value_blank", pointer)
    else:
        return True
    return False


def fold(run: Run, result: Result) -> list[Streamed]:
    """Returns the messages that the run streamed, in the order of their start (section 11)."""
    messages: dict[str, Streamed] = {}
    for event in run.events:
        value, kind = event.value, event.type.removeprefix("TEXT_MESSAGE_")
        if kind == event.type:
            continue
        if value.get("subagentRunId") is not None or value.get("messageId") is None:
            raise Unexpected(f"{run.capture.name}: a text event of a subagent or without an id")
        known = messages.get(value["messageId"])
        if kind in ("START", "CHUNK"):
            role = "assistant" if value.get("role") is None else value["role"]
            if known is None:
                known = Streamed(value["messageId"], role, value.get("name"), "name" in value)
                messages[known.id] = known
            elif "role" in value and role != known.role:
                result.refuse("message_has_two_speakers")
            elif "name" in value and known.named and value["name"] != known.name:
                result.refuse("message_has_two_speakers")
            known.open = known.open or kind == "START"
        elif known is None or not known.open:
            result.refuse("text_event_not_open")
            continue
        if kind == "END":
            known.open = False
        elif kind == "CONTENT" or (kind == "CHUNK" and "delta" in value):
            if isinstance(value.get("delta"), str):
                known.text += value["delta"]
            else:
                result.refuse("event_field_malformed", "/delta")
    return list(messages.values())


def missing_messages(run: Run, listed: list[Any]) -> list[Streamed]:
    """Returns the streamed messages that a snapshot lacks (section 9)."""
    streamed = [(m, (m.role, m.text.translate(NO_SPACE))) for m in fold(run, Result()) if m.role in ROLES]
    streamed = [(m, pair) for m, pair in streamed if pair[1]]
    held = texts_by_role(listed)
    request = run.capture.request
    requested = texts_by_role(request.get("messages", [])) if of_this_run(run) else []
    ends = [n for n, pair in enumerate(held) if requested and pair == requested[-1]]
    echo, past = (held[: ends[-1] + 1], held[ends[-1] + 1 :]) if ends else ([], held)

    missing = []
    seen: dict[tuple[str, str], int] = {}
    for message, pair in streamed:
        have = past.count(pair) + max(0, echo.count(pair) - requested.count(pair))
        seen[pair] = seen.get(pair, 0) + 1
        if seen[pair] > have:
            missing.append(message)
    for role in {message.role for message in missing}:
        whole = "".join(text for _, (of, text) in streamed if of == role)
        texts = [text for of, text in past if of == role]
        if any("".join(texts[n:]) == whole for n in range(len(texts))):
            missing = [message for message in missing if message.role != role]
    return missing


def texts_by_role(listed: list[Any]) -> list[tuple[str, str]]:
    """Returns pairs of role and text without white space (X1, X3)."""
    pairs = [
        (m["role"], text_of(m.get("content")).translate(NO_SPACE))
        for m in listed
        if isinstance(m, dict) and isinstance(m.get("role"), str)
    ]
    return [pair for pair in pairs if pair[1]]


def line(data: bytes) -> bytes:
    """Returns an event's line in the envelope, without the LF (V2)."""
    data = data.strip(JSON_SPACE)
    if b"\r" in data or b"\n" in data:
        raise Unexpected("the data of an event has several lines")
    return data


def envelope(run: Run, result: Result) -> bytes:
    assert run.terminal
    return b"".join(part + b"\n" for part in (line(run.started.data), result.snapshot, line(run.terminal.data)))


def finish(run: Run, result: Result, ends: dict[str, Any], messages: list[Message], snapshot: bytes) -> None:
    """Makes and checks the artifact, unless there are findings (section 12)."""
    if result.findings:
        return
    if not messages:
        result.refuse("nothing_left")
        return
    value: dict[str, Any] = {
        "schema": "ag-ui.compacted-message-snapshot.export.v1",
        "framework": "ag_ui",
        "surface": "compacted_message_snapshot_artifact",
        **{key: text for key, text in ends.items() if key in HEAD},
        "messages": messages,
        **{key: text for key, text in ends.items() if key not in HEAD},
    }
    result.findings = validate(value, V1_LIMITS)
    if not result.findings:
        result.artifact, result.snapshot = value, snapshot
