"""Reads JSON text into values, and holds what every stage of the witness shares."""

import json
from decimal import Decimal, InvalidOperation

PROTOCOLS = ("1.0", "1.1", "draft")


class Rejected(Exception):
    """A conforming consumer rejects the stream at the current event."""

    def __init__(self, page, code, reason):
        super().__init__(reason)
        self.page, self.code, self.reason = page, code, reason


class Number:
    """A JSON number that Decimal cannot hold: its exponent is out of any range."""


def _real(text):
    try:
        return Decimal(text)
    except InvalidOperation:
        return Number()


def _integer(text):
    # int refuses more than 4,300 digits; Decimal does not.
    return int(text) if len(text) < 40 else Decimal(text)


def _constant(name):
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_real, parse_int=_integer, parse_constant=_constant)


def read(line):
    """Returns the object of one event's JSON text; of repeated names the last one counts."""
    try:
        event = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        raise Rejected("basic/transports/http-sse", "not-json", "an event is not JSON text") from error
    if not isinstance(event, dict):
        raise Rejected("basic/transports/http-sse", "not-an-object", "an event is not a JSON object")
    return event


def is_number(value):
    return isinstance(value, (int, Decimal, Number)) and not isinstance(value, bool)


def is_integer_between(value, low, high):
    """Reports whether a value is an integer as JSON Schema counts them: 1.0 is one."""
    if not is_number(value) or isinstance(value, Number):
        return False
    if isinstance(value, Decimal):
        if not low <= value <= high:
            return False
        return value == value.to_integral_value()
    return low <= value <= high


def pointer(path):
    """Returns the JSON Pointer of a path of names and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
