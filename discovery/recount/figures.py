"""The figures of GATE.md, following its definitions: verdicts, ids, state and activity, and message differences."""

import html
import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Iterable, TypeGuard
from xml.etree import ElementTree

import capture
import contract
import projection
from capture import Capture, Event, Run
from contract import ROLES, SPACE, Finding, blank
from projection import Message, Result

DISCOVERY = Path(__file__).resolve().parents[1]
ENDS = ("threadId", "runId")


@dataclass(frozen=True, eq=False)
class AnalyzedRun:
    """A run with its verdict and artifact."""

    run: Run
    result: Result
    verdict: str

    @property
    def artifact(self) -> dict[str, Any] | None:
        return self.result.artifact

    @property
    def contents(self) -> list[str]:
        """The texts of the artifact's messages."""
        return [message["content"] for message in self.artifact["messages"]] if self.artifact else []

    @property
    def scenario(self) -> str:
        return self.run.capture.scenario

    @property
    def usable(self) -> bool:
        """Whether its only snapshot produces an artifact and lacks no text."""
        return self.verdict in ("exact", "reduced")

    @property
    def qualifies(self) -> bool:
        terminal, capture = self.run.terminal, self.run.capture
        if not self.artifact or terminal is None or terminal.type != "RUN_FINISHED":
            return False
        replied = self.artifact["messages"][-1]["role"] == "assistant"
        first = capture.runs()[0].started.start == self.run.started.start
        return self.usable and replied and self.below_run and capture.complete and first

    @cached_property
    def sizes(self) -> tuple[int, int, int, int]:
        """The sizes of the run, the envelope, the artifact, and the artifact without white space."""
        assert self.artifact
        envelope = projection.envelope(self.run, self.result)
        canonical, compact = contract.canonical(self.artifact), contract.compact(self.artifact)
        return self.run.bytes, len(envelope), len(canonical), len(compact)

    @property
    def below_run(self) -> bool:
        return self.sizes[2] < self.sizes[0]

    @property
    def below_envelope(self) -> bool:
        return self.sizes[2] < self.sizes[1]

    @property
    def below_envelope_compact(self) -> bool:
        return self.sizes[3] < self.sizes[1]

    @property
    def envelope_events(self) -> list[Event]:
        """RUN_STARTED, the last snapshot if there is one, and the terminal event."""
        assert self.run.terminal
        return [self.run.started, *self.run.snapshots[-1:], self.run.terminal]

    def same_from(self, events: list[Event]) -> bool:
        """Whether projecting only these events produces the same artifact."""
        other = project(self.run.only(events)).artifact
        return bool(other and self.artifact and contract.canonical(other) == contract.canonical(self.artifact))

    @cached_property
    def own_ids(self) -> dict[str, list[str]]:
        return own_ids(self.run)

    @property
    def events_with_own_ids(self) -> list[Event]:
        """RUN_STARTED and the terminal event, if they have an id that the integration chose."""
        places = [("started", self.run.started), ("terminal", self.run.terminal)]
        return [end for place, end in places if end and any(self.own_ids[f"{place} {key}"] for key in ENDS)]

    @cached_property
    def state_events(self) -> list[Event]:
        return [event for event in self.run.events if event.type.startswith(("STATE_", "ACTIVITY_"))]

    @cached_property
    def differences(self) -> "Differences":
        return differences(self.run)


def project(run: Run) -> Result:
    """Projects the one snapshot or the last of several; without a snapshot, builds one."""
    return projection.emitted(run, "last") if run.snapshots else projection.folded(run)


def analyze(run: Run) -> AnalyzedRun:
    result, snapshots = project(run), len(run.snapshots)
    if not result.artifact:
        verdict = "refused"
    elif result.missing:
        verdict = "incomplete"
    elif snapshots == 0:
        verdict = "built"
    elif snapshots > 1:
        verdict = "chosen"
    else:
        verdict = "reduced" if result.omissions else "exact"
    return AnalyzedRun(run, result, verdict)


@dataclass(frozen=True)
class Integration:
    harness: str
    name: str
    version: str
    captures: list[Capture]
    runs: list[AnalyzedRun]

    def of(self, scenarios: Iterable[str]) -> list[AnalyzedRun]:
        return [entry for entry in self.runs if entry.scenario in scenarios]

    def kept(self) -> list[tuple[int, int]]:
        """For streamed and for requested ids: how many are in the last snapshot, out of how many."""
        counts = []
        for ids in (streamed_ids, requested_ids):
            runs = [entry.run for entry in self.runs if entry.run.snapshots]
            counts.append((sum(kept(ids(run), run) for run in runs), sum(len(ids(run)) for run in runs)))
        return counts


def scenarios() -> list[dict[str, Any]]:
    return list(json.loads((DISCOVERY / "scenarios.json").read_bytes())["scenarios"])


def integrations() -> list[Integration]:
    order = [scenario["name"] for scenario in scenarios()]
    found = []
    for path in sorted((DISCOVERY / "captures").iterdir()):
        captures = sorted((capture.read(folder) for folder in path.iterdir()), key=lambda c: order.index(c.scenario))
        runs = [analyze(run) for each in captures for run in each.runs()]
        labels = {(each.manifest["labels"]["integration"], each.manifest["labels"]["version"]) for each in captures}
        (name, version), *others = labels
        if others:
            raise capture.Unexpected(f"{path.name}: captures of several versions")
        found.append(Integration(path.name, name, version, captures, runs))
    return found


def pins(harness: str) -> list[tuple[str, str]]:
    """The packages that a harness pins, with their versions."""
    folder = DISCOVERY / "harness" / harness
    if (chosen := folder / "requirements.in").exists():
        return re.findall(r"^([^#\s]+)==(\S+)", chosen.read_text(encoding="utf-8"), re.MULTILINE)
    if (chosen := folder / "package.json").exists():
        return list(json.loads(chosen.read_bytes())["dependencies"].items())
    space = {"": "http://maven.apache.org/POM/4.0.0"}
    found = []
    for dependency in ElementTree.parse(folder / "pom.xml").iterfind("./dependencies/dependency", space):
        group, name, version = (dependency.findtext(key, "", space) for key in ("groupId", "artifactId", "version"))
        found.append((f"{group}:{name}", version))
    return found


def implausible(entry: AnalyzedRun) -> bool:
    """Whether RUN_STARTED has a timestamp that cannot be its time."""
    return "timestamp" in entry.run.started.value and projection.event_time(entry.run, entry.run.started) is None


def text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not blank(value)


def without_ids(each: Capture) -> bool:
    return not all(each.request.get(key) for key in ENDS)


# Ids

UUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
HEX = "[0-9A-Fa-f]{32}"
SHAPES = [
    ("path-like", r".*[/\\].*"),
    *((f"{name}{more}", before + pattern + after)
      for name, pattern in (("UUID", UUID), ("32 hexadecimal digits", HEX))
      for more, before, after in (("", "", ""), (" with a prefix", ".+", ""), (" with more text", ".*", ".*"))),
    ("number", "[0-9]+"),
    ("letters and digits", "[0-9A-Za-z]{12,}"),
    ("letters and digits with a prefix", ".*[-_:.][0-9A-Za-z]{12,}"),
    ("other", ".*"),
]


def shape(id: str) -> str:
    return next(name for name, pattern in SHAPES if re.fullmatch(pattern, id, re.DOTALL))


def shapes(ids: Iterable[str]) -> str:
    """Counts of ids by shape, most common first: "50 UUID, 1 other"."""
    order = [name for name, _ in SHAPES]
    counts = Counter(shape(id) for id in ids)
    ranked = sorted(counts, key=lambda name: (-counts[name], order.index(name)))
    return ", ".join(f"{counts[name]} {name}" for name in ranked) or "–"


def own_ids(run: Run) -> dict[str, list[str]]:
    """The ids that the request did not choose, by place, without repetition."""
    request, started = run.capture.request, run.started.value
    terminal = run.terminal.value if run.terminal else {}
    asked = set(requested_ids(run))
    path = run.capture.manifest["source"]["url"].rsplit("/", 1)[1]
    scripted = re.compile(f"[a-z]+-{re.escape(path)}-[0-9]+|call-.*")

    def own(ids: Iterable[Any]) -> list[str]:
        chosen = [id for id in dict.fromkeys(ids) if text(id) and id not in asked]
        return [id for id in chosen if not scripted.fullmatch(id)]

    found = {}
    for key in ENDS:
        chosen = started.get(key)
        found["started " + key] = [chosen] if text(chosen) and chosen != request.get(key) else []
        ended = terminal.get(key)
        found["terminal " + key] = [ended] if text(ended) and ended not in (request.get(key), chosen) else []
    found["stream"] = own(streamed_ids(run))
    found["snapshots"] = own(id for snapshot in run.snapshots for id in snapshot_ids(snapshot))
    return found


# What a run can break, in the words of the page, in the order of its table.
BREACHES = (
    "end under another run id",
    "end in another thread",
    "begin under another id than the request's",
    "begin without an id",
    "have events after their end",
)


def breaches(run: Run) -> list[bool]:
    """Whether the run breaks each of AG-UI's rules about its two ends."""
    request, started = run.capture.request, run.started.value
    ended = run.terminal.value if run.terminal and run.terminal.type == "RUN_FINISHED" else started
    after = [event.type for event in run.events if run.terminal and event.start > run.terminal.start]
    if run.terminal and run.terminal.type == "RUN_FINISHED" and after[:1] == ["RUN_ERROR"]:
        del after[0]
    return [
        ended.get("runId") != started.get("runId"),
        ended.get("threadId") != started.get("threadId"),
        any(request.get(key) and started.get(key) != request[key] for key in ENDS),
        any(not isinstance(started.get(key), str) for key in ENDS),
        bool(after),
    ]


def streamed_ids(run: Run) -> list[str]:
    return list(dict.fromkeys(event.value["messageId"] for event in run.of("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK")))


def requested_ids(run: Run) -> list[str]:
    """The ids of the request's messages."""
    return list(dict.fromkeys(message["id"] for message in run.capture.request.get("messages", [])))


def snapshot_ids(snapshot: Event) -> list[Any]:
    return [message.get("id") for message in snapshot.value["messages"]]


def kept(ids: list[str], run: Run) -> int:
    """The number of ids that messages in the last snapshot have."""
    held = set(snapshot_ids(run.snapshots[-1]))
    return sum(id in held for id in ids)


def valid_references(ids: Iterable[str]) -> int:
    return sum(contract.refused_reference(id) is None for id in ids)


# State and activity


def state_bytes(runs: list[AnalyzedRun]) -> int:
    return sum(len(event.data) for entry in runs for event in entry.state_events)


def operations(event: Event) -> list[dict[str, Any]]:
    """The operations of a STATE_DELTA or ACTIVITY_DELTA."""
    return event.value["delta" if event.type == "STATE_DELTA" else "patch"] if event.type.endswith("_DELTA") else []


def state_keys(run: Run) -> set[str]:
    """The top-level keys of the state."""
    keys: set[str] = set()
    for event in run.of("STATE_SNAPSHOT"):
        if isinstance(event.value["snapshot"], dict):
            keys.update(event.value["snapshot"])
    for event in run.of("STATE_DELTA"):
        keys.update(part["path"].split("/")[1].replace("~1", "/").replace("~0", "~") for part in operations(event))
    return keys


def strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        if not blank(value):
            yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def runs_with_omitted_strings(runs: list[AnalyzedRun]) -> tuple[int, int]:
    """Counts runs with a state or activity string missing from the artifact, and with one of several words."""
    found = [omitted_strings(entry) for entry in runs if entry.artifact]
    several = [any(any(c in SPACE for c in contract.trim(string)) for string in each) for each in found]
    return sum(map(bool, found)), sum(several)


def omitted_strings(entry: AnalyzedRun) -> list[str]:
    assert entry.artifact
    keys = ("thread_id_ref", "run_id_ref", "parent_run_id_ref", "error_code", "error_message")
    held = [entry.artifact[key] for key in keys if key in entry.artifact]
    held += [part for message in entry.artifact["messages"] for part in message.values()]
    found: list[str] = []
    for event in entry.state_events:
        key = {"STATE_SNAPSHOT": "snapshot", "ACTIVITY_SNAPSHOT": "content"}.get(event.type, "")
        found += strings(event.value.get(key))
        for operation in operations(event):
            found += strings(operation.get("value"))
    return [string for string in found if not any(string in whole for whole in held)]


# Stream and snapshot


@dataclass
class Differences:
    runs: int = 0
    same: int = 0
    other_id: int = 0
    other_name: int = 0
    space: int = 0
    escapes: int = 0
    text: int = 0
    only_in_snapshot: int = 0
    only_in_stream: int = 0

    def counts(self) -> list[int]:
        return list(asdict(self).values())

    def __add__(self, other: "Differences") -> "Differences":
        return Differences(*map(sum, zip(self.counts(), other.counts())))


def pair(streamed: list[Message], held: list[Message]) -> list[tuple[Message, Message]]:
    """Pairs the messages of two histories as the page defines."""

    def same(i: int, j: int) -> bool:
        return all(streamed[i][key] == held[j][key] for key in ("role", "content"))

    rows, columns, start = len(streamed), len(held), 0
    while start < min(rows, columns) and same(start, start):
        start += 1
    while min(rows, columns) > start and same(rows - 1, columns - 1):
        rows, columns = rows - 1, columns - 1
    longest = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(start, rows)):
        for j in reversed(range(start, columns)):
            longest[i][j] = longest[i + 1][j + 1] + 1 if same(i, j) else max(longest[i + 1][j], longest[i][j + 1])
    pairs = [(i, i) for i in range(start)]
    i = j = start
    while i < rows and j < columns:
        if same(i, j):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    pairs += zip(range(rows, len(streamed)), range(columns, len(held)))

    whole = [(streamed[i], held[j]) for i, j in pairs]
    i = j = 0
    for next_i, next_j in [*pairs, (len(streamed), len(held))]:
        for role in ROLES:
            between = streamed[i:next_i], held[j:next_j]
            whole += zip(*([message for message in some if message["role"] == role] for some in between))
        i, j = next_i + 1, next_j + 1
    return whole


def differences(run: Run) -> Differences:
    """Compares the messages of request and stream with those of the last snapshot, if both are known."""
    if not run.snapshots:
        return Differences()
    stream = Result()
    streamed = projection.history(run, stream)
    held = projection.emitted(run, "last")
    if stream.findings or not held.artifact:
        return Differences()
    pairs = pair(streamed, held.artifact["messages"])
    found = Differences(runs=1)
    found.only_in_snapshot = len(held.artifact["messages"]) - len(pairs)
    found.only_in_stream = len(streamed) - len(pairs)
    for one, other in pairs:
        if one["content"] == other["content"]:
            found.same += 1
            found.other_id += one["id"] != other["id"]
            found.other_name += one.get("name") != other.get("name")
        elif one["content"].translate(contract.NO_SPACE) == other["content"].translate(contract.NO_SPACE):
            found.space += 1
        elif html.unescape(one["content"]) == html.unescape(other["content"]):
            found.escapes += 1
        else:
            found.text += 1
    return found


# Shortfalls and required changes

SHORTFALLS = {  # the shortfall of a run, by code of the reducing projections
    "snapshot_missing": "no MESSAGES_SNAPSHOT",
    "snapshot_several": "several MESSAGES_SNAPSHOT events",
    "events_after_terminal": "events after the terminal event",
    "terminal_several": "several terminal events",
}
PLACE = "after the last text message and before RUN_FINISHED, with every message of the conversation"
CHANGES = {"snapshot_missing": f"emit it once, {PLACE}", "snapshot_several": f"emit only the last, {PLACE}"}
REFERENCES = {"/thread_id_ref": "threadId", "/run_id_ref": "runId"}
OMISSIONS = {
    "role_outside_subset": "messages of other roles",
    "content_missing": "messages without content",
    "content_not_text": "messages whose content is not text",
    "text_parts_joined": "messages whose content is not text",
    "content_blank": "messages with blank content",
}


def reasons(entry: AnalyzedRun) -> list[Finding]:
    """Why the run has no artifact of a usable snapshot."""
    return projection.emitted(entry.run).findings


def page_words(finding: Finding, words: dict[str, str]) -> str:
    """The words of the page for a finding."""
    if not words.get(finding.code):
        raise capture.Unexpected(f"{finding.code}: the words of the page for this code are not known")
    return words[finding.code]


def shortfall(finding: Finding) -> str:
    if finding.code == "value_blank" and finding.pointer in REFERENCES:
        return f"null or blank {REFERENCES[finding.pointer]}"
    if finding.code == "event_field_malformed" and finding.event:
        return f"{finding.event} has no string {finding.pointer[1:]}"
    return page_words(finding, SHORTFALLS)


def required_change(finding: Finding) -> str:
    return page_words(finding, CHANGES)


def omission(found: Finding) -> str:
    if found.code == "key_outside_subset":
        return found.pointer.rsplit("/", 1)[1]
    return page_words(found, OMISSIONS)


def by_scenario(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The scenarios of each text, without repetition."""
    found: dict[str, list[str]] = {}
    for text, scenario in texts:
        listed = found.setdefault(text, [])
        if scenario not in listed:
            listed.append(scenario)
    return found
