"""Section 14 of the projections: the envelope."""

from .canonical import encode_string
from .frames import JSON_SPACE
from .text import Reader

_BUILT = '{"type":"MESSAGES_SNAPSHOT","metadata":{"p20export":{"origin":"built"}},"messages":['


def line_of(frame):
    """V2: returns one line of the envelope, with its LF."""
    data = frame.data.strip(JSON_SPACE)
    if b"\n" in data or b"\r" in data:
        data = _without_space(data)
    return data.decode("utf-8") + "\n"


def _without_space(data):
    """Removes the JSON white space outside strings from a JSON text."""
    parts = []
    pos = 0
    while True:
        quote = data.find(b'"', pos)
        if quote < 0:
            parts.append(data[pos:].translate(None, JSON_SPACE))
            return b"".join(parts)
        parts.append(data[pos:quote].translate(None, JSON_SPACE))
        reader = Reader(data, None)
        reader.pos = quote
        reader.string()
        pos = reader.pos
        parts.append(data[quote:pos])


def built_line(messages):
    """V3: returns the snapshot that a projection builds, with its LF."""
    return _BUILT + ",".join(map(_built, messages)) + "]}\n"


def _built(message):
    keys = ("id", "role", "content", "name")
    members = ['"%s":%s' % (key, encode_string(message[key])) for key in keys if key in message]
    return "{" + ",".join(members) + "}"
