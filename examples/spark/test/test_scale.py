"""Freezes 200,000 captures on a Spark cluster in which processes are killed, and in S3.

Run by make scale, inside cluster.sh and s3.sh.
"""

import hashlib
import json
import os
import pathlib
import random
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest
import urllib.request

import duckdb

from running import P20EXPORT, generate, submit

HERE = pathlib.Path(__file__).resolve().parent
COUNT = int(os.environ.get("CAPTURES", "200000"))

# DAMAGES are what happens to one capture in a hundred.
DAMAGES = [
    lambda capture: b"",
    lambda capture: capture[: len(capture) // 2],
    lambda capture: capture.replace(b'"MESSAGES_SNAPSHOT"', b'"MESSAGES_SNAPSHOT'),
    lambda capture: capture.replace(b"RUN_FINISHED", b"RUN_\xff"),
    lambda capture: bytes(range(256)) * 16,
]


def run(name, job, *args):
    """Runs a job, says how long it took, and returns what it prints."""
    done = submit(job, *args)
    print(f"{name}: {done.text}, {done.seconds:.1f} s with the start of Spark", flush=True)
    return done.text


def hashed(values):
    """Returns the digest of everything in a row that p20export made."""
    return hashlib.sha256(json.dumps(values).encode()).digest()


def p20export_rows(archive):
    """Returns the digest of each row of p20export."""
    rows = {}
    with subprocess.Popen([P20EXPORT, "freeze", "--from-tar", archive, "--inline", "--format", "json"], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            row = json.loads(line)
            rows[row["capture"], row["run"]] = hashed([row["verdict"], [f["code"] for f in row["findings"]], row["capture_digest"], row["artifact_digest"], row.get("artifact_json"), row.get("envelope_ndjson"), row.get("record_json")])
    return rows


def table_rows(connection, path):
    """Returns the digest of each row of a table. No row may be there twice."""
    rows = {}
    cursor = connection.execute(
        "SELECT capture, run, verdict, list_transform(findings, lambda f: f.code), capture_digest, artifact_digest, artifact, envelope, record FROM read_parquet(?, hive_partitioning = true)", [path]
    )
    while several := cursor.fetchmany(1000):
        for capture, run, *values in several:
            if (capture, run) in rows:
                raise AssertionError(f"{capture} has two rows")
            rows[capture, run] = hashed(values)
    return rows


class Killer(threading.Thread):
    """Kills processes of the cluster while a job runs, as soon as it finds p20export in them."""

    def __init__(self, worker, whole):
        super().__init__(daemon=True)
        self.worker, self.whole, self.killed = worker, whole, 0
        self.end = threading.Event()

    def run(self):
        while not self.killed and not self.end.is_set():
            listed = subprocess.run([HERE / "cluster.sh", "processes", str(self.worker)], capture_output=True, text=True, check=True).stdout
            found = [int(line.split()[0]) for line in listed.splitlines() if line.split()[1] == "p20export"]
            if found and self.whole:
                subprocess.run([HERE / "cluster.sh", "kill", str(self.worker)], check=True)
                self.killed = len(listed.splitlines())
            elif found:
                try:
                    os.kill(found[0], 9)
                    self.killed = 1
                except ProcessLookupError:
                    pass

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.end.set()
        self.join()


class TestScale(unittest.TestCase):
    """The tests run in the order of their names, because the last one leaves one worker only."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(dir=os.environ["SPARK_CLUSTER"])
        cls.dir = pathlib.Path(cls.scratch.name)
        cls.tree = cls.dir / "tree"
        generate(cls.tree, COUNT)
        random.seed(1)
        for number, path in enumerate(random.sample(sorted(cls.tree.glob("**/*.sse")), COUNT // 100)):
            path.write_bytes(DAMAGES[number % len(DAMAGES)](path.read_bytes()))
        subprocess.run(["tar", "-cf", cls.dir / "all.tar", "-C", cls.tree, "."], check=True)
        begin = time.monotonic()
        cls.expected = p20export_rows(cls.dir / "all.tar")
        print(f"p20export: {len(cls.expected)} rows in {time.monotonic() - begin:.1f} s", flush=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def check(self, path, connection=None):
        """Compares a table with the rows of p20export."""
        rows = table_rows(connection or duckdb.connect(), path)
        self.assertEqual(len(rows), len(self.expected))
        self.assertEqual(rows, self.expected)

    def freeze(self, name, *args):
        """Freezes captures on the cluster, and compares the table with the rows of p20export."""
        table = self.dir / "tables" / name
        counts = json.loads(run(name, "freeze.py", *args, "-o", table))
        self.assertEqual((counts["captures"], counts["rows"]), (COUNT, len(self.expected)))
        self.assertGreaterEqual(counts["verdicts"]["refused"], COUNT // 125)
        self.assertTrue((table / "_SUCCESS").exists())
        self.check(f"{table}/**/*.parquet")

    def test_1_tree(self):
        self.freeze("tree", "--tree", self.tree)

    def test_2_table(self):
        run("pack to Parquet", "pack.py", "--tree", self.tree, "-o", self.dir / "packed", "--file-bytes", 64 << 20)
        with Killer(worker=1, whole=False) as killer:
            self.freeze("table, a process killed", "--table", self.dir / "packed", "--task-bytes", 16 << 20)
        self.assertEqual(killer.killed, 1)

    def test_3_s3(self):
        """An object store has the captures and gets the evidence."""
        bucket, url = os.environ["P20EXPORT_S3_BUCKET"], os.environ["P20EXPORT_S3"]
        with tarfile.open(self.dir / "some.tar", "w", format=tarfile.GNU_FORMAT) as some:
            for path in sorted(self.tree.glob("*/*.sse"))[:2000]:
                some.add(path, str(path.relative_to(self.tree)))
        urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}/shards/some.tar", (self.dir / "some.tar").read_bytes(), {"Content-Type": "application/x-tar"}, method="PUT"))
        run("tar in S3", "freeze.py", "--tar", f"s3a://{bucket}/shards", "-o", f"s3a://{bucket}/evidence")
        with tarfile.open(self.dir / "some.tar") as some:
            some.extractall(self.dir / "some", filter="data")
        run("pack to S3", "pack.py", "--tree", self.dir / "some", "-o", f"s3a://{bucket}/packed")
        run("table in S3", "freeze.py", "--table", f"s3a://{bucket}/packed", "-o", f"s3a://{bucket}/evidence-2")
        expected = p20export_rows(self.dir / "some.tar")
        run("query in S3", "query.py", "--table", f"s3a://{bucket}/evidence", "drift", "refusals")
        for evidence in ("evidence", "evidence-2"):
            copy = self.dir / evidence
            run("copy from S3", HERE / "copy_table.py", f"s3a://{bucket}/{evidence}", copy)
            self.assertEqual(table_rows(duckdb.connect(), f"{copy}/*.parquet"), expected)

    def test_4_tar(self):
        """The machine of a worker fails, and the other worker does its work again."""
        run("pack to tar", "pack.py", "--tree", self.tree, "--to-tar", "-o", self.dir / "shards", "--file-bytes", 64 << 20)
        with Killer(worker=1, whole=True) as machine, Killer(worker=2, whole=False) as process:
            self.freeze("tar, a process and a machine killed", "--tar", self.dir / "shards")
        self.assertGreater(machine.killed, 2)
        self.assertEqual(process.killed, 1)


if __name__ == "__main__":
    unittest.main()
