"""Judges what is left on disk after a fault, knowing only the documented formats.

    judge.py DIR [--acknowledged FILE]

Prints one JSON object per line: {"path": ..., "state": ..., "problems": [...]}. Paths
are relative to DIR. The states are

    whole        a closed capture, a record or a bundle, with everything it names
    unfinished   a capture that was not closed, or evidence whose record was not written
    remainder    what a recovery has set aside
    temporary    a temporary file, or a directory that was being removed
    broken       looks whole, but is not
    lost         was acknowledged, but is not whole or has another digest

FILE has a line for each acknowledged capture: its path relative to DIR and, after a
space, optionally the digest of its capture.json. The exit status is 1 if anything is
broken or lost, and 2 if the judge could not do its work.
"""
import argparse, calendar, hashlib, json, os, re, stat, sys, tarfile, time

RESPONSES = {"sse": "response.sse", "ndjson": "response.ndjson", "json": "response.json", "opaque": "response.opaque"}
ENDS = {"eof", "cancelled", "error", "limit", "storage"}
STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z")
TEMPORARY = re.compile(r"\.p20export-[A-Z2-7]{26}\.tmp")
LINE = re.compile(rb"(0|[1-9]\d{0,18})\t(0|[1-9]\d{0,18})\n")


def micros(text):
    """Returns a time of a manifest as microseconds since 1970."""
    seconds, fraction = STAMP.fullmatch(text).groups()
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 1_000_000 + int(fraction)


def unique(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f, object_pairs_hook=unique)


def measure(path):
    """Returns the size and the digest of a file, which must be regular."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ValueError("not a regular file")
    h, n = hashlib.sha256(), 0
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
            n += len(block)
    return n, "sha256:" + h.hexdigest()


def judge_arrivals(path, manifest, size):
    """Yields what is wrong with the lines of arrivals.tsv."""
    start, last, count = micros(manifest["started_at"]), (0, 0), 0
    with open(path, "rb") as f:
        for count, line in enumerate(f, 1):
            match = LINE.fullmatch(line)
            if not match:
                yield f"arrivals.tsv: line {count} is malformed"
                return
            now = int(match[1]), int(match[2])
            if now[0] <= last[0] or now[1] < last[1]:
                yield f"arrivals.tsv: line {count} goes back"
            if count == 1 and start + now[1] != micros(manifest.get("first_byte_at", "1970-01-01T00:00:00.000000Z")):
                yield "arrivals.tsv: the first line is not at first_byte_at"
            last = now
    if last[0] != size:
        yield f"arrivals.tsv ends at {last[0]} of {size} bytes"
    if count and start + last[1] > micros(manifest["ended_at"]):
        yield "arrivals.tsv: the last line is after ended_at"


def judge_capture(folder):
    """Yields what is wrong with a directory that has a capture.json."""
    measure(os.path.join(folder, "capture.json"))
    m = load(os.path.join(folder, "capture.json"))
    response = RESPONSES[m["framing"]]
    if m["schema"] != "p20export.capture.v1" or m["end"] not in ENDS:
        yield "capture.json: unknown schema or end"
    if set(m["files"]) - {"request.json", "arrivals.tsv"} != {response}:
        yield "capture.json does not list exactly one response"
    if not micros(m["started_at"]) <= micros(m.get("first_byte_at", m["started_at"])) <= micros(m["ended_at"]):
        yield "capture.json: the times go back"
    for name, stated in m["files"].items():
        try:
            if measure(os.path.join(folder, name)) != (stated["bytes"], stated["digest"]):
                yield f"{name} does not have the stated size and digest"
        except (OSError, ValueError) as e:
            yield f"{name}: {e}"
    if "arrivals.tsv" in m["files"]:
        yield from judge_arrivals(os.path.join(folder, "arrivals.tsv"), m, m["files"][response]["bytes"])


def judge_record(path):
    """Yields what is wrong with the files that a record names."""
    for subject in load(path)["subject"]:
        if measure(os.path.join(os.path.dirname(path), subject["name"]))[1] != "sha256:" + subject["digest"]["sha256"]:
            yield subject["name"] + " does not have the stated digest"


def judge_bundle(path):
    """Reads a bundle to its end."""
    with tarfile.open(path, "r:gz") as t:
        if not t.getnames():
            yield "the bundle is empty"
        while t.fileobj.read(1 << 20):
            pass  # the checksum at the end of the compressed data


def problems(judge, path):
    try:
        return list(judge(path))
    except Exception as e:  # anything else that differs from the documented format
        return [f"{type(e).__name__}: {e}"]


def walk(root):
    """Yields the path, the state and the problems of everything below root."""
    def fail(e):
        raise e
    for folder, below, names in os.walk(root, onerror=fail):
        below.sort()
        if TEMPORARY.fullmatch(os.path.basename(folder)):
            below.clear()
            yield folder, "temporary", []
            continue
        if "capture.json" in names:
            found = problems(judge_capture, folder)
            yield folder, "broken" if found else "whole", found
        elif any(n in names for n in ["capture.json.tmp", "arrivals.tsv", *RESPONSES.values()]):
            yield folder, "unfinished", []
        elif any(n.endswith(".unfinished") for n in names):
            yield folder, "remainder", []
        for name in sorted(names):
            path = os.path.join(folder, name)
            if TEMPORARY.fullmatch(name):
                yield path, "temporary", []
            elif name.endswith(".record.json") or name.endswith(".tar.gz"):
                found = problems(judge_bundle if name.endswith(".tar.gz") else judge_record, path)
                yield path, "broken" if found else "whole", found
            elif name.endswith(".artifact.json") and name.replace(".artifact.json", ".record.json") not in names:
                yield path, "unfinished", []


def main():
    parser = argparse.ArgumentParser(description="Judges what is left on disk after a fault.")
    parser.add_argument("dir")
    parser.add_argument("--acknowledged", metavar="FILE")
    args = parser.parse_args()
    os.listdir(args.dir)  # os.walk accepts a missing directory
    rows = [(os.path.relpath(path, args.dir), state, found) for path, state, found in walk(args.dir)]
    whole = {path for path, state, _ in rows if state == "whole"}
    for line in open(args.acknowledged, encoding="utf-8") if args.acknowledged else []:
        name, _, digest = line.strip().partition(" ")
        if not name:
            continue
        if os.path.normpath(name) not in whole:
            rows.append((name, "lost", ["it was acknowledged, but is not whole"]))
        elif digest and measure(os.path.join(args.dir, name, "capture.json"))[1] != digest:
            rows.append((name, "lost", ["its capture.json is not the acknowledged one"]))
    for path, state, found in rows:
        print(json.dumps({"path": path, "state": state, "problems": found}))
    return 1 if any(state in ("broken", "lost") for _, state, _ in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as e:
        print(e, file=sys.stderr)
        sys.exit(2)
