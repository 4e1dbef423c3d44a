"""Reads captures: the manifest, the request, the times of arrival, and the runs of the event stream.

What no committed capture has (a content coding, the framings of lines, a byte order mark) is
an error here, so that nothing is counted that was not read as docs/projections.md says.
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
    """A capture has something that this program does not read."""


@dataclass(frozen=True, eq=False)
class Event:
    """An event by its data, and the bytes of the response that hold them: start to stop, and the end of F3."""

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
        """The run with these events alone."""
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
    def whole(self) -> bool:
        """It came to its own end, and is an event stream."""
        media = str(self.manifest["source"]["content_type"]).partition(";")[0].strip().lower()
        return bool(self.manifest["end"] == "eof" and media == "text/event-stream")

    def runs(self) -> list[Run]:
        if self.http_error:
            return []
        if self.manifest["framing"] != "sse" or self.response.startswith(b"\xef\xbb\xbf"):
            raise Unexpected(f"{self.name}: this framing is not read")
        runs: list[list[Event]] = []
        for event in events(self.response, arrivals(self.path / "arrivals.tsv")):
            if event.type == "RUN_STARTED":
                runs.append([])
            if not runs:
                raise Unexpected(f"{self.name}: an event stands before RUN_STARTED")
            runs[-1].append(event)
        return [Run(self, tuple(run)) for run in runs]


def read(path: Path) -> Capture:
    manifest = json.loads((path / "capture.json").read_bytes())
    if "content-encoding" in manifest["source"].get("headers", {}):
        raise Unexpected(f"{path}: a content coding is not read")
    files = {name: (path / name).read_bytes() for name in manifest["files"]}
    intact = all(
        len(files[name]) == said.get("bytes", 0)
        and "sha256:" + hashlib.sha256(files[name]).hexdigest() == said["digest"]
        for name, said in manifest["files"].items()
    )
    return Capture(
        harness=path.parent.name,
        scenario=path.name,
        manifest=manifest,
        request=strict(files["request.json"]),
        intact=intact,
        response=files["response." + manifest["framing"]],
        path=path,
    )


def strict(data: bytes) -> Any:
    """The JSON value of data; an object with two members of one name is an error."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise Unexpected("an object has two members of one name")
        return dict(pairs)

    def constant(name: str) -> Any:
        raise Unexpected(f"{name} is no JSON")

    return json.loads(data.decode("utf-8"), object_pairs_hook=members, parse_constant=constant)


def arrivals(path: Path) -> list[tuple[int, int]]:
    """Bytes received so far and microseconds, a line for each read (L2)."""
    return [(int(size), int(moment)) for size, moment in (line.split("\t") for line in path.read_text().splitlines())]


def events(response: bytes, reads: list[tuple[int, int]]) -> list[Event]:
    """The events of a WHATWG event stream (F2, F3)."""
    found: list[Event] = []
    lines: list[tuple[int, int]] = []  # the values of data lines since the last event
    at = 0
    for line in LINE.finditer(response):
        text = line[1]
        if not text and lines:
            data = b"\n".join(response[start:stop] for start, stop in lines)
            value = strict(data)
            if not isinstance(value, dict) or not isinstance(value.get("type"), str) or not value["type"]:
                raise Unexpected("a frame is no event")
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
