"""Section 13 of the projections: omissions, and the ledger of a run.

A place is the index of an event, the name of a file, or None.
"""

from .characters import HALVES

LISTED = 10000
POINTER_BYTES = 8388608
REQUEST = "request.json"


def token(name):
    """O3: returns "/" and a name, escaped as in RFC 6901."""
    if not name.isascii():
        name = HALVES.sub("\ufffd", name)
    return "/" + name.replace("~", "~0").replace("/", "~1")


class Omissions:
    """A list of omissions with the limits of O4.

    `past` is the number of omissions that were only counted.
    """

    def __init__(self):
        self.listed = []  # (place, pointer, reason, count)
        self.past = 0
        self.left = POINTER_BYTES

    def add(self, place, pointer, reason, count=0):
        """O4: lists an omission, or counts it."""
        size = len(pointer) if pointer.isascii() else len(pointer.encode("utf-8"))
        if len(self.listed) == LISTED or size > self.left:
            self.past += 1
            return
        self.left -= size
        self.listed.append((place, pointer, reason, count))

    def add_all(self, other):
        """O4: adds a list that was already limited by itself."""
        for place, pointer, reason, count in other.listed:
            self.add(place, pointer, reason, count)
        self.past += other.past

    def answer(self):
        """O1, O2, O4: returns the omissions as in a record."""
        listed = self.listed
        if self.past:
            listed = listed + [(None, "", "omissions_past_limit", self.past)]
        return [_spelled(*omission) for omission in listed]


def _spelled(place, pointer, reason, count):
    out = {}
    if type(place) is int:
        out["event_index"] = place
    elif place is not None:
        out["file"] = place
    out["pointer"] = pointer
    out["reason"] = reason
    if count:
        out["count"] = count
    return out


class Ledger:
    """The errors and the omissions of one run under one setting.

    Every code is found, and kept once (Y4).
    """

    def __init__(self, strict):
        self.strict = strict
        self.errors = set()
        self.omissions = Omissions()

    def error(self, code):
        """Adds a finding that refuses the run."""
        self.errors.add(code)

    def omit(self, place, pointer, reason, count=0):
        """Adds an omission."""
        self.omissions.add(place, pointer, reason, count)

    def reject(self, place, pointer, code):
        """Section 1, "rejects": refuses under the strict projection, omits otherwise."""
        if self.strict:
            self.error(code)
        else:
            self.omit(place, pointer, code)
