"""Section 2: the reader of JSON text.

It reads bytes, one value at a time, and raises Fault where T2, T3, T5 or T6 stop the
reading. It is not recursive, so nesting needs no stack.
"""

import re

MAX_OPEN = 512

# The two common cases: a name of plain ASCII with its colon, and a string without
# escapes. Other names and strings are read byte by byte.
_PLAIN_NAME = re.compile(rb'"([\x20\x21\x23-\x5b\x5d-\x7f]*)"[ \t\n\r]*:[ \t\n\r]*')
_PLAIN_STRING = re.compile(rb'"([^"\\\x00-\x1f]*)"')

_SPACE = re.compile(rb"[ \t\n\r]*")
_COLON = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
_AFTER_MEMBER = re.compile(rb"[ \t\n\r]*([,}])[ \t\n\r]*")
_AFTER_ELEMENT = re.compile(rb"[ \t\n\r]*([,\]])[ \t\n\r]*")

# The repeat is bounded because the regular expression engine keeps state for each
# round; a longer string needs several matches.
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
    """The fault that stops the reading: the broken rule and the place."""

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
    """Returns the value of a string, with half of a surrogate pair as its code point.

    UTF-8 has no halves, so each half in the value comes from an escape, and two
    neighbours in the value are neighbours in the text.
    """
    return _PAIR.sub(_join_pair, _ESCAPE.sub(_unescape_one, text))


class Reader:
    """Reads one JSON text.

    `pos` is the next byte. `path` has, for each open array and object, the name whose
    colon was read last, the index of the element begun last, or None. `on_repeat(place)`
    is called for a repeated member (T4) while `path` is that of the member.
    """

    def __init__(self, data, on_repeat):
        self.data = data
        self.pos = 0
        self.path = []
        self.on_repeat = on_repeat

    def byte(self):
        """Returns the next byte, empty at the end."""
        return self.data[self.pos:self.pos + 1]

    def space(self):
        """Skips JSON white space."""
        self.pos = _SPACE.match(self.data, self.pos).end()

    def finish(self):
        """T6: checks that only JSON white space follows the value."""
        self.space()
        if self.pos != len(self.data):
            raise Fault("T6", self.pos)

    # Strings

    def string(self):
        """Reads the string that begins here and returns its value."""
        match = _PLAIN_STRING.match(self.data, self.pos)
        if match is None:
            return self._long_string()
        self.pos = match.end()
        try:
            return match.group(1).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Fault("T2", match.start(1) + error.start) from None  # T2

    def _long_string(self):
        """Reads a string with escapes, or with a fault."""
        data = self.data
        begin = end = self.pos + 1
        part = _STRING_PART.match(data, end)
        while part is not None:
            end = part.end()
            part = _STRING_PART.match(data, end)
        text = self._decode(begin, end)  # T2 before T3: its byte comes first
        if data[end:end + 1] != b'"':
            # A control character, a bad escape at its backslash, or the end.
            raise Fault("T3", end)  # T3
        self.pos = end + 1
        return unescape(text)

    def _decode(self, begin, end):
        """T2: decodes the bytes of a string as UTF-8."""
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
        """T3: reads true, false or null."""
        for offset, wanted in enumerate(word):
            place = self.pos + offset
            if self.data[place:place + 1] != bytes((wanted,)):
                raise Fault("T3", place)
        self.pos += len(word)

    def _number(self):
        """T3: reads a number, or raises the fault of a byte that cannot begin a value."""
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
        """Reads the opening bracket and the white space after it."""
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

        Yields (name, place of the name, whether it is repeated) when `pos` is at the
        value; the caller has to read the value before the next step.
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
        """Reads a name, its colon and the white space after it."""
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

        Yields the index of each element when `pos` is at the element; the caller has to
        read it before the next step.
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

    def skip(self, on_key=None):
        """Skips any value.

        `on_key(name, place)`, if given, is called for each member that is not repeated,
        at any depth. If it returns true, it is not called for members inside the value
        of that member.
        """
        open_values = []
        quiet = None  # the number of open values at the member for which it returned true
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
