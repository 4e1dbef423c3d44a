"""Sections 3 to 5: the artifact, its messages, the profile assay."""

import hashlib

from . import references
from .canonical import KEYS, MESSAGE_KEYS, canonical_file, event_bytes
from .characters import has_control, has_half, trim
from .families import family
from .report import NO_PLACE, Report
from .text import Fault, Reader
from .times import read_time
from .traces import has_trace

MAX_BYTES = 8388608
MAX_MESSAGES = 2000
MAX_EVENT_LINE = 1044480

CONSTANTS = {
    "schema": ("A8", "ag-ui.compacted-message-snapshot.export.v1"),
    "framework": ("A9", "ag_ui"),
    "surface": ("A10", "compacted_message_snapshot_artifact"),
}
REQUIRED = (
    "schema", "framework", "surface", "thread_id_ref", "run_id_ref",
    "started_at", "messages", "terminal_event",
)
MESSAGE_REQUIRED = ("id", "role", "content")
ERROR_KEYS = ("error_code", "error_message")
ROLES = ("developer", "system", "assistant", "user", "tool")

# Limits: key, (rule and limit of v1, rule and limit of assay).
REFERENCE_LIMITS = ("A11", 256, "P1", 96)
LIMITS = {
    "thread_id_ref": REFERENCE_LIMITS,
    "run_id_ref": REFERENCE_LIMITS,
    "parent_run_id_ref": REFERENCE_LIMITS,
    "error_code": ("A23", 128, "P5", 48),
    "error_message": ("A24", 1024, "P6", 200),
}
MESSAGE_LIMITS = {
    "id": ("M11", 256, "P2", 96),
    "content": ("M12", 262144, "P4", 400),
    "name": ("M13", 128, "P3", 60),
}


def validate(data, profile):
    """Returns the result for the bytes of an artifact file."""
    if len(data) > MAX_BYTES:  # T1
        report = Report()
        report.add("T1", NO_PLACE)
        return report.answer()
    return _Judge(data, profile).answer()


class _Judge:
    """Checks one artifact while it is read.

    For the first member with each known name, `places` has the start of the value,
    `values` the value if it is a string, and `times` the instant if it is a valid
    timestamp. `whole` is true if the object was read to its end.
    """

    def __init__(self, data, profile):
        self.data = data
        self.assay = profile == "assay"
        self.report = Report()
        self.reader = Reader(data, self.repeated)
        self.places = {}
        self.values = {}
        self.times = {}
        self.messages = []
        self.ids = set()
        self.start = 0
        self.whole = False

    def answer(self):
        """Reads and checks the file."""
        try:
            self.reader.space()
            self.artifact()
            self.reader.finish()  # T6
        except Fault as fault:
            self.report.add(fault.rule, fault.place, self.reader.path)  # T2 T3 T5 T6
        self.check_whole()
        if self.assay and not self.report.count:
            if event_bytes(self.values, self.messages) > MAX_EVENT_LINE:  # P7
                self.report.add("P7", NO_PLACE)
        answer = self.report.answer()
        if not self.report.count:
            canonical = canonical_file(self.values, self.messages)  # C1 C2 C3
            answer["canonical"] = canonical == self.data
            answer["canonical_digest"] = "sha256:" + hashlib.sha256(canonical).hexdigest()
        return answer

    def add(self, rule, place):
        """Adds a finding with the pointer of the current value."""
        self.report.add(rule, place, self.reader.path)

    def repeated(self, place):
        """T4: adds the finding of a repeated member."""
        self.add("T4", place)

    # Skipped values

    def family_key(self, name, place):
        """A4, M7: checks a key inside a skipped value."""
        if family(name) is None:
            return False
        path = self.reader.path
        in_message = len(path) > 1 and path[0] == "messages"
        self.add("M7" if in_message else "A4", place)
        return True

    def unknown(self, name, place, unknown_rule, family_rule):
        """A3 or A4, M6 or M7: adds the finding of a key that the contract does not have."""
        if family(name) is not None:
            self.add(family_rule, place)  # A4 M7
            self.reader.skip()
        else:
            self.add(unknown_rule, place)  # A3 M6
            self.reader.skip(self.family_key)

    def wrong_type(self, rule, on_key):
        """A1, A5, M1, M4, M8: skips a value of the wrong type.

        An array or object has the wrong type at its first byte, any other value only
        after all of it has been read.
        """
        reader = self.reader
        place = reader.pos
        if reader.byte() in (b"[", b"{"):
            self.add(rule, place)
            reader.skip(on_key)
        else:
            reader.scalar()
            self.add(rule, place)

    # The object

    def artifact(self):
        """Section 3: reads the object."""
        reader = self.reader
        if reader.byte() != b"{":
            self.wrong_type("A1", None)  # A1; inside it only T4 is checked
            return
        self.start = reader.pos
        for name, place, repeated in reader.members():
            if repeated:
                reader.skip(self.family_key)
            elif name == "messages":
                self.places[name] = reader.pos
                self.message_list()
            elif name in KEYS:
                self.places[name] = reader.pos
                self.member(name)
            else:
                self.unknown(name, place, "A3", "A4")  # A3 A4
        self.whole = True

    def member(self, key):
        """Reads the value of a key of the table, except messages."""
        reader = self.reader
        place = reader.pos
        if reader.byte() != b'"':
            self.wrong_type("A5", self.family_key)  # A5
            return
        value = reader.string()
        self.values[key] = value
        if has_half(value):
            self.add("A6", place)  # A6
            return
        if key in CONSTANTS:
            rule, constant = CONSTANTS[key]
            if value != constant:
                self.add(rule, place)  # A8 A9 A10
            return
        if not trim(value):
            self.add("A7", place)  # A7
            return
        if key in LIMITS:
            self.length(value, place, LIMITS[key])
        if key in ("started_at", "finished_at"):
            self.timestamp(key, value, place)
        elif key == "terminal_event":
            self.terminal_event(value, place)
        elif key in ERROR_KEYS:
            if has_control(value):
                self.add("A25", place)  # A25
            if has_trace(value):
                self.add("A26", place)  # A26
        else:
            rule = references.fault(value)
            if rule is not None:
                self.add(rule, place)  # A12 A13 A14 A27 A28 A29

    def length(self, value, place, limits):
        """Checks A11 A23 A24 M11 M12 M13 and, if they are satisfied, P1 to P6."""
        rule, limit, narrow_rule, narrow_limit = limits
        if len(value) > limit:
            self.add(rule, place)  # A11 A23 A24 M11 M12 M13
        elif self.assay and len(trim(value)) > narrow_limit:
            self.add(narrow_rule, place)  # P1 P2 P3 P4 P5 P6

    def timestamp(self, key, value, place):
        """A15 to A17: adds one finding, that of the first broken rule."""
        rule, instant = read_time(value)
        if rule is not None:
            self.add(rule, place)  # A15 A16 A17
        else:
            self.times[key] = instant

    def terminal_event(self, value, place):
        """Checks A20, and otherwise A19."""
        if value in ("RUN_FINISHED", "RUN_ERROR"):
            return
        if family(value) not in (None, "RUN_FINISHED", "RUN_ERROR"):
            self.add("A20", place)  # A20
        else:
            self.add("A19", place)  # A19

    def check_whole(self):
        """Checks the rules about the whole object after it has been read to its end."""
        if not self.whole:
            return
        terminal = self.values.get("terminal_event")
        if terminal == "RUN_FINISHED":
            for key in ERROR_KEYS:
                if key in self.places:
                    self.report.add("A22", self.places[key], [key])  # A22
        for key in REQUIRED:
            if key not in self.places:
                self.report.add("A2", self.start, [key])  # A2
        if terminal == "RUN_ERROR" and "error_message" not in self.places:
            self.report.add("A21", self.places["terminal_event"], ["error_message"])  # A21
        if len(self.times) == 2 and self.times["finished_at"] < self.times["started_at"]:
            self.report.add("A18", self.places["finished_at"], ["finished_at"])  # A18

    # Messages

    def message_list(self):
        """Section 4: reads the list of messages."""
        reader = self.reader
        place = reader.pos
        if reader.byte() != b"[":
            self.wrong_type("M1", self.family_key)  # M1
            return
        count = 0
        for index in reader.elements():
            count = index + 1
            if count > MAX_MESSAGES:
                reader.skip()  # M3: only T4 is checked
            elif reader.byte() != b"{":
                self.wrong_type("M4", self.family_key)  # M4
            else:
                self.message()
        if count == 0:
            self.add("M2", place)  # M2
        if count > MAX_MESSAGES:
            self.add("M3", place)  # M3

    def message(self):
        """Reads a message that is an object."""
        reader = self.reader
        start = reader.pos
        seen = set()
        message = {}
        for name, place, repeated in reader.members():
            if repeated:
                reader.skip(self.family_key)
            elif name in MESSAGE_KEYS:
                seen.add(name)
                self.message_member(name, message)
            else:
                self.unknown(name, place, "M6", "M7")  # M6 M7
        for key in MESSAGE_REQUIRED:
            if key not in seen:
                self.report.add("M5", start, reader.path + [key])  # M5
        self.messages.append(message)

    def message_member(self, key, message):
        """Reads the value of a key of a message."""
        reader = self.reader
        place = reader.pos
        if reader.byte() != b'"':
            self.wrong_type("M8", self.family_key)  # M8
            return
        value = reader.string()
        message[key] = value
        if has_half(value):
            self.add("M9", place)  # M9
            return
        trimmed = trim(value)
        if not trimmed:
            self.add("M10", place)  # M10
            return
        if key in MESSAGE_LIMITS:
            self.length(value, place, MESSAGE_LIMITS[key])
        if key == "role":
            self.role(value, place)
        elif key == "id":
            if trimmed in self.ids:
                self.add("M16", place)  # M16
            self.ids.add(trimmed)

    def role(self, value, place):
        """Checks M15, and otherwise M14."""
        if value in ROLES:
            return
        if family(value) is not None:
            self.add("M15", place)  # M15
        else:
            self.add("M14", place)  # M14
