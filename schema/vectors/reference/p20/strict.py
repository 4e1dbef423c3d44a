"""Section 1 of the projections: reads bytes strictly as one JSON text.

`read` returns a Python value: dictionaries keep the order of the members, and half of
a surrogate pair is its code point. The standard library's reader reads ordinary texts.
Texts that it refuses, and texts that it accepts but the contract does not, are read
again with the Reader of the contract, which finds the first fault.
"""

import json
import json.decoder
import json.scanner
import re

from .report import CODES
from .text import MAX_OPEN, Fault, Reader

# A number without fraction and exponent that exceeds all our limits.
HUGE = 1 << 80

_ESCAPED = re.compile(rb"\\[\x00-\xff]")
_STRING = re.compile(rb'"[^"]*"')
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_INTEGER = re.compile("-?[0-9]+")
_LITERALS = {b"t": True, b"f": False, b"n": None}


class Broken(Exception):
    """The only finding of a text: its code."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def _integer(digits):
    """Returns an integer, or HUGE for one with many digits."""
    return int(digits) if len(digits) < 24 else HUGE


def _object(pairs):
    """T4: returns an object without duplicate names."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("repeated")
    return members


def _no_constant(_):
    """T3: refuses NaN and Infinity, which are not JSON."""
    raise ValueError("constant")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_constant=_no_constant
)

# The pure Python reader of the standard library accepts more than JSON.
_FAST = json.decoder.c_scanstring is not None and json.scanner.c_make_scanner is not None


def _surely_shallow(data):
    """T5: returns whether a JSON text certainly has at most 512 open at once.

    Each round removes the innermost pairs of brackets, at most two levels of them.
    """
    if data.count(b"{") + data.count(b"[") <= MAX_OPEN:
        return True
    left = _STRING.sub(b"", _ESCAPED.sub(b"", data)).translate(None, _NOT_BRACKETS)
    for _ in range(MAX_OPEN // 2):
        if not left:
            return True
        left = left.replace(b"{}", b"").replace(b"[]", b"")
    return not left


def read(data):
    """Returns the value of a JSON text, or raises Broken with the first fault."""
    if _FAST:
        try:
            value = _DECODER.decode(data.decode("utf-8"))
            if _surely_shallow(data):
                return value
        except (ValueError, RecursionError):
            pass
    return read_slowly(data)


def read_slowly(data):
    """Does the same as read, using only the Reader of the contract."""
    reader = Reader(data, _repeated)
    try:
        reader.space()
        value = _value(reader)
        reader.finish()  # T6
    except Fault as fault:
        raise Broken(CODES[fault.rule]) from None
    return value


def _repeated(place):
    raise Fault("T4", place)


def _value(reader):
    """Reads any value; it never calls itself."""
    open_values = []  # (generator, container) from the outermost
    while True:
        first = reader.byte()
        if first == b"{":
            value = {}
            open_values.append((reader.members(), value))
        elif first == b"[":
            value = []
            open_values.append((reader.elements(), value))
        else:
            value = _scalar(reader, first)
        if first not in (b"{", b"["):
            if not open_values:
                return value
            _put(reader, open_values[-1][1], value)
        while True:
            steps, container = open_values[-1]
            if next(steps, None) is not None:
                break
            open_values.pop()
            if not open_values:
                return container
            _put(reader, open_values[-1][1], container)


def _put(reader, container, value):
    """Adds a value to its container; `path` ends with its name or index."""
    if type(container) is list:
        container.append(value)
    else:
        container[reader.path[-1]] = value


def _scalar(reader, first):
    """Returns a string, number or literal."""
    if first == b'"':
        return reader.string()
    start = reader.pos
    reader.scalar()
    if first in _LITERALS:
        return _LITERALS[first]
    digits = reader.data[start:reader.pos].decode("ascii")
    return _integer(digits) if _INTEGER.fullmatch(digits) else float(digits)


def spans(data):
    """Returns (start, end) of the value of each member of a JSON object."""
    reader = Reader(data, _repeated)
    reader.space()
    found = {}
    for name, _, _ in reader.members():
        start = reader.pos
        reader.skip()
        found[name] = (start, reader.pos)
    return found
