"""Section 7: the bounded envelope."""

from .characters import has_half
from .report import NO_PLACE, Report
from .text import Fault, Reader

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
JSON_SPACE = b" \t\n\r"

STARTED, SNAPSHOT, TERMINAL = 0, 1, 2
PLACES = {
    "RUN_STARTED": STARTED,
    "MESSAGES_SNAPSHOT": SNAPSHOT,
    "RUN_FINISHED": TERMINAL,
    "RUN_ERROR": TERMINAL,
}
ID_KEYS = ("threadId", "runId")


def validate(data):
    """Returns the result for the bytes of an envelope file."""
    answer_of = _Judge()
    for base, line in _lines(data):
        answer_of.line(base, line)
    answer_of.finish()
    answer = answer_of.report.answer()
    if answer["verdict"] == "accepted":
        answer["canonical"] = _is_canonical(data)
    return answer


def _lines(data):
    """Yields (offset, line) of each line that is not blank.

    A line ends with LF or at the end of the file. JSON white space at its ends is not
    part of it. One U+FEFF at the start of the file is ignored.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    while start < len(data):
        end = data.find(b"\n", start)
        if end < 0:
            end = len(data)
        line = data[start:end].lstrip(JSON_SPACE)
        base = end - len(line)
        line = line.rstrip(JSON_SPACE)
        if line:
            yield base, line
        start = end + 1


def _is_canonical(data):
    """Returns whether an accepted file, which is not empty, satisfies C4."""
    if b"\r" in data or not data.endswith(b"\n"):
        return False
    lines = data[:-1].split(b"\n")
    return all(line.startswith(b"{") and line.endswith(b"}") for line in lines)


class _Event:
    """The parts of one event that rules check.

    `places` has the start of the values of type, threadId, runId and messages; `texts`
    has the values of the first three that are strings; `is_list` is whether messages is
    a list, and `elements` has the findings of E13.
    """

    def __init__(self, base, line):
        self.base = base
        self.places = {}
        self.texts = {}
        self.is_list = False
        self.elements = Report()
        self.reader = Reader(line, self.repeated)

    def repeated(self, place):
        """T4: stops reading the line, as T3 does."""
        raise Fault("T4", place)

    def read(self):
        """Reads the line and returns whether its value is an object."""
        reader = self.reader
        is_object = reader.byte() == b"{"
        if is_object:
            for name, _, _ in reader.members():
                self.member(name)
        else:
            reader.skip()
        reader.finish()  # T6
        return is_object

    def member(self, name):
        """Records the value of a key that rules name, and skips other values."""
        reader = self.reader
        if name in ("type", "threadId", "runId", "messages"):
            self.places[name] = reader.pos
        if name == "messages" and reader.byte() == b"[":
            self.is_list = True
            self.message_list()
        elif name in ("type", "threadId", "runId") and reader.byte() == b'"':
            self.texts[name] = reader.string()
        else:
            reader.skip()

    def message_list(self):
        """E13: checks that each element is an object."""
        reader = self.reader
        for _ in reader.elements():
            if reader.byte() != b"{":
                self.elements.add("E13", reader.pos, reader.path)  # E13
            reader.skip()


class _Judge:
    """Checks the events one after the other."""

    def __init__(self):
        self.report = Report()
        self.events = {}  # the first event of each position

    def line(self, base, line):
        """Checks T2 to T6, E1 and E2, with one finding for a line; then E3 to E5."""
        event = _Event(base, line)
        try:
            is_object = event.read()
        except Fault as fault:
            self.report.add(fault.rule, base + fault.place, event.reader.path)  # T2 to T6
            return
        kind = event.texts.get("type")
        if not is_object:
            self.report.add("E1", base)  # E1
        elif "type" not in event.places:
            self.report.add("E2", base)  # E2
        elif not kind or has_half(kind):
            self.add("E2", event, "type")  # E2
        elif kind not in PLACES:
            self.add("E3", event, "type")  # E3
        else:
            self.place(event, PLACES[kind])

    def add(self, rule, event, key):
        """Adds a finding at the value of a key, or at the event if the key is absent."""
        place = event.base + event.places.get(key, 0)
        self.report.add(rule, place, [key])

    def place(self, event, place):
        """Checks E4, E5 and the rules about the event by itself."""
        if place in self.events:
            self.add("E4", event, "type")  # E4
            return
        if any(earlier > place for earlier in self.events):
            self.add("E5", event, "type")  # E5
        self.events[place] = event
        if place == STARTED:
            for key in ID_KEYS:
                if key not in event.places:
                    self.add("E7", event, key)  # E7
                else:
                    self.identity(event, key)
        if place == SNAPSHOT:
            if not event.is_list:
                self.add("E12", event, "messages")  # E12
            self.report.add_all(event.elements, event.base)  # E13

    def identity(self, event, key):
        """Checks E8 and E9 for a threadId or runId that is present."""
        if key not in event.texts:
            self.add("E8", event, key)  # E8
        elif has_half(event.texts[key]):
            self.add("E9", event, key)  # E9

    def finish(self):
        """Checks E6, and E8, E9 and E11 for the terminal event."""
        for place in (STARTED, SNAPSHOT, TERMINAL):
            if place not in self.events:
                self.report.add("E6", NO_PLACE)  # E6
        if STARTED in self.events and TERMINAL in self.events:
            self.terminal(self.events[STARTED], self.events[TERMINAL])

    def terminal(self, started, terminal):
        """Checks E8, E9 and E11 for the terminal event."""
        for key in ID_KEYS:
            if key in terminal.places:
                self.identity(terminal, key)
        ours, theirs = started.texts.get("threadId"), terminal.texts.get("threadId")
        if ours is None or theirs is None or has_half(ours) or has_half(theirs):
            return
        if ours != theirs:
            self.add("E11", terminal, "threadId")  # E11
