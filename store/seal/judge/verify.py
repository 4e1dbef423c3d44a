"""Verifies the seals of threads, and proofs, without any code of p20export:

    verify.py [--trust KEY.pem]... [--against CHECKPOINT]... SOURCE...

A SOURCE is a SQLite file, the URL of a PostgreSQL log (postgres://), an export of a whole thread, or a proof. It
prints a line of JSON for each thread and each proof. It was written from docs/seals.md and docs/serialization.md
alone. It does not judge cosignatures, time-stamp tokens and periods of keys. requirements.txt pins its packages.
"""
import argparse, base64, datetime as dt, functools, hashlib, io, itertools, json, pathlib, re, sqlite3, struct, types
import cryptography.exceptions, cryptography.hazmat.primitives.serialization as pem, zstandard

RUN = ("schema", "first", "leaves", "before", "after", "checkpoint", "token")
KINDS, EPOCH = ["", "event", "input", "closing", "end"], dt.datetime.fromisoformat("1970-01-01T00:00:00Z")
NUMBER, HEX, SIGNATURE = "(0|[1-9][0-9]{0,18})", "[0-9a-f]{64}", r"— ([^\s+\0-\x1f]+) (\S{8,})\n"
TEXT = re.compile(rf"([^\s+\0-\x1f]+/{HEX})\n{NUMBER}\n(\S+)\ntenant sha256:({HEX})\nthread sha256:({HEX})\ntime (\S+)\n")
ENTRY = re.compile(r'{"position":(\d+),"stream":("(?:[^"\\]|\\.)*"),"kind":"(\w+)"(?:,"arrived":"(.{27})")?,"(\w+)":(.*)}')
MALFORMED = (AttributeError, IndexError, cryptography.exceptions.InvalidSignature, KeyError, TypeError, ValueError, struct.error)

def require(condition: object, what: str) -> None:
    if not condition:
        raise ValueError(what)

sha256 = lambda *parts: hashlib.sha256(b"".join(parts)).digest()

def unbase64(text: str, size: int | None = None) -> bytes:
    data = base64.b64decode(text)
    require(base64.b64encode(data).decode() == text and size in (None, len(data)), "not Base64, or of another size")
    return data

def leaf(position: int, kind: int, arrived: int | None, stream: str, data: bytes) -> bytes:
    id = stream.encode()
    return struct.pack(">QBBqH", position, kind, arrived is not None, arrived or 0, len(id)) + id + data

def hash_leaf(data: bytes, position: int) -> bytes:
    at, kind, known, arrived, size = struct.unpack(">QBBqH", data[:20])
    again = leaf(at, kind, arrived if known else None, data[20 : 20 + size].decode(), data[20 + size :])
    require(again == data and at == position and 1 <= kind <= 4 and size, "not the leaf of an entry at the position")
    return sha256(b"\0", data)

def roots(parts, sizes=()) -> dict[int, bytes]:
    """Returns the roots of trees of some sizes and of the whole tree. A part is a perfect subtree and its size."""
    found, stack, total = {}, [], 0
    join = lambda: functools.reduce(lambda right, left: sha256(b"\1", left, right), [hash for hash, _ in stack[::-1]] or [sha256()])
    for hash, size in parts:
        total += size
        while stack and stack[-1][1] == size and total % (2 * size) == 0:
            hash, size = sha256(b"\1", stack.pop()[0], hash), 2 * size
        stack.append((hash, size))
        if total in sizes:
            found[total] = join()
    return found | {total: join()}

def subtrees(start: int, end: int, hashes: list[str]):
    """Returns the hashes of the largest perfect subtrees from start up to end, each with its size."""
    for text in hashes:
        size = start & -start or 1 << 63
        while start + size > end:
            size //= 2
        require(size, "too many hashes")
        yield unbase64(text, 32), size
        start += size
    require(start == end, "too few hashes")

def path_root(hash: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """Returns the root to which an inclusion proof leads (RFC 6962 §2.1.1)."""
    require(bool(path) == (size > 1), "too few hashes, or too many")
    half = 1 << (size - 1).bit_length() - 1 if path else 0
    if index < half:
        return sha256(b"\1", path_root(hash, index, half, path[:-1]), path[-1])
    return sha256(b"\1", path[-1], path_root(hash, index - half, size - half, path[:-1])) if path else hash

def checkpoint(signed: bytes, keys: list, size: int | None = None) -> types.SimpleNamespace:
    text, _, signatures = signed.decode().rpartition("\n\n")
    match = TEXT.fullmatch(text + "\n")
    require(match and re.fullmatch(f"({SIGNATURE})+", signatures), "not a signed checkpoint of a thread")
    c = types.SimpleNamespace(**dict(zip(("origin", "size", "root", "tenant", "thread", "time"), match.groups())), trusted=False)
    c.size, c.root = int(c.size), unbase64(c.root, 32)
    require(0 < c.size < 1 << 63 and size in (None, c.size), "the size is out of range, or not that of the row")
    require(dt.datetime.strptime(c.time, "%Y-%m-%dT%H:%M:%SZ").isoformat() + "Z" == c.time, "not a time in whole seconds")
    for name, signature in [(name, unbase64(encoded)) for name, encoded in re.findall(SIGNATURE, signatures)]:
        for key in keys:
            if (name, signature[:4]) == (c.origin, sha256(name.encode(), b"\n\1", key.public_bytes_raw())[:4]):
                key.verify(signature[4:], text.encode() + b"\n")
                c.trusted = True
    return c

def proof(data: bytes, keys: list) -> dict:
    if data.startswith(b"{"):
        run, hashes = json.loads(data), []
        written = json.dumps({key: run[key] for key in RUN if key in run}, ensure_ascii=False, separators=(",", ":")) + "\n"
        require(run["schema"] == "p20export.proof.v1" and written == data.decode(), "not the proof of a run")
        c, first = checkpoint(run["checkpoint"].encode(), keys), run["first"]
        for position, ((kind, text),) in enumerate([element.items() for element in run["leaves"]], first):
            hashes.append((hash_leaf(unbase64(text), position) if kind == "leaf" else unbase64(text, 32), 1))
        last = first + len(hashes) - 1
        root = roots([*subtrees(0, first - 1, run["before"]), *hashes, *subtrees(last, c.size, run["after"])])[c.size]
    else:
        head, _, signed = data.partition(b"\n\n")
        match = re.fullmatch(rf"c2sp\.org/tlog-proof@v1\nextra (\S+)\nindex {NUMBER}((?:\n\S+)*)", head.decode())
        c, first, path = checkpoint(signed, keys), int(match[2]) + 1, [unbase64(line, 32) for line in match[3].split()]
        require((last := first) <= c.size, "the index is outside the tree")
        root = path_root(hash_leaf(unbase64(match[1]), first), first - 1, c.size, path)
    require(root == c.root, "the proof does not lead to the root")
    return {"thread": c.thread, "verdict": "proved" if c.trusted else "unsealed", "first": first, "last": last}

def verify(leaves, seals, deleted: bool, digest: str, keys: list, against: list) -> dict:
    """Returns the verdict on a thread, as docs/seals.md defines it."""
    own, known, broken, forked, verdict, result = [], [], False, False, "", {"differs_from": None, "differs_to": None}
    for to, size, signed in [(own, *seal) for seal in seals] + [(known, None, signed) for of, signed in against if of == digest]:
        try:
            c = checkpoint(signed, keys, size)
            require(c.thread == digest and (c.trusted or to is own), "of another thread, or kept although nobody signed it")
            to += [c] if c.trusted else []
        except MALFORMED:
            broken = True
    tree = roots(((sha256(b"\0", entry), 1) for entry in leaves), {c.size for c in own + known})
    if deleted:  # what is left of the tree is in the last seal
        own, tree = own[-1:], {c.size: c.root for c in own[-1:]}
        known = [c for c in known if own and c.size >= own[0].size]
    last, matching = max(tree, default=0), max([c.size for c in own + known if tree.get(c.size) == c.root], default=0)
    for seals, bounds in ((known, known), (own, own + known)):
        wrong = min([c.size for c in seals if tree.get(c.size) != c.root], default=0)
        forked |= 0 < wrong <= matching
        if wrong and not verdict:
            verdict = "cut_off" if wrong > last else "rewritten"
            right = max([c.size for c in bounds if c.size < wrong and tree.get(c.size) == c.root], default=0)
            result = {"differs_from": right + 1, "differs_to": min(wrong, last + 1)}
    found = "broken" if broken else "unsealed" if not matching else "erased" if deleted else "unchanged"
    return {"verdict": "forked" if forked else verdict or found, "position": matching, **result}

def unpack(data: bytes):
    rest = io.BytesIO(zstandard.ZstdDecompressor().decompressobj().decompress(data))
    def uvarint() -> int:
        byte = rest.read(1)[0]
        return byte if byte < 128 else byte & 127 | uvarint() << 7
    while rest.tell() < len(rest.getbuffer()):
        _, stream, (kind,) = uvarint(), uvarint(), rest.read(1)
        zigzag = uvarint() if kind & 128 else None
        rest.read(uvarint())  # the type
        yield stream, kind & 127, zigzag and zigzag >> 1 ^ -(zigzag & 1), rest.read(uvarint())

def leaves_of(rows, last: int):
    streams, entries = dict(rows("number, stream", "streams")), {}
    for first, data in rows("first, data", "packs"):
        entries |= enumerate(unpack(data), first)
    entries |= {position: entry for position, *entry in rows("position, stream_number, kind, arrived_at, data", "entries")}
    for position in range(1, last + 1):
        stream, kind, arrived, data = entries[position]
        yield leaf(position, kind, arrived, streams[stream], data)

def database(source: str):
    if source.startswith("postgres"):
        import psycopg
        schema = re.findall(r"[?&]search_path=(\w+)", source) or ["p20export"]
        db = psycopg.connect(re.sub(r"search_path=\w+&?", "", source).rstrip("?&"), options=f"-c search_path={schema[0]}")
    else:
        db = sqlite3.connect(f"{pathlib.Path(source).absolute().as_uri()}?mode=ro", uri=True)
    for id, *key, last, deleted in db.execute("SELECT id, tenant, thread, last, deleted_at FROM threads ORDER BY 2, 3").fetchall():
        rows = lambda columns, table: db.execute(f"SELECT {columns} FROM {table} WHERE thread_id = {id} ORDER BY 1").fetchall()
        yield *key, leaves_of(rows, 0 if deleted else last), rows("size, checkpoint", "seals"), deleted is not None

def export(data: bytes):
    head, *lines, tail = data.splitlines()
    digest, head, leaves = hashlib.sha256(data.removesuffix(tail + b"\n")).hexdigest(), json.loads(head), []
    require(head["after"] == 0 and json.loads(tail)["digest"] == "sha256:" + digest, "not an unchanged export of a whole thread")
    seals = [json.loads(line)["seal"] for line in lines if line.startswith(b'{"seal":')]
    for line in lines[: len(lines) - len(seals)]:
        position, stream, kind, arrived, form, value = ENTRY.fullmatch(line.decode()).groups()
        micros = arrived and (dt.datetime.fromisoformat(arrived) - EPOCH) // dt.timedelta(microseconds=1)
        content = unbase64(json.loads(value)) if form == "base64" else (value if form == "json" else json.loads(value)).encode()
        leaves.append(leaf(int(position), KINDS.index(kind), micros, json.loads(stream), content))
    yield "", head["thread"], leaves, [(seal["size"], seal["checkpoint"].encode()) for seal in seals], False

def results(source: str, keys: list, against: list):
    data = b"" if source.startswith("postgres") else pathlib.Path(source).read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        data = zstandard.ZstdDecompressor().stream_reader(data).read()
    if data.startswith((b"c2sp.org/", b'{"schema":"p20export.proof.')):
        yield {"file": source}, lambda: proof(data, keys)
        return
    unseen = set() if data.startswith(b"{") else {digest for digest, _ in against}
    for tenant, id, *thread in export(data) if data.startswith(b"{") else database(source):
        unseen.discard(digest := hashlib.sha256(id.encode()).hexdigest())
        yield {"tenant": tenant, "thread_id": id}, lambda: verify(*thread, digest, keys, against)
    for digest in sorted(unseen):
        yield {"thread": digest}, lambda: verify([], [], False, digest, keys, against)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--trust", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--against", type=pathlib.Path, action="append", default=[])
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()
    keys = [pem.load_pem_public_key(path.read_bytes()) for path in args.trust]
    against = [(re.search(rb"\nthread sha256:(\w+)\n", data := path.read_bytes())[1].decode(), data) for path in args.against]
    for name, result in itertools.chain.from_iterable(results(source, keys, against) for source in args.sources):
        try:
            print(json.dumps(name | result()))
        except MALFORMED as error:
            print(json.dumps(name | {"verdict": "error", "reason": f"{type(error).__name__}: {error}"}))
