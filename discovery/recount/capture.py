"""Reads captures: the manifest, the request, the arrival times, and the runs of the event stream.

Features that no committed capture uses (content codings, line framings, a byte order mark) are
errors, so that every event is read as docs/projections.md requires.
"""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n)")
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


class Unexpected(Exception):
    """A capture uses a feature that this program does not support."""


@dataclass(frozen=True, eq=False)
class Event:
    """An event: its data, the byte range of the data from start to stop, and the end as in F3."""

    start: int
    stop: int
    end: int
    data: bytes
    value: dict[str, Any]
    arrival: int | None  # microseconds since the capture began

    @property
    def type(self) -> str:
        return str(self.value["type"])


@dataclass(frozen=True, eq=False)
class Run:
    """The events from one RUN_STARTED to the next."""

    capture: "Capture"
    events: tuple[Event, ...]

    @property
    def started(self) -> Event:
        return self.events[0]

    @property
    def snapshots(self) -> list[Event]:
        return self.of("MESSAGES_SNAPSHOT")

    @property
    def terminal(self) -> Event | None:
        return next(iter(self.of(*TERMINAL)), None)

    @property
    def bytes(self) -> int:
        return self.events[-1].stop - self.started.start

    def of(self, *types: str) -> list[Event]:
        return [event for event in self.events if event.type in types]

    def only(self, events: list[Event]) -> "Run":
        """Returns the run with only these events."""
        return replace(self, events=tuple(events))


@dataclass(frozen=True, eq=False)
class Capture:
    harness: str
    scenario: str
    manifest: dict[str, Any]
    request: dict[str, Any]
    intact: bool
    response: bytes
    path: Path

    @property
    def name(self) -> str:
        return f"{self.harness}/{self.scenario}"

    @property
    def http_error(self) -> bool:
        return bool(self.manifest["source"]["status"] != 200)

    @property
    def complete(self) -> bool:
        """Whether the response is complete and an event stream."""
        media = str(self.manifest["source"]["content_type"]).partition(";")[0].strip().lower()
        return bool(self.manifest["end"] == "eof" and media == "text/event-stream")

    def runs(self) -> list[Run]:
        if self.http_error:
            return []
        if self.manifest["framing"] != "sse" or self.response.startswith(b"\xef\xbb\xbf"):
            raise Unexpected(f"{self.name}: unsupported framing")
        runs: list[list[Event]] = []
        for event in events(self.response, arrivals(self.path / "arrivals.tsv")):
            if event.type == "RUN_STARTED":
                runs.append([])
            if not runs:
                raise Unexpected(f"{self.name}: an event before RUN_STARTED")
            runs[-1].append(event)
        return [Run(self, tuple(run)) for run in runs]


def read(path: Path) -> Capture:
    manifest = json.loads((path / "capture.json").read_bytes())
    if "content-encoding" in manifest["source"].get("headers", {}):
        raise Unexpected(f"{path}: unsupported content coding")
    files = {name: (path / name).read_bytes() for name in manifest["files"]}
    intact = all(
        len(files[name]) == entry.get("bytes", 0)
        and "sha256:" + hashlib.sha256(files[name]).hexdigest() == entry["digest"]
        for name, entry in manifest["files"].items()
    )
    return Capture(
        harness=path.parent.name,
        scenario=path.name,
        manifest=manifest,
        request=parse_json(files["request.json"]),
        intact=intact,
        response=files["response." + manifest["framing"]],
        path=path,
    )


def parse_json(data: bytes) -> Any:
    """Parses JSON and rejects objects with duplicate names."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise Unexpected("an object has a duplicate name")
        return dict(pairs)

    def constant(name: str) -> Any:
        raise Unexpected(f"{name} is not JSON")

    return json.loads(data.decode("utf-8"), object_pairs_hook=members, parse_constant=constant)


def arrivals(path: Path) -> list[tuple[int, int]]:
    """For each read: the bytes received so far, and the time in microseconds (L2)."""
    return [(int(size), int(moment)) for size, moment in (line.split("\t") for line in path.read_text().splitlines())]


def events(response: bytes, reads: list[tuple[int, int]]) -> list[Event]:
    """Parses a WHATWG event stream (F2, F3)."""
    found: list[Event] = []
    lines: list[tuple[int, int]] = []  # the values of data lines since the last event
    at = 0
    for line in LINE.finditer(response):
        text = line[1]
        if not text and lines:
            data = b"\n".join(response[start:stop] for start, stop in lines)
            value = parse_json(data)
            if not isinstance(value, dict) or not isinstance(value.get("type"), str) or not value["type"]:
                raise Unexpected("a frame is not an event")
            end = line.start(2) + 1
            while at < len(reads) and reads[at][0] < end:
                at += 1
            moment = reads[at][1] if at < len(reads) else None
            found.append(Event(lines[0][0], lines[-1][1], end, data, value, moment))
            lines = []
        elif text == b"data":
            lines.append((line.end(1), line.end(1)))
        elif text.startswith(b"data:"):
            start = line.start() + (6 if text.startswith(b"data: ") else 5)
            lines.append((start, line.end(1)))
    return found
