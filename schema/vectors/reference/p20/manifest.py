"""Section 2 of the projections, I4: capture.json."""

import re

from .characters import has_half
from .frames import FRAMINGS, OPAQUE
from .moments import instant
from .strict import Broken, read

MAX_MANIFEST = 1048576
SCHEMA = "p20export.capture.v1"
OPTIONAL_FILES = ("request.json", "arrivals.tsv")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Malformed(Exception):
    """The manifest is malformed."""


def _need(condition):
    if not condition:
        raise Malformed


def _keys(value, required, optional=()):
    """Checks for an object with these keys and no others."""
    _need(type(value) is dict)
    _need(all(key in value for key in required))
    _need(all(key in required or key in optional for key in value))


def _strings(value):
    """Checks for an object of strings."""
    _need(type(value) is dict and all(type(text) is str for text in value.values()))


def _no_null_no_half(value):
    """Checks that no value is null and no string contains half of a surrogate pair."""
    left = [value]
    while left:
        item = left.pop()
        _need(item is not None)
        if type(item) is str:
            _need(not has_half(item))
        elif type(item) is dict:
            left.extend(item)
            left.extend(item.values())
        elif type(item) is list:
            left.extend(item)


def _time(value):
    _need(type(value) is str and _TIME.fullmatch(value) is not None)
    moment = instant(value)
    _need(moment is not None)
    return moment


class Manifest:
    """The content of a manifest.

    `files` maps each listed name, the response first, to (size, digest);
    `coding` is the value of the header content-encoding, or empty.
    """

    def __init__(self, data):
        try:
            value = read(data)
        except Broken:
            raise Malformed from None
        _no_null_no_half(value)
        _keys(value, ("schema", "source", "framing", "started_at", "ended_at", "end", "files", "tool"),
              ("first_byte_at", "labels"))
        _need(value["schema"] == SCHEMA and value["framing"] in FRAMINGS + (OPAQUE,))
        _need(value["end"] in ("eof", "cancelled", "error", "limit", "storage"))
        self.framing = value["framing"]
        self._source(value["source"])
        self._times(value)
        self._files(value["files"])
        if "labels" in value:
            _strings(value["labels"])
        _keys(value["tool"], ("name", "version"))
        _strings(value["tool"])
        _need(all(value["tool"].values()))

    def _source(self, source):
        texts = ("method", "url", "proxy", "content_type")
        _keys(source, ("kind",), texts + ("status", "headers"))
        _need(source["kind"] in ("http", "proxy", "file"))
        _need(all(type(source.get(key, "")) is str for key in texts))
        self.status = source.get("status")
        if self.status is not None:
            _need(type(self.status) is int and 0 <= self.status <= 999)
        headers = source.get("headers", {})
        _strings(headers)
        self.coding = headers.get("content-encoding", "")

    def _times(self, value):
        self.started = _time(value["started_at"])
        self.ended = _time(value["ended_at"])
        self.first_byte = None
        last = self.started
        if "first_byte_at" in value:
            self.first_byte = _time(value["first_byte_at"])
            _need(last <= self.first_byte)
            last = self.first_byte
        _need(last <= self.ended)

    def _files(self, files):
        self.response = response = "response." + self.framing
        _keys(files, (response,), OPTIONAL_FILES)
        self.files = {}
        for name in (response,) + OPTIONAL_FILES:  # I5: in this order
            if name not in files:
                continue
            entry = files[name]
            _keys(entry, ("digest",), ("bytes",))
            size = entry.get("bytes", 0)
            _need(type(size) is int and size >= 0)
            _need(type(entry["digest"]) is str and _DIGEST.fullmatch(entry["digest"]) is not None)
            self.files[name] = (size, entry["digest"])
