"""Section 3 of the projections: splits a response into frames."""

import re

from .characters import has_half
from .strict import Broken, read

FRAMINGS = ("sse", "ndjson", "json")
OPAQUE = "opaque"  # none of these
MAX_EVENT = 67108864
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
JSON_SPACE = b" \t\n\r"
_GUESS_BYTES = 65536

_SPACE = re.compile(rb"[ \t\n\r]*")
_OUTSIDE = re.compile(rb'["\[\]{},]')
_NESTED = re.compile(rb'["\[\]{}]')
# The repeat is bounded because the regular expression engine keeps state for each round.
_INSIDE = re.compile(rb'(?:[^"\\]+|\\[\x00-\xff]){1,500}')


class Frame:
    """One frame, and the result of reading it (F9).

    `end` is just past the byte that completed the frame. `kind` is the type of the event
    and `value` the event. For a frame that cannot be read, `kind` is None and `fault` is
    the code.
    """

    __slots__ = ("index", "data", "end", "kind", "value", "fault")

    def __init__(self, index, data, end):
        self.index = index
        self.data = data
        self.end = end
        self.kind = self.value = self.fault = None

    def read(self):
        """F8, F9: reads the event."""
        if len(self.data) > MAX_EVENT:
            self.fault = "event_too_large"  # F8
            return
        try:
            value = read(self.data)
        except Broken as broken:
            self.fault = broken.code  # F9
            return
        if type(value) is not dict:
            self.fault = "event_not_object"  # F9
            return
        kind = value.get("type")
        if type(kind) is not str or not kind or has_half(kind):
            self.fault = "event_type_missing"  # F9
            return
        self.kind = kind
        self.value = value


def guess(data):
    """I6: returns the framing of a response for which none is given."""
    head = data[:_GUESS_BYTES]
    if head.startswith(BYTE_ORDER_MARK):
        head = head[len(BYTE_ORDER_MARK):]
    head = head.lstrip(JSON_SPACE)[:1]
    return {b"[": "json", b"{": "ndjson"}.get(head, "sse")


def cut(data, framing):
    """Returns the frames of a response, and whether F7 finds array_malformed."""
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0  # F1
    malformed = False
    if framing == "sse":
        frames = _sse(data, start)
    elif framing == "ndjson":
        frames = _ndjson(data, start)
    else:
        frames, malformed = _array(data, start)
    for frame in frames:
        frame.read()
    return frames, malformed


def _sse(data, start):
    """F2, F3: returns the frames. For bytes, splitlines ends lines as F2 does."""
    frames = []
    values = []  # values of the data lines since the last frame
    pos = start
    lines = (data[start:] if start else data).splitlines(True)
    if lines and lines[-1][-1:] not in (b"\n", b"\r"):
        lines.pop()  # F2: what follows the last line end is not a line
    for line in lines:
        if line.startswith(b"data"):
            value = line.rstrip(b"\r\n")
            skip = 4
            if value[4:5] == b":":
                skip = 6 if value[5:6] == b" " else 5
            elif len(value) > 4:
                skip = 0  # another field
            if skip:
                values.append(value[skip:])
        elif values and line in (b"\n", b"\r\n", b"\r"):
            frames.append(Frame(len(frames), b"\n".join(values), pos + 1))  # F3
            values = []
        pos += len(line)
    return frames


def _ndjson(data, start):
    """F4: returns the frames."""
    frames = []
    while start < len(data):
        stop = data.find(b"\n", start)
        end = stop + 1
        if stop < 0:
            stop = end = len(data)
        line = data[start:stop].strip(JSON_SPACE)
        if line:
            frames.append(Frame(len(frames), line, end))
        start = end
    return frames


def _past_space(data, pos):
    """Returns the position of the first byte from pos on that is not JSON white space."""
    return _SPACE.match(data, pos).end()


def _past_string(data, pos):
    """Returns the position after the string whose content begins at pos, or None if it has no end."""
    part = _INSIDE.match(data, pos)
    while part is not None:
        pos = part.end()
        part = _INSIDE.match(data, pos)
    return pos + 1 if data[pos:pos + 1] == b'"' else None


def _array(data, start):
    """F5 to F7: returns (frames, whether the array is malformed)."""
    frames = []
    pos = _past_space(data, start)
    if data[pos:pos + 1] != b"[":
        return frames, True  # F7
    malformed = False
    begin = pos = pos + 1  # of the element
    level = 0
    while True:
        token = (_NESTED if level else _OUTSIDE).search(data, pos)
        if token is None:
            return frames, malformed  # F6: it ends inside an element
        byte = token.group()
        pos = token.end()
        if byte == b'"':
            pos = _past_string(data, pos)
            if pos is None:
                return frames, malformed  # F6
        elif byte in (b"{", b"["):
            level += 1
        elif level:
            level -= 1  # F5: without regard to which
        elif byte != b"}":  # F5: that one closes nothing here
            element = data[begin:pos - 1].strip(JSON_SPACE)
            if element or byte == b"," or frames:
                frames.append(Frame(len(frames), element, pos))
                malformed = malformed or not element  # F6, F7
            if byte == b"]":
                return frames, malformed or _past_space(data, pos) != len(data)  # F7
            begin = pos
