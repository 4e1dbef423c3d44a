"""Runs the jobs in Spark's local mode, and compares their tables with what p20export itself prints.

It needs the program in P20EXPORT, and a clone of the repository for its captures.
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent
ROOT = EXAMPLE.parent.parent
sys.path.insert(0, str(EXAMPLE))

from pyspark.sql import SparkSession

import freeze
import lint
import pack
import query

P20EXPORT = os.environ["P20EXPORT"]
CAPTURES = ROOT / "discovery" / "captures"
COUNT = int(os.environ.get("CAPTURES", "2000"))


def call(main, *args):
    """Runs a job, and returns its status, the object that it prints, and its messages."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(arg) for arg in args])
        except SystemExit as exit:
            status = exit.code
    return status, out.getvalue(), err.getvalue()


def printed(command, *args, **options):
    """Returns the rows that p20export prints."""
    done = subprocess.run([P20EXPORT, command, *map(str, args), "--format", "json"], capture_output=True, **options)
    if done.returncode not in (0, 1, 3):
        raise AssertionError(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.splitlines()]


class Jobs(unittest.TestCase):
    """What all tests share: a session, a program, and captures."""

    @classmethod
    def setUpClass(cls):
        cls.spark = (
            SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", False)
            .config("spark.ui.showConsoleProgress", False).config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", 4).getOrCreate()
        )
        cls.spark.sparkContext.setLogLevel("OFF")
        cls.scratch = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.scratch.name)
        cls.tree = cls.dir / "tree"
        build = cls.dir / "generate"
        subprocess.run(["go", "build", "-o", build, "./cmd/internal/bench/generate"], cwd=ROOT, check=True)
        subprocess.run([build, "-shape", "timestamped", "-count", str(COUNT), "-bytes", "4k", cls.tree / "plain"], check=True, capture_output=True)
        subprocess.run(["cp", "-r", CAPTURES, cls.tree / "real"], check=True)
        cls.tar = cls.dir / "all.tar"
        with tarfile.open(cls.tar, "w", format=tarfile.GNU_FORMAT) as tar:
            tar.add(cls.tree, ".")
        cls.expected = printed("freeze", "--from-tar", cls.tar, "--inline")

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()
        cls.scratch.cleanup()

    def program(self, name, script):
        """Returns a program in the place of p20export, a script that can call $P20EXPORT."""
        path = self.dir / name
        path.write_text(f"#!/bin/sh\nP20EXPORT='{P20EXPORT}'\nDIR='{self.dir}'\n{script}\n")
        path.chmod(0o755)
        return path

    def check(self, table, expected, columns):
        """Compares a table with the rows that p20export prints."""
        got = {}
        for row in self.spark.read.parquet(str(table)).toLocalIterator():
            row = row.asDict(True)
            key = row["capture"], row.get("run")
            self.assertNotIn(key, got)
            got[key] = row
        self.assertEqual(set(got), {(row["capture"], row.get("run")) for row in expected})
        self.assertGreater(len(got), 0)
        for row in expected:
            for column, name, type in columns:
                self.assertEqual(of_spark(got[row["capture"], row.get("run")][column]), of_json(row.get(name), type), (row["capture"], column))

    def job(self, main, *args):
        status, out, err = call(main, *args)
        self.assertEqual((status, err), (0, ""), out)
        return json.loads(out)
