"""Enforcement: removes what the protocol does not describe, and rejects what it describes and is wrong.

A shape reads a value and returns what remains of it. It returns UNKNOWN for a value of a kind that
the protocol does not name. Where an UNKNOWN value goes depends on where it was: an optional field
is removed; a required field takes the object around it with it; an element leaves its list.
"""

import re

from reading import Rejected, is_integer_between, pointer

UNKNOWN = object()
SAFE = 2**53 - 1
POINTER = re.compile(r"(/([^/~]|~[01])*)*")


def _malformed(path, what):
    place = pointer(path) or "the event"
    raise Rejected("basic/processing", "malformed", f"{place} {what}")


class Anything:
    def read(self, value, path, stripped):
        return value


class NotNull:
    def read(self, value, path, stripped):
        if value is None:
            _malformed(path, "is null")
        return value


class Text:
    def read(self, value, path, stripped):
        if not isinstance(value, str):
            _malformed(path, "is not a string")
        return value


class Boolean:
    def read(self, value, path, stripped):
        if not isinstance(value, bool):
            _malformed(path, "is not true or false")
        return value


class Integer:
    def __init__(self, low, high=SAFE):
        self.low, self.high = low, high

    def read(self, value, path, stripped):
        if not is_integer_between(value, self.low, self.high):
            _malformed(path, f"is not an integer from {self.low} to {self.high}")
        return value


class Fixed:
    """A string that has one value: any other is malformed."""

    def __init__(self, text):
        self.text = text

    def read(self, value, path, stripped):
        if value != self.text or not isinstance(value, str):
            _malformed(path, f"is not {self.text!r}")
        return value


class OneOf:
    """A closed set of strings: a string outside it is unrecognised, anything else malformed."""

    def __init__(self, *members):
        self.members = members

    def read(self, value, path, stripped):
        if not isinstance(value, str):
            _malformed(path, "is not a string")
        return value if value in self.members else UNKNOWN


class Pointer:
    def read(self, value, path, stripped):
        if not isinstance(value, str) or not POINTER.fullmatch(value):
            _malformed(path, "is not a JSON Pointer")
        return value


class Open:
    """An object whose members are data."""

    def read(self, value, path, stripped):
        if not isinstance(value, dict):
            _malformed(path, "is not an object")
        return value


class List:
    def __init__(self, element, least=0):
        self.element, self.least = element, least

    def read(self, value, path, stripped):
        if not isinstance(value, list):
            _malformed(path, "is not an array")
        if len(value) < self.least:
            _malformed(path, f"has fewer than {self.least} elements")
        kept = []
        for index, item in enumerate(value):
            inside = []
            item = self.element.read(item, path + (index,), inside)
            if item is UNKNOWN:
                stripped.append((path + (index,), "element"))
                continue
            stripped.extend(inside)
            kept.append(item)
        return kept


class TextOr:
    """A string or what another shape reads."""

    def __init__(self, other):
        self.other = other

    def read(self, value, path, stripped):
        if isinstance(value, str):
            return value
        if not isinstance(value, list):
            _malformed(path, "is neither a string nor an array")
        return self.other.read(value, path, stripped)


class Object:
    """An object with the fields that the protocol describes; others are removed unless it is open."""

    def __init__(self, required, optional=None, is_open=False):
        self.required, self.optional, self.is_open = required, optional or {}, is_open

    def read(self, value, path, stripped):
        if not isinstance(value, dict):
            _malformed(path, "is not an object")
        for name in self.required:
            if name not in value:
                _malformed(path + (name,), "is missing")
        kept, whole, mine = {}, True, []
        for name, item in value.items():
            shape = self.required.get(name) or self.optional.get(name)
            if shape is None:
                if self.is_open:
                    kept[name] = item
                else:
                    mine.append((path + (name,), "property"))
                continue
            inside = []
            item = shape.read(item, path + (name,), inside)
            if item is not UNKNOWN:
                kept[name] = item
                mine.extend(inside)
            elif name in self.required:
                whole = False
            else:
                mine.append((path + (name,), "value"))
        if not whole:
            return UNKNOWN
        stripped.extend(mine)
        return kept


class Union:
    """Objects told apart by one string; a string that names none of them is unrecognised."""

    def __init__(self, key, members):
        self.key, self.members = key, members

    def read(self, value, path, stripped):
        if not isinstance(value, dict):
            _malformed(path, "is not an object")
        if self.key not in value:
            _malformed(path + (self.key,), "is missing")
        name = value[self.key]
        if not isinstance(name, str):
            _malformed(path + (self.key,), "is not a string")
        if name not in self.members:
            return UNKNOWN
        return self.members[name].read(value, path, stripped)


def enforce(shape, event):
    """Returns what remains of an event and the places removed; None if nothing remains."""
    stripped = []
    kept = shape.read(event, (), stripped)
    if kept is UNKNOWN:
        return None, [("", "event")]
    return kept, [(pointer(path), why) for path, why in stripped]
