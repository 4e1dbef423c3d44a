"""Section 2: the reader of JSON text.

It reads bytes, one value at a time, and raises Fault where T2, T3, T5 or T6
end the reading. It never calls itself, so nesting costs no stack.
"""

import re

MAX_OPEN = 512

# A name of plain ASCII with its colon, and a string without escapes: the two
# common cases. All else is read by the longer way round.
_PLAIN_NAME = re.compile(rb'"([\x20\x21\x23-\x5b\x5d-\x7f]*)"[ \t\n\r]*:[ \t\n\r]*')
_PLAIN_STRING = re.compile(rb'"([^"\\\x00-\x1f]*)"')

_SPACE = re.compile(rb"[ \t\n\r]*")
_COLON = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
_AFTER_MEMBER = re.compile(rb"[ \t\n\r]*([,}])[ \t\n\r]*")
_AFTER_ELEMENT = re.compile(rb"[ \t\n\r]*([,\]])[ \t\n\r]*")

# The repeat is bounded because the regular expression machine keeps a note
# for each round; a longer string takes several matches.
_STRING_PART = re.compile(
    rb'(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){1,500}'
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_INTEGER = re.compile(rb"0|[1-9][0-9]*")
_DIGITS = re.compile(rb"[0-9]+")
_EXPONENT = re.compile(rb"[eE][+-]?")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}

_SHORT = {
    '"': '"', "\\": "\\", "/": "/",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}


class Fault(Exception):
    """The end of the reading: the rule that is broken and the place."""

    def __init__(self, rule, place):
        super().__init__(rule, place)
        self.rule = rule
        self.place = place


def _unescape_one(match):
    digits, short = match.groups()
    return chr(int(digits, 16)) if digits else _SHORT[short]


def _join_pair(match):
    high, low = match.group()
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + ord(low) - 0xDC00)


def unescape(text):
    """The value of a string, a half of a surrogate pair as its code point.

    UTF-8 has no halves, so each half in the value is from an escape, and two
    that are neighbours in the value are neighbours in the text.
    """
    return _PAIR.sub(_join_pair, _ESCAPE.sub(_unescape_one, text))


class Reader:
    """Reads one JSON text.

    `pos` is the next byte. `path` has, for each array and object that is
    open, the name whose colon was read last, the index of the element begun
    last, or None. `on_repeat(place)` is called of a repeated member (T4) when
    `path` is that of the member.
    """

    def __init__(self, data, on_repeat):
        self.data = data
        self.pos = 0
        self.path = []
        self.on_repeat = on_repeat

    def byte(self):
        """The next byte, empty at the end."""
        return self.data[self.pos:self.pos + 1]

    def space(self):
        """Reads JSON white space."""
        self.pos = _SPACE.match(self.data, self.pos).end()

    def finish(self):
        """T6: nothing but JSON white space follows the value."""
        self.space()
        if self.pos != len(self.data):
            raise Fault("T6", self.pos)

    # Strings

    def string(self):
        """Reads the string that begins here; its value."""
        match = _PLAIN_STRING.match(self.data, self.pos)
        if match is None:
            return self._long_string()
        self.pos = match.end()
        try:
            return match.group(1).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Fault("T2", match.start(1) + error.start) from None  # T2

    def _long_string(self):
        """A string with escapes, or with a fault."""
        data = self.data
        begin = end = self.pos + 1
        part = _STRING_PART.match(data, end)
        while part is not None:
            end = part.end()
            part = _STRING_PART.match(data, end)
        text = self._decode(begin, end)  # T2 before T3: its byte is the earlier
        if data[end:end + 1] != b'"':
            # A control character, a bad escape at its backslash, or the end.
            raise Fault("T3", end)  # T3
        self.pos = end + 1
        return unescape(text)

    def _decode(self, begin, end):
        """T2: the bytes of a string are well-formed UTF-8."""
        try:
            return self.data[begin:end].decode("utf-8")
        except UnicodeDecodeError as error:
            raise Fault("T2", begin + error.start) from None

    # Other values

    def scalar(self):
        """Reads a string, number or literal."""
        first = self.byte()
        if first == b'"':
            self.string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        else:
            self._number()

    def _literal(self, word):
        """T3: true, false, null."""
        for offset, wanted in enumerate(word):
            place = self.pos + offset
            if self.data[place:place + 1] != bytes((wanted,)):
                raise Fault("T3", place)
        self.pos += len(word)

    def _number(self):
        """T3: a number; also the fault of a byte that begins no value."""
        data = self.data
        if self.byte() == b"-":
            self.pos += 1
        self._need(_INTEGER)
        if data[self.pos:self.pos + 1] == b".":
            self.pos += 1
            self._need(_DIGITS)
        exponent = _EXPONENT.match(data, self.pos)
        if exponent is not None:
            self.pos = exponent.end()
            self._need(_DIGITS)

    def _need(self, pattern):
        match = pattern.match(self.data, self.pos)
        if match is None:
            raise Fault("T3", self.pos)
        self.pos = match.end()

    # Objects and arrays

    def _open(self):
        """Reads the opening bracket and the white space behind it."""
        if len(self.path) == MAX_OPEN:
            raise Fault("T5", self.pos)  # T5
        self.path.append(None)
        self.pos += 1
        self.space()

    def _close(self, pos):
        self.path.pop()
        self.pos = pos

    def members(self):
        """Reads the object that begins here.

        Yields (name, place of the name, whether it is repeated) when `pos` is
        at the value; the caller reads the value before it goes on.
        """
        self._open()
        if self.byte() == b"}":
            self._close(self.pos + 1)
            return
        data = self.data
        path = self.path
        names = set()
        while True:
            place = self.pos
            name = self._name()
            path[-1] = name
            repeated = name in names
            if repeated:
                self.on_repeat(place)  # T4
            else:
                names.add(name)
            yield name, place, repeated
            after = _AFTER_MEMBER.match(data, self.pos)
            if after is None:
                self.space()
                raise Fault("T3", self.pos)  # T3
            if after.group(1) == b"}":
                self._close(after.end(1))
                return
            self.pos = after.end()

    def _name(self):
        """Reads a name, its colon and the white space behind it."""
        match = _PLAIN_NAME.match(self.data, self.pos)
        if match is not None:
            self.pos = match.end()
            return match.group(1).decode("ascii")
        if self.byte() != b'"':
            raise Fault("T3", self.pos)  # T3
        name = self.string()
        colon = _COLON.match(self.data, self.pos)
        if colon is None:
            self.space()
            raise Fault("T3", self.pos)  # T3
        self.pos = colon.end()
        return name

    def elements(self):
        """Reads the array that begins here.

        Yields the index of each element when `pos` is at it; the caller reads
        it before it goes on.
        """
        self._open()
        if self.byte() == b"]":
            self._close(self.pos + 1)
            return
        data = self.data
        path = self.path
        index = 0
        while True:
            path[-1] = index
            yield index
            after = _AFTER_ELEMENT.match(data, self.pos)
            if after is None:
                self.space()
                raise Fault("T3", self.pos)  # T3
            if after.group(1) == b"]":
                self._close(after.end(1))
                return
            self.pos = after.end()
            index += 1

    def read_over(self, on_key=None):
        """Reads any value and drops it.

        `on_key(name, place)`, if given, is called of each member that is not
        repeated, at any depth; when it answers true, it is not called of what
        lies in the value of that member.
        """
        open_values = []
        quiet = None  # how many values are open at the member answered true
        while True:
            first = self.byte()
            if first == b"{":
                open_values.append(self.members())
            elif first == b"[":
                open_values.append(self.elements())
            else:
                self.scalar()
            item = None
            while open_values:
                item = next(open_values[-1], None)
                if item is not None:
                    break
                open_values.pop()
            if item is None:
                return
            if on_key is None or isinstance(item, int):
                continue
            depth = len(open_values)
            if quiet is not None and depth <= quiet:
                quiet = None
            name, place, repeated = item
            if quiet is None and not repeated and on_key(name, place):
                quiet = depth
