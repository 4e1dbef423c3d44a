"""Section 8 of the projections: the messages of a list."""

from .artifact import MAX_MESSAGES, ROLES
from .characters import has_half, trim
from .ends import optional
from .join import join
from .omissions import token

TAKEN_KEYS = ("id", "role", "content", "name")


def is_text_part(part):
    """U2: returns whether an element of a content is a text part."""
    return type(part) is dict and part.get("type") == "text" and type(part.get("text")) is str


def text_of(content):
    """U2: returns the text of a content."""
    if type(content) is str:
        return content
    if type(content) is not list:
        return ""
    return join([part["text"] for part in content if is_text_part(part)])


def _misfits(message, text, strict):
    """U2: returns the misfits of a message."""
    found = []
    if message.get("role") not in ROLES:
        found.append("role_outside_subset")
    content = message.get("content")
    is_list = type(content) is list
    if content is None:
        found.append("content_missing")
    elif type(content) is not str and not is_list:
        found.append("content_not_text")
    elif is_list and not all(map(is_text_part, content)):
        found.append("content_not_text")
    else:
        if is_list and strict:
            found.append("content_not_text")
        if not trim(text):
            found.append("content_blank")
    return found


def read_messages(ledger, elements, place, base, malformed):
    """U1 to U9: returns the messages of a list as the artifact has them.

    `place` and `base` are the place and the pointer of the list, `malformed`
    the code for an element that is not an object.
    """
    taken = []
    for number, message in enumerate(elements):
        if len(taken) > MAX_MESSAGES:
            break  # U9
        if type(message) is not dict:
            ledger.error(malformed)  # U1
            continue
        pointer = "%s/%d" % (base, number)
        content = message.get("content")
        text = text_of(content)
        misfits = _misfits(message, text, ledger.strict)
        for code in misfits:
            ledger.reject(place, pointer, code)  # U3
        if misfits and not ledger.strict:
            _other_keys(ledger, message, place, pointer)  # U3
            continue
        kept = {}
        if "id" not in message:
            ledger.error("key_missing")  # U5
        elif type(message["id"]) is not str:
            ledger.error("wrong_type")  # U5
        elif has_half(message["id"]):
            ledger.error("lone_surrogate")  # U5
        else:
            kept["id"] = message["id"]
        kept["role"] = message.get("role")
        kept["content"] = text
        if has_half(text):
            ledger.error("lone_surrogate")  # U4
        if type(content) is list and not ledger.strict:
            _joined(ledger, content, place, pointer + "/content")  # U4
        if "name" in message:
            name = optional(ledger, message["name"], place, pointer + "/name")  # U6
            if name is not None:
                kept["name"] = name
        _other_keys(ledger, message, place, pointer)  # U7
        taken.append(kept)
    return taken


def _joined(ledger, parts, place, pointer):
    """U4: omits the other keys of text parts."""
    ledger.omit(place, pointer, "text_parts_joined")
    for number, part in enumerate(parts):
        for key in part:
            if key not in ("type", "text"):
                ledger.omit(place, "%s/%d%s" % (pointer, number, token(key)), "key_outside_subset")


def _other_keys(ledger, message, place, pointer):
    """U7: rejects the other keys of a message."""
    for key in message:
        if key not in TAKEN_KEYS:
            ledger.reject(place, pointer + token(key), "key_outside_subset")
