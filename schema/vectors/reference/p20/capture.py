"""Section 2 of the projections: opens a capture and chooses its runs."""

import hashlib
import os
import stat
import zlib

from .characters import trim
from .frames import OPAQUE, guess
from .manifest import MAX_MANIFEST, Malformed, Manifest
from .moments import Arrivals, NoArrivals
from .omissions import REQUEST
from .projection import FOLDED, Response
from .run_input import MAX_REQUEST

_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_GZIP = 31  # zlib's window bits for a gzip member


class Refused(Exception):
    """I3: the only finding, which refuses the capture."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class NoResult(Exception):
    """I7: a coding that this projector cannot decode."""


def open_directory(folder, projection):
    """I3: returns (Response, status or None) of a capture directory."""
    manifest = _manifest(folder)
    for name in manifest.files:
        _regular(os.path.join(folder, name), "capture_file_missing")  # I5
    if manifest.framing == OPAQUE:
        raise Refused("framing_opaque")  # I6
    coding = trim(manifest.coding).translate(_LOWER)  # I7
    if coding not in ("", "identity", "gzip", "x-gzip", "zstd"):
        raise Refused("content_coding_unsupported")
    coded = coding not in ("", "identity")
    contents = {}
    if projection == FOLDED and REQUEST in manifest.files:
        contents[REQUEST] = _request(folder, manifest)  # I3 step 2
    for name in manifest.files:
        if name not in contents:
            contents[name] = _read(os.path.join(folder, name))
    if any(not _matches(contents[name], manifest.files[name]) for name in manifest.files):
        raise Refused("capture_digest_mismatch")  # I3 step 4
    if coding == "zstd":
        raise NoResult("the content coding zstd cannot be undone here")
    data = contents[manifest.response]
    if coded:
        data = _decode_gzip(data)  # I7
    arrivals = NoArrivals()
    if "arrivals.tsv" in contents and not coded:  # L2
        arrivals = Arrivals(
            contents["arrivals.tsv"], manifest.started, len(data),
            manifest.first_byte, manifest.ended, whole=True,
        )
    return Response(data, manifest.framing, contents.get(REQUEST), arrivals), manifest.status


def open_file(data, framing=None):
    """I6: returns a response without a directory."""
    return Response(data, framing or guess(data)), None


def _manifest(folder):
    """I4: returns the manifest."""
    name = os.path.join(folder, "capture.json")
    _regular(name, "capture_unfinished")
    data = _read(name, MAX_MANIFEST + 1)
    try:
        if len(data) > MAX_MANIFEST:
            raise Malformed
        return Manifest(data)
    except Malformed:
        raise Refused("capture_manifest_malformed") from None


def _regular(name, absent):
    """I4, I5: checks that a file is present and regular."""
    try:
        mode = os.lstat(name).st_mode
    except FileNotFoundError:
        raise Refused(absent) from None
    if stat.S_ISLNK(mode):
        raise Refused("capture_file_link")
    if not stat.S_ISREG(mode):
        raise Refused("capture_file_missing")


def _read(name, limit=-1):
    with open(name, "rb") as file:
        return file.read(limit)


def _matches(data, entry):
    """Returns whether a file has the size and the digest of the manifest."""
    size, digest = entry
    return len(data) == size and "sha256:" + hashlib.sha256(data).hexdigest() == digest


def _request(folder, manifest):
    """I3 step 2: returns the request."""
    data = _read(os.path.join(folder, REQUEST), MAX_REQUEST + 1)
    if len(data) > MAX_REQUEST:
        raise Refused("file_too_large")
    if not _matches(data, manifest.files[REQUEST]):
        raise Refused("capture_digest_mismatch")
    return data


def _decode_gzip(data):
    """I7: decodes consecutive members; anything else is damage."""
    parts = []
    while data:
        member = zlib.decompressobj(_GZIP)
        try:
            parts.append(member.decompress(data))
        except zlib.error:
            raise Refused("content_coding_damaged") from None
        if not member.eof:
            raise Refused("content_coding_damaged")
        data = member.unused_data
    return b"".join(parts)


def choose(response, status, choice, operator):
    """I8 to I10: returns the chosen runs, and adds findings to response.codes."""
    codes = response.codes
    if not response.runs:
        if status not in (None, 200):
            if response.empty:
                codes.discard("array_malformed")  # I9
            codes.add("http_status")  # I9
        else:
            codes.add("no_run")  # I9
        return []
    if not choice:
        if operator is not None and len(response.runs) > 1:
            codes.add("operator_times_need_run")  # I8
        return response.runs
    if choice.startswith("#"):
        chosen = [run for run in response.runs if str(run.number) == choice[1:]]
    else:
        chosen = [run for run in response.runs if run.id == choice]
    if len(chosen) != 1:
        codes.add("run_ambiguous" if chosen else "run_not_found")  # I10
        return []
    return chosen
