"""Section 4 of the projections: runs, and the faults of their frames."""

from .families import EVENT_TYPES
from .fold import Fold
from .characters import HALVES, has_half

TYPES = 512  # types that are counted separately, in addition to those that AG-UI released
TYPE_LIMIT = 128  # bytes in UTF-8
RELEASED = frozenset(EVENT_TYPES) - {"META"}
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


def split(frames):
    """R1, R2: returns the runs of a response, in order."""
    owned = []
    for frame in frames:
        if frame.kind == "RUN_STARTED":
            owned.append([])
        if owned:
            owned[-1].append(frame)
    return [Run(number + 1, some) for number, some in enumerate(owned)]


class Run:
    """One run.

    `started` and `terminal` are frames (the second may be None), `snapshots` are the
    frames of its snapshots. `thread` and `id` are the strings of R4, `codes` has the
    findings of R3 to R9, `names_other_run` is the result of R10, and `uncounted` the
    number of events of R13.
    """

    def __init__(self, number, frames):
        self.number = number
        self.frames = frames
        self.started = frames[0]
        self.terminal = None
        self.snapshots = []
        self.names_other_run = False
        self.codes = set()
        self._fold = None
        for frame in frames:
            self._look(frame)
        started = self.started.value
        self._identity(started, "threadId", True)
        self._identity(started, "runId", True)
        self.thread = _text(started.get("threadId"))
        self.id = _text(started.get("runId"))
        if self.terminal is None:
            self.codes.add("run_not_terminated")  # R5
        else:
            self._end(started, self.terminal.value)
        self.uncounted = self._uncounted()

    def _look(self, frame):
        """R3, R5 to R7, S1: adds one frame to the run."""
        kind = frame.kind
        if kind is None:
            self.codes.add(frame.fault)  # R3
            return
        if kind == "MESSAGES_SNAPSHOT":
            self.snapshots.append(frame)  # S1
        if self.terminal is not None:
            several = kind in TERMINAL
            code = "terminal_several" if several else "events_after_terminal"
            self.codes.add(code)  # R6, R7
        elif kind in TERMINAL:
            self.terminal = frame  # R5

    def _identity(self, event, key, needed):
        """Checks E7 to E9 for one key; returns whether it is present and satisfies them."""
        if key not in event:
            if needed:
                self.codes.add("event_field_malformed")  # R4: E7
            return False
        value = event[key]
        if type(value) is not str:
            self.codes.add("event_field_malformed")  # R4, R8: E8
            return False
        if has_half(value):
            self.codes.add("lone_surrogate")  # R4, R8: E9
            return False
        return True

    def _end(self, started, terminal):
        """R8 to R10: checks the ids of the terminal event."""
        if self._identity(terminal, "threadId", False):
            if _kept(started, "threadId") and terminal["threadId"] != started["threadId"]:
                self.codes.add("terminal_names_other_thread")  # R9
        if self._identity(terminal, "runId", False):
            if _kept(started, "runId"):
                self.names_other_run = terminal["runId"] != started["runId"]  # R10

    def _uncounted(self):
        """R13: returns the number of events whose type is not counted separately."""
        apart = set()
        uncounted = 0
        for frame in self.frames:
            kind = frame.kind
            if kind is None or kind in apart:
                continue
            if kind in RELEASED or (len(apart) < TYPES and len(kind.encode("utf-8")) <= TYPE_LIMIT):
                apart.add(kind)
            else:
                uncounted += 1
        return uncounted

    @property
    def fold(self):
        """Section 11: returns the fold of the run, made once."""
        if self._fold is None:
            self._fold = Fold(self.frames)
        return self._fold


def _kept(event, key):
    """Returns whether R4 is satisfied."""
    value = event.get(key)
    return type(value) is str and not has_half(value)


def _text(value):
    """R4: returns the thread or id of a run."""
    return HALVES.sub("\ufffd", value) if type(value) is str else ""
