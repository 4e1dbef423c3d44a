"""Reads captures with Spark and sends those of each task through one process.

The jobs of this folder share it. A capture is a file, or a directory with the files that
p20export gives a capture directory. The captures of a task become one tar archive on the standard
input of p20export, which answers with JSON rows. These become Arrow batches.

Spark repeats a task whose process ended before it had answered. In the last attempt, each capture
without an answer is sent alone. If there is again no answer, it has a row with the verdict
"quarantined".
"""

import io
import itertools
import json
import os
import posixpath
import re
import signal
import stat
import subprocess
import tarfile
import tempfile
import threading
from collections import namedtuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pyspark import SparkFiles, TaskContext

# FILES are the names of the files of capture directories. Every other file is itself a capture.
FILES = frozenset((
    "capture.json", "request.json", "arrivals.tsv", "capture.json.tmp",
    "response.sse", "response.ndjson", "response.json", "response.opaque",
))

# TABLE are the columns of a table of captures: the path of a capture, and the contents of its files.
TABLE = ("path", "response", "request", "arrivals", "manifest")

# A Capture has the name of its rows, its bytes in an archive in chunks, and why these cannot be
# read. The name is None for what follows the captures of an archive.
Capture = namedtuple("Capture", "name chunks failure", defaults=[None])

# A File is a file below a directory, with its name in an archive.
File = namedtuple("File", "path name")

BLOCK = 512  # bytes of a block of a tar archive

# UNPACKED is how many bytes a compressed archive may have to be read in Python.
UNPACKED = 2**31

TEMPLATE = tarfile.TarInfo("").tobuf(tarfile.USTAR_FORMAT)
TEMPLATE_SUM = sum(TEMPLATE) - sum(TEMPLATE[124:135]) - sum(TEMPLATE[148:156]) + 8 * ord(" ")


def header(name, size):
    """Returns the header of a regular file in a tar archive. tarfile alone needs 35 µs for it."""
    encoded = name.encode("utf-8", "surrogateescape")
    if len(encoded) > 100 or size >= 8**11:
        info = tarfile.TarInfo(name)
        info.size = size
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    digits = b"%011o" % size
    checksum = TEMPLATE_SUM + sum(encoded) + sum(digits)
    return b"".join((
        encoded.ljust(100, b"\0"), TEMPLATE[100:124], digits, TEMPLATE[135:148],
        b"%06o\0 " % checksum, TEMPLATE[156:],
    ))


def member(name, content):
    """Returns the bytes of a regular file in a tar archive, in chunks."""
    return [header(name, len(content)), content, bytes(-len(content) % BLOCK)]


def blocks(size):
    """Returns how many bytes the blocks of a content have."""
    return -(-size // BLOCK) * BLOCK


def members(archive):
    """Returns whether each member of a tar archive is a regular file, its name, and its bytes.

    The second result is what follows the last member that can be read. tarfile needs 50 µs for
    each member, so it reads only archives that have other members than plain files.
    """
    view, at, found = memoryview(archive), 0, []
    while at + BLOCK <= len(view) and view[at] != 0:
        head = bytes(view[at : at + BLOCK])
        kind, size = head[156:157], head[124:135]
        if kind not in (b"0", b"5") or head[257:262] != b"ustar" or head[345] != 0 or size.strip(b"01234567"):
            return members_of_tarfile(view)
        end = at + BLOCK + (blocks(int(size, 8)) if kind == b"0" else 0)
        if end > len(view):
            break
        if kind == b"0":
            found.append((True, head[:100].partition(b"\0")[0].decode("utf-8", "surrogateescape"), view[at:end]))
        at = end
    return found, view[at:]


def members_of_tarfile(view):
    """Returns what members returns, for every archive."""
    at, found = 0, []
    try:
        with tarfile.open(fileobj=pa.BufferReader(view), mode="r:", encoding="utf-8") as archive:
            for info in archive:
                if archive.pax_headers.keys() - {"comment"}:
                    break  # global names and sizes, which p20export does not apply
                end = info.offset_data + (blocks(info.size) if info.isreg() else 0)
                if end > len(view):
                    break
                if not info.isdir():
                    found.append((info.isreg(), info.name, view[at:end]))
                    at = end
    except (tarfile.TarError, ValueError, OverflowError):
        pass  # p20export says what is wrong with the rest
    return found, view[at:]


def unpacked(content):
    """Returns a tar archive without its compression, or None if it is damaged or too large."""
    coding = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}.get(bytes(memoryview(content)[:2]))
    if coding is None:
        return content
    parts, size = [], 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(content), coding) as stream:
            while part := stream.read(16 << 20):
                parts.append(part)
                size += len(part)
                if size > UNPACKED:
                    return None
    except OSError:
        return None
    return b"".join(parts)


# END follows the captures of an archive that is whole.
END = Capture(None, [bytes(2 * BLOCK)])


def of_archive(content):
    """Yields the captures of a tar archive in memory, and then what follows them.

    A member that p20export does not read as a part of a capture, for example a link, is a capture
    here, because it has a row.
    """
    archive = unpacked(content)
    if archive is None:
        yield Capture(None, [content])
        return
    found, rest = members(archive)
    captures, directories, names = [], {}, set()
    for is_file, given, chunk in found:
        name = clean(given)
        key = key_of(name)
        if not is_file or name in names or not is_safe(given):
            captures.append((printable(given), None, [chunk]))  # the row of a refused member has its name as it is
        elif key == name:
            captures.append((name, None, [chunk]))
        elif key in directories:
            directories[key][1].append(name)
            directories[key][2].append(chunk)
        else:
            directories[key] = (key, [name], [chunk])
            captures.append(directories[key])
        names.add(name)
    for key, files, chunks in captures:
        yield Capture(capture_name(key, files) if files else key, chunks)
    yield Capture(None, [rest])


def of_files(batches):
    """Yields the captures of batches with the column files, which Files.tasks made."""
    for name, files in grouped_files(batches):
        try:
            chunks = [chunk for file in files for chunk in archived(file)]
        except OSError as error:
            yield Capture(clean(name), [], error.strerror)
        else:
            yield Capture(clean(name), chunks)
    yield END


def grouped_files(batches):
    """Yields the name of each capture, and its files."""
    for batch in batches:
        for task in batch["files"]:
            files = (File(*(os.fsdecode(value.as_py()) for value in file.values())) for file in task)
            for key, several in itertools.groupby(files, lambda file: key_of(file.name)):
                several = list(several)
                yield capture_name(key, [file.name for file in several]), several


def archived(file):
    """Returns a file as a member of an archive, in chunks. A link is not followed."""
    status = os.lstat(file.path)
    if stat.S_ISREG(status.st_mode):
        with open(file.path, "rb") as content:
            return member(file.name, content.read())
    info = tarfile.TarInfo(file.name)
    info.type = tarfile.SYMTYPE if stat.S_ISLNK(status.st_mode) else tarfile.FIFOTYPE  # p20export refuses both
    return [info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")]


def of_table(batches):
    """Yields the captures of batches with the columns of TABLE.

    A capture with a response alone is a file, any other is a directory. Parts of captures with
    the same path would become one capture in an archive, so only the first is sent.
    """
    paths = set()
    for batch in batches:
        for path, response, request, arrivals, manifest in zip(*(batch[name] for name in TABLE)):
            path = path.as_py() or ""
            name = clean(path)
            parts = [("response." + framing(manifest), response), ("request.json", request), ("arrivals.tsv", arrivals), ("capture.json", manifest)]
            parts = [(posixpath.join(name, part), content.as_buffer()) for part, content in parts if content.is_valid]
            is_file = not (request.is_valid or arrivals.is_valid or manifest.is_valid)
            if is_file:
                parts = [(name, response.as_buffer() if response.is_valid else b"")]
            key = key_of(name) if is_file else name
            if not is_safe(path) or "\0" in path or is_file and key != name and posixpath.basename(name) != "request.json":
                yield Capture(name, [], "the path of the row cannot be that of a capture")
            elif key in paths:
                yield Capture(name, [], "another row has the path of this one")
            else:
                yield Capture(capture_name(name, [part for part, _ in parts]), [chunk for part in parts for chunk in member(*part)])
            paths.add(key)
    yield END


def framing(manifest):
    """Returns the framing of the response that a manifest names."""
    try:
        named = json.loads(manifest.as_py())["framing"] if manifest.is_valid else "sse"
    except (ValueError, TypeError, KeyError, RecursionError):
        return "sse"  # p20export says what is wrong with the manifest
    return named if f"response.{named}" in FILES else "sse"


def key_of(path):
    """Returns the path of the capture to which a file belongs, "" for the root."""
    directory, slash, base = path.rpartition("/")
    return directory if base in FILES else path


def capture_name(key, files):
    """Returns the name of a capture with these files. A request alone is a capture itself."""
    if len(files) == 1 and posixpath.basename(files[0]) == "request.json":
        return files[0]
    return key or "."


# ODD finds names that are not clean, because an element is empty, . or .., or that are not UTF-8.
ODD = re.compile("(^|/)[.]{0,2}(/|$)|[\udc80-\udcff]")
NOT_UTF8 = re.compile("[\udc80-\udcff]")


def is_safe(name):
    """Reports whether p20export reads a member with this name."""
    return not ODD.search(name) or not (name == "" or name.startswith("/") or ".." in name.split("/") or NOT_UTF8.search(name))


def clean(name):
    """Returns the name of a member in the rows of p20export."""
    return posixpath.normpath(name) if ODD.search(name) and is_safe(name) else printable(name)


def printable(name):
    """Returns a name with a replacement for each byte that is not UTF-8."""
    return NOT_UTF8.sub("\ufffd", name)


class Unanswered(Exception):
    """A process ended before it had answered for every capture."""


def answers(command, schema, captures, waiting):
    """Sends captures to one process, and yields its rows as tables with the schema.

    waiting gets the captures that were sent and have no rows yet, by their names. If it is not
    empty at the end, the archive is damaged. What follows the captures of an archive has the
    name None, and waits until the process ends.
    """
    lock, failed = threading.Lock(), []
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said) as process:

        def send():
            try:
                with process.stdin:
                    for some in by_size(((capture, sum(map(len, capture.chunks))) for capture in captures), 1 << 20):
                        with lock:
                            for capture in some:
                                waiting.setdefault(capture.name, []).append(capture)
                        process.stdin.write(b"".join(chunk for capture in some for chunk in capture.chunks))
            except BrokenPipeError:
                pass  # the process has ended, and its status says why
            except BaseException as error:
                failed.append(error)
                process.kill()

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        damaged, renamed = False, 0
        try:
            for rows in whole(tables(process.stdout, schema), lambda: process.wait() in (0, 1, 3)):
                with lock:
                    others = answered(rows, waiting)
                damaged = damaged or ("-", "error") in others
                renamed += len(others) - others.count(("-", "error"))
                yield rows
        except BaseException:
            process.kill()
            raise
        process.wait()
        sender.join()
        if failed:
            raise failed[0]
        unanswered = sum(len(some) for name, some in waiting.items() if name is not None)
        if process.returncode in (0, 1) and unanswered <= renamed:
            waiting.clear()  # p20export read every member, some by other names than Python
            renamed -= unanswered
        captures.others += renamed
        if process.returncode not in ((3,) if damaged else (0, 1)) or waiting.keys() - {None} and not damaged:
            raise Unanswered(reason(process.returncode, said))
        waiting.pop(None, None)


def by_size(weighed, size):
    """Yields things in lists of about so many bytes. weighed has each with its bytes."""
    some, total = [], 0
    for thing, weight in weighed:
        some.append(thing)
        total += weight
        if total >= size:
            yield some
            some, total = [], 0
    if some:
        yield some


def tables(stream, schema, size=4 << 20):
    """Yields the JSON rows of a stream as tables with the schema."""
    parsing = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    rest = b""
    while block := stream.read(size):
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        lines, rest = rest + block[:end], block[end:]
        reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(lines))
        yield pyarrow.json.read_json(io.BytesIO(lines), reading, parsing).select(schema.names)


def whole(tables, is_complete):
    """Yields the rows of tables in tables that have all rows of their captures.

    The rows of the last capture are left out if they may not be complete.
    """
    kept = None
    for rows in tables:
        rows = pa.concat_tables([kept, rows]) if kept else rows
        last = firsts(rows)[-1].as_py() if "run" in rows.column_names else rows.num_rows
        kept = rows[last:]
        if last > 0:
            yield rows[:last]
    if kept and is_complete():
        yield kept


def firsts(rows):
    """Returns the indices of the rows that are the first of their captures."""
    if "run" not in rows.column_names:
        return pa.array(range(rows.num_rows))
    return pc.indices_nonzero(pc.fill_null(pc.equal(rows["run"], 1), True))


def answered(rows, waiting):
    """Removes the captures that have rows, and returns the names and verdicts of other rows.

    These are captures in an archive that could not be read in Python, and the archive itself.
    """
    others = []
    heads = rows.select(["capture", "verdict"]).take(firsts(rows))
    for head in zip(heads["capture"].to_pylist(), heads["verdict"].to_pylist()):
        name = head[0]
        if name not in waiting or head == ("-", "error"):
            others.append(head)
            continue
        waiting[name].pop(0)
        if not waiting[name]:
            del waiting[name]
    return others


def reason(status, said):
    """Says why a process ended."""
    if status < 0:
        return f"p20export was ended by {signal.Signals(-status).name}"
    said.seek(0)
    text = said.read()[-1000:].decode("utf-8", "replace").strip()
    return f"p20export ended with status {status}" + (": " + text if text else "")


class Rows:
    """The rows of a command of p20export, and how a task makes them.

    columns are the name of each column, its name in the JSON rows, and its type. attempts is how
    often Spark tries a task.
    """

    def __init__(self, program, arguments, columns, attempts, sent, made):
        self.program, self.arguments, self.attempts = program, arguments, attempts
        self.columns = [column for column, _, _ in columns]
        self.answer = pa.schema([(name, type) for _, name, type in columns])
        self.schema = pa.schema([("source", pa.string())] + [(column, type) for column, _, type in columns])
        self.sent, self.made = sent, made

    def of_archives(self, batches):
        """Yields the rows of batches with the columns path and content, each an archive."""
        for batch in batches:
            for path, content in zip(batch["path"], batch["content"]):
                yield from self.of(path.as_py(), of_archive(content.as_buffer()))

    def of(self, source, captures):
        """Yields the rows of captures. source is the value of their first column."""
        is_last = TaskContext.get().attemptNumber() >= self.attempts - 1
        captures = Counted(captures)
        command = [SparkFiles.get(self.program), *self.arguments]
        while captures.has_more():
            waiting = {}
            try:
                for rows in answers(command, self.answer, captures, waiting):
                    yield from self.batches(source, rows)
                for capture in itertools.chain.from_iterable(waiting.values()):
                    yield from self.quarantined(source, capture, "the archive is damaged, and has not all files of this capture")
            except Unanswered as error:
                if not is_last:
                    raise
                for capture in itertools.chain.from_iterable(waiting.values()):
                    if capture.name is None and captures.others:
                        yield from self.quarantined(source, capture, str(error))  # some of its captures have rows
                        continue
                    alone = Counted([capture] if capture.name is None else [capture, END])
                    try:
                        for rows in answers(command, self.answer, alone, {}):
                            yield from self.batches(source, rows)
                    except Unanswered as again:
                        yield from self.quarantined(source, capture, str(again))
                    captures.others += alone.others
        for capture in captures.failed:
            yield from self.quarantined(source, capture, capture.failure)
        self.sent.add(captures.count + captures.others)

    def batches(self, source, rows):
        """Returns the batches of rows of the program."""
        self.made.add(rows.num_rows)
        columns = dict(zip(self.columns, rows.columns))
        is_archive = pc.and_(pc.equal(columns["capture"], "-"), pc.equal(columns["verdict"], "error"))
        columns["capture"] = pc.if_else(is_archive, source, columns["capture"])
        columns["source"] = pa.repeat(source, rows.num_rows)
        return pa.table([columns[name] for name in self.schema.names], schema=self.schema).to_batches()

    def quarantined(self, source, capture, reason):
        """Returns the row of a capture that the program did not answer for."""
        self.made.add(1)
        row = {"source": source, "capture": source if capture.name is None else capture.name, "verdict": "quarantined", "findings": [{"code": "process_ended" if capture.failure is None else "io_error", "severity": "error", "message": reason}]}
        return pa.Table.from_pylist([row], schema=self.schema).to_batches()


class Counted:
    """Captures that can be read, with the numbers of all and of others that have rows."""

    def __init__(self, captures):
        self.captures, self.next = iter(captures), None
        self.count = self.others = 0
        self.failed = []

    def has_more(self):
        """Reports whether there is another capture."""
        self.next = next(self, None)
        return self.next is not None

    def __iter__(self):
        return self

    def __next__(self):
        if self.next is not None:
            capture, self.next = self.next, None
            return capture
        for capture in self.captures:
            self.count += capture.name is not None
            if capture.failure is None:
                return capture
            self.failed.append(capture)
        raise StopIteration
