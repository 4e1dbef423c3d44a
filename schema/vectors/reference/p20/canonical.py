"""Section 8 for artifacts, and the size of P7."""

import re

from .characters import trim

KEYS = (
    "schema", "framework", "surface", "thread_id_ref", "run_id_ref",
    "parent_run_id_ref", "started_at", "finished_at", "messages",
    "terminal_event", "error_code", "error_message",
)
MESSAGE_KEYS = ("id", "role", "content", "name")

_ESCAPED = re.compile('["\\\\\u0000-\u001f]')
_SHORT = {
    '"': '\\"', "\\": "\\\\",
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
}


def _escape(match):
    character = match.group()
    return _SHORT.get(character) or "\\u%04x" % ord(character)


def encode_string(text):
    """C3: returns the canonical form of a string."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def canonical_file(values, messages):
    """C1 to C3: returns the canonical file of an accepted artifact, as bytes."""
    members = []
    for key in KEYS:
        if key == "messages":
            members.append('  "messages": ' + _canonical_list(messages))
        elif key in values:
            members.append('  "%s": %s' % (key, encode_string(values[key])))
    return ("{\n" + ",\n".join(members) + "\n}\n").encode("utf-8")


def _canonical_list(messages):
    items = []
    for message in messages:
        members = [
            '      "%s": %s' % (key, encode_string(message[key]))
            for key in MESSAGE_KEYS
            if key in message
        ]
        items.append("    {\n" + ",\n".join(members) + "\n    }")
    return "[\n" + ",\n".join(items) + "\n  ]"


def event_bytes(values, messages):
    """P7: returns the number of bytes that an artifact needs of its event line."""
    items = [_all_keys(MESSAGE_KEYS, message) for message in messages]
    listed = "[" + ",".join(items) + "]"
    text = _all_keys(KEYS, values, {"messages": listed})
    return len(text.encode("utf-8")) + len(",") + len(str(len(messages)))


def _all_keys(keys, values, ready=()):
    members = []
    for key in keys:
        value = ready[key] if key in ready else encode_string(trim(values.get(key, "")))
        members.append('"%s":%s' % (key, value))
    return "{" + ",".join(members) + "}"
