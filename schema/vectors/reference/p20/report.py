"""Section 9: findings, their order, their pointers and their limit."""

from bisect import insort

from .characters import HALVES

LISTED = 100  # findings that are listed
POINTER_LIMIT = 1024  # bytes in UTF-8
NO_PLACE = -1  # findings without a place come first


def _codes():
    groups = {
        "file_too_large": "T1",
        "json_invalid_utf8": "T2",
        "json_syntax": "T3",
        "json_duplicate_key": "T4",
        "json_too_deep": "T5",
        "json_trailing_data": "T6",
        "not_an_object": "A1",
        "key_missing": "A2 A21 M5",
        "key_unknown": "A3 M6",
        "extra_event_family": "A4 A20 M7 M15 E3",
        "wrong_type": "A5 M1 M4 M8",
        "lone_surrogate": "A6 M9 E9",
        "value_blank": "A7 M10",
        "wrong_value": "A8 A9 A10 A19 M14",
        "too_long": "A11 A23 A24 M11 M12 M13 P1 P2 P3 P4 P5 P6",
        "ref_not_opaque": "A12 A13 A14 A27 A28 A29",
        "timestamp_malformed": "A15 A16 A17",
        "times_out_of_order": "A18",
        "error_key_forbidden": "A22",
        "control_character": "A25",
        "error_stack_trace": "A26",
        "messages_empty": "M2",
        "messages_too_many": "M3",
        "message_id_repeated": "M16",
        "event_line_too_long": "P7",
        "event_not_object": "E1",
        "event_type_missing": "E2",
        "envelope_event_repeated": "E4",
        "envelope_order": "E5",
        "envelope_incomplete": "E6",
        "event_field_malformed": "E7 E8",
        "terminal_names_other_thread": "E11",
        "snapshot_malformed": "E12 E13",
    }
    return {rule: code for code, rules in groups.items() for rule in rules.split()}


CODES = _codes()


def _token(key):
    """Returns one reference token: RFC 6901 escapes, U+FFFD for a run of halves."""
    if isinstance(key, int):
        return "/%d" % key
    key = HALVES.sub("\ufffd", key)
    return "/" + key.replace("~", "~0").replace("/", "~1")


def make_pointer(path):
    """Returns the pointer of a path, shortened to at most 1,024 bytes.

    A path is the list of names and indexes from the outermost. Its last element is None
    for an array or object in which nothing was begun.
    """
    pointer = ""
    left = POINTER_LIMIT
    for key in path:
        if key is None:
            break
        token = _token(key)
        left -= len(token.encode("utf-8"))
        if left < 0:
            break
        pointer += token
    return pointer


class Report:
    """Counts findings and keeps the first 100 by place, pointer and code.

    Code points and UTF-8 bytes have the same order, so pointers are compared
    as text. Only findings that may be listed get a pointer.
    """

    def __init__(self):
        self.count = 0
        self.kept = []

    def add(self, rule, place, path=()):
        """Adds one finding."""
        self.count += 1
        if len(self.kept) == LISTED and place > self.kept[-1][0]:
            return
        self._keep((place, make_pointer(path), CODES[rule], rule))

    def add_all(self, other, base=0):
        """Adds all findings of another report, with places moved by base."""
        self.count += other.count
        for place, pointer, code, rule in other.kept:
            self._keep((place + base, pointer, code, rule))

    def _keep(self, finding):
        insort(self.kept, finding)
        del self.kept[LISTED:]

    def findings(self):
        """Returns the list of findings to print."""
        out = [
            {
                "code": code,
                "rule": rule,
                "pointer": pointer,
                "offset": None if place == NO_PLACE else place,
            }
            for place, pointer, code, rule in self.kept
        ]
        if self.count > LISTED:
            out.append(
                {
                    "code": "findings_past_limit",
                    "rule": None,
                    "pointer": "",
                    "offset": None,
                    "severity": "info",
                }
            )
        return out

    def answer(self):
        """Returns the result for a file: its outcome and its findings."""
        verdict = "malformed" if self.count else "accepted"
        return {"verdict": verdict, "canonical": False, "findings": self.findings()}
