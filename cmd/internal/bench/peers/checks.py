"""Freezes captures of one run each, as the program does under emitted-snapshot.

The scripts beside this file use it with different readers of events. It makes the checks that
somebody would write: it splits the stream, reads every event, checks that the run has a start,
one snapshot and a terminal event, checks the messages of the snapshot, and makes the artifact
and the envelope. Each capture becomes one line of JSON. The exit status is 1 if a capture was
refused.
"""

import argparse
import hashlib
import multiprocessing
import sys
from datetime import datetime, timezone

CHUNK = 1 << 20
ROLES = {"assistant", "developer", "system", "tool", "user"}
KEYS = {"id", "role", "content", "name"}


class Refused(Exception):
    pass


def frames(file, update):
    """Yields the data of each event of a stream, and passes its bytes to update."""
    rest, data = b"", None
    while chunk := file.read(CHUNK):
        update(chunk)
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line[:5] == b"data:":
                line = line[6:] if line[:6] == b"data: " else line[5:]
                data = line if data is None else data + b"\n" + line
            elif not line and data is not None:
                yield data
                data = None
    if data is not None or rest:
        raise Refused("the stream is truncated")


def read_time(event, given):
    stamp = event.get("timestamp")
    if stamp is None:
        return given
    seconds, milliseconds = divmod(stamp, 1000)
    time = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{time}.{milliseconds:03}000Z" if milliseconds else time + "Z"


def check_messages(messages):
    if not messages or len(messages) > 2000:
        raise Refused("the snapshot has no message, or too many")
    ids = set()
    for message in messages:
        if not message.keys() <= KEYS or not message.keys() >= {"id", "role", "content"}:
            raise Refused("a message has other keys than id, role, content and name")
        for value in message.values():
            if type(value) is not str:
                raise Refused("a message has a value that is not text")
        if message["role"] not in ROLES:
            raise Refused("a message has an unknown role")
        if message["id"] in ids or not message["id"].strip():
            raise Refused("a message has the id of another, or none")
        if len(message["content"]) > 262_144:
            raise Refused("a message is too long")
        ids.add(message["id"])
    return [{key: message[key] for key in ("id", "role", "content", "name") if key in message} for message in messages]


def freeze(path, reader, started_at):
    """Returns the digests, the artifact and the envelope of a capture."""
    kind_of, members = reader.kind_of, reader.members
    read = reader.read
    digest = hashlib.sha256()
    started = snapshot = terminal = None
    count = 0
    with open(path, "rb") as file:
        for data in frames(file, digest.update):
            event = read(data)
            kind = kind_of(event)
            count += 1
            if terminal is not None:
                raise Refused("the run goes on after its end")
            if kind == "RUN_STARTED":
                if started is not None:
                    raise Refused("there are several runs")
                started = members(event), data
            elif started is None:
                raise Refused("the first event is not RUN_STARTED")
            elif kind == "MESSAGES_SNAPSHOT":
                if snapshot is not None:
                    raise Refused("there are several snapshots")
                snapshot = members(event), data
            elif kind == "RUN_FINISHED" or kind == "RUN_ERROR":
                terminal = members(event), data, kind
    if started is None or snapshot is None or terminal is None:
        raise Refused("the run has no start, no snapshot or no end")
    thread, run = started[0]["threadId"], started[0]["runId"]
    if terminal[0].get("threadId", thread) != thread or terminal[0].get("runId", run) != run:
        raise Refused("the terminal event names another run")
    artifact = {
        "schema": "ag-ui.compacted-message-snapshot.export.v1",
        "framework": "ag_ui",
        "surface": "compacted_message_snapshot_artifact",
        "thread_id_ref": thread,
        "run_id_ref": run,
        "started_at": read_time(started[0], started_at),
    }
    if artifact["started_at"] is None:
        raise Refused("the run has no time")
    if "timestamp" in terminal[0]:
        artifact["finished_at"] = read_time(terminal[0], None)
    artifact["messages"] = check_messages(snapshot[0]["messages"])
    artifact["terminal_event"] = terminal[2]
    if terminal[2] == "RUN_ERROR":
        if "code" in terminal[0]:
            artifact["error_code"] = terminal[0]["code"]
        artifact["error_message"] = terminal[0]["message"]
    artifact = reader.write(artifact)
    envelope = started[1] + b"\n" + snapshot[1] + b"\n" + terminal[1] + b"\n"
    return {
        "capture": path,
        "verdict": "frozen",
        "events": count,
        "capture_digest": "sha256:" + digest.hexdigest(),
        "artifact_digest": "sha256:" + hashlib.sha256(artifact).hexdigest(),
        "envelope_digest": "sha256:" + hashlib.sha256(envelope).hexdigest(),
        "artifact_json": artifact.decode(),
        "envelope_ndjson": envelope.decode(),
    }


def row(task):
    """Returns whether a capture was frozen, and its line of JSON."""
    path, reader, started_at, texts = task
    try:
        result = freeze(path, reader, started_at)
    except (Refused, KeyError, TypeError, AttributeError, ValueError) as error:
        result = {"capture": path, "verdict": "refused", "reason": str(error)[:200]}
    if not texts:
        result.pop("artifact_json", None)
        result.pop("envelope_ndjson", None)
    return result["verdict"] == "frozen", reader.dump(result)


def main(reader):
    parser = argparse.ArgumentParser()
    parser.add_argument("captures", nargs="*")
    parser.add_argument("--list", help="a file with the paths of the captures, one a line")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--texts", action="store_true", help="also print the texts of the files")
    parser.add_argument("--started-at")
    options = parser.parse_args()
    captures = options.captures
    if options.list:
        with open(options.list, encoding="utf-8") as file:
            captures = file.read().splitlines()
    tasks = ((path, reader, options.started_at, options.texts) for path in captures)
    write = sys.stdout.buffer.write
    all_frozen = True

    def show(rows):
        nonlocal all_frozen
        for frozen, line in rows:
            all_frozen = all_frozen and frozen
            write(line + b"\n")

    if options.jobs == 1:
        show(map(row, tasks))
    else:
        with multiprocessing.Pool(options.jobs) as pool:
            show(pool.imap(row, tasks, chunksize=50))
    sys.exit(0 if all_frozen else 1)
