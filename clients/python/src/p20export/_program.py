"""The program: its path, its processes and its rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Union

StrPath = Union[str, "os.PathLike[str]"]

_NAME = "p20export.exe" if sys.platform == "win32" else "p20export"


def binary() -> Path:
    """Return the path of the program that was installed with this module.

    Raises FileNotFoundError if it was removed or moved, or the module is in an archive.
    """
    here = Path(__file__).resolve().parent.parent
    # Look beside the module first: the other places may belong to another installation.
    places = [
        here / "bin",  # pip install --target
        here.parent.parent.parent / "bin",  # an environment, pip install --prefix
        here.parent.parent / "Scripts",  # the same on Windows
        Path(sysconfig.get_path("scripts")),
        Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))),
    ]
    for place in places:
        if (place / _NAME).is_file():
            return place / _NAME
    raise FileNotFoundError(f"{_NAME} is in none of {', '.join(map(str, places))}: install the package again")


class CommandError(Exception):
    """A command could not be completed: its exit status is neither 0 nor 1."""

    def __init__(self, args: tuple[str, ...], status: int, stderr: str, stdout: str = "") -> None:
        # Some reasons are findings, which are on standard output.
        super().__init__(f"p20export {' '.join(args)}: exit status {status}: {(stdout + stderr).strip()}")
        self.status = status
        self.stderr = stderr


class Row(Mapping[str, Any]):
    """A JSON object that p20export printed. Its keys are also attributes.

    Objects within it are Rows, and arrays are lists. A key that the row does not have is
    None as an attribute, and raises KeyError as a key: the rows of a later version may have
    keys that those of an earlier one lack.
    """

    __slots__ = ("_object",)

    _types: ClassVar[dict[str, type[Row]]] = {}
    _nested: ClassVar[Mapping[str, type[Row]]] = {}

    def __init_subclass__(cls, row: str = "", **nested: type[Row]) -> None:
        """Note the type of row that the class is for, and the classes of objects in it."""
        cls._nested = nested
        if row:
            Row._types[row] = cls

    def __init__(self, object: dict[str, Any]) -> None:
        self._object = object

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._object[key], self._nested.get(key, Row))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _wrapped(self._object.get(name), self._nested.get(name, Row))

    def __iter__(self) -> Iterator[str]:
        return iter(self._object)

    def __len__(self) -> int:
        return len(self._object)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._object!r})"


def _wrapped(value: Any, of: type[Row]) -> Any:
    if isinstance(value, dict):
        return of(value)
    if isinstance(value, list):
        return [_wrapped(v, of) for v in value]
    return value


def run(*args: StrPath, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command of p20export. The options are those of subprocess.run."""
    return subprocess.run([binary(), *args], **options)


def rows(*args: StrPath) -> Iterator[Row]:
    """Run a command of p20export with --format json, and yield each row as it is printed.

    A check that failed (exit status 1) is no error: its rows say so. Raises CommandError at
    the end if the command could not be completed, or printed something else than rows. If the
    caller stops early, the command is ended.
    """
    command = [os.fspath(a) for a in args]
    end = command.index("--") if "--" in command else len(command)
    process = subprocess.Popen(
        [binary(), *command[:end], "--format", "json", *command[end:]],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="backslashreplace",
    )
    assert process.stdout is not None and process.stderr is not None
    stdout, stderr = process.stdout, process.stderr
    messages: list[str] = []
    found: list[str] = []
    reader = threading.Thread(target=lambda: messages.append(stderr.read()), daemon=True)
    reader.start()
    try:
        for line in stdout:
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                break
            found += [f"{finding['code']}: {finding['message']}\n" for finding in row.get("findings") or ()]
            yield Row._types.get(str(row.get("type")), Row)(row)
        else:
            line = ""
        stdout.close()
        status = process.wait()
        reader.join(10)  # what the program has started may keep the pipe open
        if line or status not in (0, 1):
            unread = f"\nnot a row: {line[:200]}" if line else ""
            raise CommandError(tuple(command), status, "".join(messages) + unread, "".join(found))
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        stdout.close()
        reader.join(10)
        if not reader.is_alive():
            stderr.close()


def flags(options: Mapping[str, Any]) -> list[str]:
    """Return options as flags: skip_existing=True as --skip-existing.

    None and False leave a flag out. A list gives it several times.
    """
    result = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        for v in values:
            if v is True:
                result.append(flag)
            elif v is not None and v is not False:
                result.append(f"{flag}={os.fspath(v) if isinstance(v, os.PathLike) else v}")
    return result


def call(command: str, parameters: dict[str, Any]) -> list[Any]:
    """Run a command with the parameters of its function, and return its rows."""
    args = parameters.pop("args", ())
    return list(rows(*command.split(), *flags(parameters), "--", *args))
