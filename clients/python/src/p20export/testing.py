"""Assertions for tests of agents, with any test runner."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._program import CommandError, StrPath, flags, run

__all__ = ["assert_agui_valid"]


def assert_agui_valid(source: Any, **options: Any) -> None:
    """Fail if a stream of events breaks a rule of AG-UI.

    source is the path of captures, a recording, the URL of an agent, an encoded stream (bytes,
    or text with line breaks), or an iterable of events: mappings, models of ag_ui.core, or
    encoded ones. The options are those of p20export.lint, such as fail_on="warning".
    """
    __tracebackhide__ = True
    source = getattr(source, "captures", source)
    if isinstance(source, os.PathLike) or isinstance(source, str) and "\n" not in source:
        check("lint", source, options)
    else:
        check("lint", "-", options, _encode(source))


def check(command: str, argument: StrPath, options: Mapping[str, Any], stdin: bytes = b"") -> None:
    """Run a command. If its check fails, raise AssertionError with what it prints."""
    __tracebackhide__ = True
    line = [command, *flags(options), "--", os.fspath(argument)]
    done = run(*line, input=stdin, capture_output=True)
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode == 1:
        raise AssertionError(f"p20export {command} fails:\n{stdout}{stderr}".rstrip())
    if done.returncode != 0:
        raise CommandError(tuple(line), done.returncode, stderr, stdout)


def _encode(events: Any) -> bytes:
    """Return events as a stream of server-sent events."""
    stream = b""
    for event in [events] if isinstance(events, (bytes, str)) else events:
        if isinstance(event, bytes):
            stream += event
        elif isinstance(event, str):
            stream += event.encode()
        else:
            text = json.dumps(dict(event)) if isinstance(event, Mapping) else event.model_dump_json(by_alias=True, exclude_none=True)
            stream += b"data: " + text.encode() + b"\n\n"
    return stream
