"""Runs the jobs in Spark's local mode, and compares their tables with what p20export itself prints.

It needs the program in P20EXPORT, and a clone of the repository for its captures.
"""

import contextlib
import datetime
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

from running import EXAMPLE, P20EXPORT, ROOT, generate

sys.path.insert(0, str(EXAMPLE))

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import freeze
import lint
import pack
import query

os.environ["PATH"] = os.pathsep.join([os.path.dirname(P20EXPORT), os.environ["PATH"]])  # for jobs without --program
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


def of_json(value, type):
    """Returns a value of a JSON row as of_spark returns it."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        return {field.name: of_json(value.get(field.name), field.type) for field in type}
    if pa.types.is_list(type):
        return [of_json(element, type.value_type) for element in value]
    return value


def of_spark(value):
    """Returns a value of a table in the form of a JSON row."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc)
    return value


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
        generate(cls.tree / "plain", COUNT)
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
                value = of_json(row.get(name), type)
                if column.endswith("ed_at") and value is not None:
                    value = datetime.datetime.fromisoformat(value)
                self.assertEqual(of_spark(got[row["capture"], row.get("run")][column]), value, (row["capture"], column))

    def job(self, main, *args):
        status, out, err = call(main, *args)
        self.assertEqual((status, err), (0, ""), out)
        return json.loads(out)


class TestForms(Jobs):
    """Every form of input gives the rows of p20export."""

    def test_tree(self):
        self.forms("--tree", self.tree)

    def test_list(self):
        file = self.dir / "list.txt"
        file.write_text("".join(f"{self.tree / row['capture']}\n" for row in self.expected if row["run"] in (None, 1)))
        root = str(self.tree).lstrip("/")
        self.forms("--list", file, expected=[{**row, "capture": f"{root}/{row['capture']}"} for row in self.expected])

    def test_tar(self):
        self.forms("--tar", self.tar)

    def test_table_of_pack(self):
        status, out, err = call(pack.main, "--tree", self.tree, "-o", self.dir / "packed", "--file-bytes", "2000000")
        self.assertEqual((status, err), (0, ""))
        self.assertGreater(len(list((self.dir / "packed").glob("*.parquet"))), 2)
        self.forms("--table", self.dir / "packed")

    def test_tar_of_pack(self):
        status, out, err = call(pack.main, "--tree", self.tree, "-o", self.dir / "shards", "--to-tar", "--file-bytes", "2000000")
        self.assertEqual((status, err), (0, ""))
        self.assertGreater(len(list((self.dir / "shards").glob("*.tar"))), 2)
        self.forms("--tar", self.dir / "shards")

    def forms(self, *args, expected=None):
        expected = expected or self.expected
        name = self.id()
        script = f'cat > "$DIR/in.$$"; if [ $(wc -c < "$DIR/in.$$") -gt 5000 ] && mkdir "$DIR/was-{name}" 2>/dev/null; then "$P20EXPORT" "$@" < "$DIR/in.$$" | head -c 200000; kill -9 $$; fi\nexec "$P20EXPORT" "$@" < "$DIR/in.$$"'
        killed = self.program("killed-" + name, script)
        table = self.dir / ("frozen-" + name)
        counts = self.job(freeze.main, *args, "-o", table, "--program", killed)
        self.assertTrue((self.dir / ("was-" + name)).exists())
        self.assertTrue((table / "_SUCCESS").exists())
        self.assertEqual((counts["captures"], counts["rows"]), (len({row["capture"] for row in expected}), len(expected)))
        self.assertGreater(counts["verdicts"]["refused"], 0)
        self.check(table, expected, freeze.columns(["integration", "version"]))


class TestFailures(Jobs):
    """What cannot be frozen has a row that says why."""

    def archive(self, name, files, **attributes):
        """Writes an archive with files, links and directories."""
        path = self.dir / name
        with tarfile.open(path, **attributes) as tar:
            for file, content in files:
                info = tarfile.TarInfo(file)
                if isinstance(content, bytes):
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
                else:
                    info.type, info.linkname = content, "run.sse"
                    tar.addfile(info)
        return path

    def frozen(self, path, name, *args, status=0):
        """Freezes an archive, and returns the counts and the rows of each capture."""
        return self.frozen_of("--tar", path, self.dir / name, *args, status=status)

    def frozen_of(self, form, path, table, *args, status=0):
        """Is frozen for any form of input."""
        got, out, err = call(freeze.main, form, path, "-o", table, *args)
        self.assertEqual((got, err), (status, ""), out)
        rows = {}
        for row in self.spark.read.parquet(str(table)).toLocalIterator():
            rows.setdefault(row.capture, []).append(row)
        return json.loads(out), rows

    def test_names(self):
        """Captures with every kind of name and member have the rows of p20export."""
        run = next(self.tree.glob("plain/**/*.sse")).read_bytes()
        directory = {path.name: path.read_bytes() for path in (CAPTURES / "adk" / "one-turn").iterdir()}
        names = ["run.sse", "./dot.sse", "a//b.sse", "a/../c.sse", "../up.sse", "/abs.sse", "-", "_hidden", ".hidden", "\udcff.sse", 'q"\n\t\\.sse', "ü\u202e.sse", "x" * 101, "y/" * 200 + "z", "x/.", "run.sse", "capture=1/verdict=frozen.sse"]
        files = [(name, run) for name in names]
        files += [("d/" + name, content) for name, content in directory.items()]
        files += [(name, content) for name, content in directory.items()]
        files += [("interleaved/" + name, directory[name]) for name in reversed(directory)] + [("request/request.json", directory["request.json"])]
        files += [("unfinished/response.sse", run), ("unfinished/capture.json.tmp", b""), ("link", tarfile.SYMTYPE), ("linked/response.sse", tarfile.LNKTYPE), ("linked/capture.json", directory["capture.json"]), ("dir", tarfile.DIRTYPE), ("fifo", tarfile.FIFOTYPE), ("./fifo2", tarfile.FIFOTYPE), ("./a//\udcff.sse", run), ("./run.sse", run)]
        files += [("empty.sse", b""), ("again/response.sse", run), ("again/response.sse", run), ("again/capture.json", directory["capture.json"])]
        for number, settings in enumerate([{"mode": "w", "format": tarfile.GNU_FORMAT}, {"mode": "w", "format": tarfile.PAX_FORMAT}, {"mode": "w:gz", "format": tarfile.PAX_FORMAT}]):
            with self.subTest(settings):
                path = self.archive(f"names{number}.tar", files, **settings)
                expected = printed("freeze", "--from-tar", path, "--inline")
                counts, rows = self.frozen(path, f"names{number}")
                self.assertEqual(
                    sorted(((name, row.run, row.verdict, [f.code for f in row.findings]) for name, several in rows.items() for row in several), key=str),
                    sorted(((row["capture"], row["run"], row["verdict"], [f["code"] for f in row["findings"]]) for row in expected), key=str),
                )

    def test_files(self):
        """Files of every kind below a directory have rows, also those that Spark does not list."""
        run = next(self.tree.glob("plain/**/*.sse")).read_bytes()
        tree = self.dir / "files"
        (tree / "_dir").mkdir(parents=True)
        for name in ("run.sse", "_hidden.sse", ".hidden.sse", "_dir/a b%20.sse", "q'\"\n\t\\.sse", "\udcff.sse", "ü\u202e.sse", "x" * 200, "-"):
            (tree / name).write_bytes(run)
        (tree / "empty.sse").write_bytes(b"")
        (tree / "link.sse").symlink_to("run.sse")
        (tree / "broken").symlink_to("nothing")
        (tree / "looped").symlink_to(".")
        os.mkfifo(tree / "fifo")
        archive = self.dir / "files.tar"
        subprocess.run(["tar", "-cf", archive, "-C", tree, *os.listdir(os.fsencode(tree))], check=True)
        expected = printed("freeze", "--from-tar", archive, "--inline")
        status, out, err = call(freeze.main, "--tree", tree, "-o", self.dir / "files.table")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(json.loads(out)["captures"], 14)
        self.check(self.dir / "files.table", expected, [column for column in freeze.columns(["integration"]) if column[0] != "findings"])
        status, out, err = call(pack.main, "--tree", tree, "-o", self.dir / "never")
        self.assertEqual(status, 2)

    def test_unreadable(self):
        """A file that cannot be read is quarantined, and the others are frozen."""
        paths = [next(self.tree.glob("plain/**/*.sse")), "/proc/self/mem", self.tree / "real/adk/one-turn"]
        (self.dir / "unreadable").write_text("".join(f"{path}\n" for path in paths))
        counts, rows = self.frozen_of("--list", self.dir / "unreadable", self.dir / "unreadable.table", status=1)
        self.assertEqual(counts["verdicts"], {"frozen": 2, "quarantined": 1})
        finding = rows["proc/self/mem"][0].findings[0]
        self.assertEqual((finding.code, finding.message), ("io_error", "Input/output error"))

    def test_damaged(self):
        """An archive that ends early has a row of its own, and so have the captures that it breaks off."""
        data = self.tar.read_bytes()
        whole = len(self.expected)
        for name, content in {"short.tar": data[: len(data) // 2], "short.gz": gzip.compress(data)[:500000], "no.tar": b"data: {}\n\n" * 1000}.items():
            with self.subTest(name):
                path = self.dir / name
                path.write_bytes(content)
                counts, rows = self.frozen(path, name + ".table", status=1)
                self.assertGreaterEqual(counts["verdicts"]["error"], 1)
                (row,) = [row for several in rows.values() for row in several if row.capture == row.source]
                self.assertEqual((row.verdict, row.findings[0].code), ("error", "archive_malformed"))
                self.assertLess(len(rows), whole)

    def test_archives(self):
        """Archives that are odd, or that end anywhere, have the rows of p20export."""
        run = next(self.tree.glob("plain/**/*.sse")).read_bytes()
        long = run.ljust(-(-len(run) // 512) * 512 + 500, b":") + b"\n\n"
        two = self.archive("two.tar", [("a.sse", run), ("b.sse", long)], mode="w", format=tarfile.USTAR_FORMAT).read_bytes()
        second = 512 - (-len(run) // 512) * 512
        end = second + 512 - (-len(long) // 512) * 512
        head, number = bytearray(two), bytearray(two)
        head[:100] = b"a\0b".ljust(100, b"\0")
        number[124:135] = b"00000000009"
        head[148:156] = b"%06o\0 " % (sum(head[:148]) + sum(head[156:512]) + 8 * ord(" "))
        pax = self.archive("pax.tar", [("a.sse", run), ("b.sse", run)], mode="w", format=tarfile.PAX_FORMAT, pax_headers={"path": "c"}).read_bytes()
        (self.dir / "odd").mkdir()
        for name, content in {"zeros": bytes(1024), "unended": two[:end], "content": two[: second + 512 + len(long) - 300], "header": two[: second + 400], "number": bytes(number), "nul": bytes(head), "pax": pax}.items():
            (self.dir / "odd" / name).write_bytes(content)
        _, rows = self.frozen(self.dir / "odd", "odd.table", status=1)
        got = [(os.path.basename(row.source), "-" if row.capture == row.source else row.capture, row.capture_digest, [f.code for f in row.findings]) for several in rows.values() for row in several]
        expected = [(path.name, "-" if row["capture"] == str(path) else row["capture"], row.get("capture_digest"), [f["code"] for f in row["findings"]]) for path in (self.dir / "odd").iterdir() for row in printed("freeze", "--from-tar", path, "--inline")]
        self.assertEqual(sorted(got, key=str), sorted(expected, key=str))

    def test_killed_archive(self):
        """An archive that Python cannot read, and with which every process ends, has a row."""
        path = self.dir / "killed.gz"
        path.write_bytes(gzip.compress(self.tar.read_bytes())[:100000])
        program = self.program("killer", '[ "$(head -c 1000 | tr -d "\\0" | wc -c)" -eq 0 ] || kill -9 $$')
        counts, rows = self.frozen(path, "killed.table", "--program", program, status=1)
        self.assertEqual(counts["verdicts"], {"quarantined": 1})

    def test_paths(self):
        """Each row of a table of captures gives one row of results, whatever its path is."""
        run = next(self.tree.glob("plain/**/*.sse")).read_bytes()
        files = {name: (CAPTURES / "adk" / "one-turn" / name).read_bytes() for name in ("response.sse", "request.json", "arrivals.tsv", "capture.json")}
        paths = [None, "", "a/", "/b", "../c", "d/../e", "f//g", "h\0i", "j/response.sse", "k/request.json", "paths", "dup", "dup"]
        table = [(path, run, None, None, None) for path in paths]
        table += [(path and path + "2", *files.values()) for path in paths] + [("request", None, files["request.json"], None, None)]
        self.spark.createDataFrame(table, "path string, response binary, request binary, arrivals binary, manifest binary").coalesce(1).write.parquet(str(self.dir / "paths"))
        counts, rows = self.frozen_of("--table", self.dir / "paths", self.dir / "paths.table", status=1)
        self.assertEqual(counts["captures"], len(table))
        self.assertEqual(sum(map(len, rows.values())), len(table))
        frozen = {name for name, several in rows.items() if several[0].verdict == "frozen"}
        self.assertEqual(frozen, {"a", "f/g", "k/request.json", "paths", "dup", "a/2", "f/g2", "j/response.sse2", "k/request.json2", "paths2", "dup2"})
        for name, columns in {"number": "1 path, '' response", "unnamed": "'' response", "struct": "'a' path, struct(1) response"}.items():
            self.spark.sql("SELECT " + columns).write.parquet(str(self.dir / name))
            self.assertEqual(call(freeze.main, "--table", self.dir / name, "-o", self.dir / "never")[0], 2)

    def test_lists(self):
        """Files that a list names twice are read once, and a list without files has no rows."""
        tree = self.dir / "twice"
        tree.mkdir()
        (tree / "twice").write_bytes(next(self.tree.glob("plain/**/*.sse")).read_bytes())
        self.assertEqual(self.job(freeze.main, "--tree", tree, "-o", self.dir / "twice.table")["captures"], 1)
        (self.dir / "lines").write_text(f"{tree}\n\n{tree}/twice\n{tree}/./twice\n")
        self.assertEqual(self.job(freeze.main, "--list", self.dir / "lines", "-o", self.dir / "lines.table", "--label", "a", "--label", "a")["captures"], 1)
        (self.dir / "blank").write_text("\n")
        for args in (("--tree", tree / "twice"), ("--list", self.dir / "blank"), ("--tree", tree, "--task-bytes", "0")):
            self.assertEqual(call(freeze.main, *args, "-o", self.dir / "never")[0], 2)

    def test_quarantined(self):
        """A capture with which every process ends is quarantined, and the others are frozen."""
        self.assertGreater(COUNT, 100)
        program = self.program("poisoned", 'cat > "$DIR/in.$$"; if grep -qa poison "$DIR/in.$$"; then "$P20EXPORT" "$@" < "$DIR/in.$$" | head -c 50000; kill -9 $$; fi\nexec "$P20EXPORT" "$@" < "$DIR/in.$$"')
        run = next(self.tree.glob("plain/**/*.sse")).read_bytes()
        path = self.archive("poison.tar", [(f"{number}.sse", run if number != 50 else b"poison") for number in range(100)], mode="w")
        counts, rows = self.frozen(path, "poison", "--program", program, status=1)
        self.assertEqual(counts["verdicts"], {"frozen": 99, "quarantined": 1})
        (row,) = rows["50.sse"]
        self.assertEqual((row.verdict, row.findings[0].code, row.findings[0].message), ("quarantined", "process_ended", "p20export was ended by SIGKILL"))

    def test_refused(self):
        """What cannot work is refused before any task runs, and a table is never replaced."""
        for args, message in {
            ("--nonsense",): "unknown flag: --nonsense",
            ("--projection", "none"): "none",
        }.items():
            status, out, err = call(freeze.main, "--tar", self.tar, "-o", self.dir / "never", "--", *args)
            self.assertIn(message, err)
            self.assertEqual((status, (self.dir / "never").exists()), (2, False))
        status, out, err = call(freeze.main, "--tar", self.tar, "-o", self.dir / "never", "--program", "no-such-program")
        self.assertIn("no-such-program is neither", err)
        (self.dir / "taken").mkdir()
        (self.dir / "taken" / "file").write_text("kept")
        for main in (freeze.main, pack.main):
            status, out, err = call(main, "--tree", self.tree, "-o", self.dir / "taken")
            self.assertIn("exists", err)
        self.assertEqual([path.name for path in (self.dir / "taken").iterdir()], ["file"])
        (self.dir / "nothing").mkdir()
        for main, args, message in (
            (freeze.main, ("--tree", self.dir / "missing"), "missing: No such file or directory"),
            (freeze.main, ("--list", self.dir / "missing"), "missing: No such file or directory"),
            (freeze.main, ("--tar", self.dir / "missing"), "missing: No such file or directory"),
            (freeze.main, ("--table", self.dir / "missing"), "missing: No such file or directory"),
            (freeze.main, ("--table", self.tar), "all.tar"),
            (freeze.main, ("--tree", self.dir / "nothing"), "nothing has no files"),
            (pack.main, ("--tree", self.dir / "nothing"), "nothing has no files"),
            (pack.main, ("--tree", self.tree, "--to-tar", "-o", f"file://{self.dir}/never"), "is a URL"),
            (freeze.main, ("--tar", self.tar, "--program", self.dir / "missing"), "missing: No such file"),
            (freeze.main, ("--tar", self.tar, "--program", self.tar), "cannot be run on this machine"),
        ):
            with self.subTest(args):
                status, out, err = call(main, "-o", self.dir / "never", *args)
                self.assertEqual((status, message in err, (self.dir / "never").exists()), (2, True, False), err)

    def test_unfinished(self):
        """A table of captures has no unfinished ones, which archives keep."""
        tree = self.dir / "unfinished"
        (tree / "run").mkdir(parents=True)
        (tree / "run" / "response.sse").write_bytes(next(self.tree.glob("plain/**/*.sse")).read_bytes())
        (tree / "run" / "capture.json.tmp").write_bytes(b"")
        status, out, err = call(pack.main, "--tree", tree, "-o", self.dir / "never")
        self.assertIn("cannot hold 1 of the captures", err)
        self.assertIn("for example 'run'", err)
        self.assertEqual(call(pack.main, "--tree", tree, "-o", self.dir / "kept", "--to-tar")[0], 0)
        counts, rows = self.frozen(self.dir / "kept", "kept.table")
        self.assertEqual([f.code for f in rows["run"][0].findings], ["capture_unfinished"])


class TestLint(Jobs):
    """lint.py gives the rows of p20export lint."""

    def test_lint(self):
        expected = printed("lint", "--from-tar", self.tar)
        for args in (("--tar", self.tar), ("--tree", self.tree)):
            with self.subTest(args):
                table = self.dir / ("lint" + args[0])
                counts = self.job(lint.main, *args, "-o", table, "--program", P20EXPORT)
                self.assertEqual((counts["captures"], counts["rows"]), (len(expected), len(expected)))
                self.check(table, expected, lint.columns(["integration", "version"]))


class TestQueries(Jobs):
    """Queries give the same rows in Spark and in DuckDB, and runs that are taken from a table verify."""

    def test_queries(self):
        key = self.dir / "key"
        subprocess.run([P20EXPORT, "keygen", key], check=True, capture_output=True)
        private, public = self.dir / "key.key.pem", self.dir / "key.pub.pem"
        table = self.dir / "signed"
        self.job(freeze.main, "--tar", self.tar, "-o", table, "--", "--sign", private)
        names = sorted(path.stem for path in (EXAMPLE / "queries").glob("*.sql"))
        rows = {}
        for engine in ("spark", "duckdb"):
            status, out, err = call(query.main, "--table", table, "--engine", engine, *names)
            self.assertEqual((status, err), (0, ""))
            rows[engine] = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(rows["spark"], rows["duckdb"])
        self.assertEqual(sorted({row["query"] for row in rows["spark"]}), names)
        frozen = sum(row["verdict"] == "frozen" for row in self.expected)
        self.assertEqual(sum(row["runs"] for row in rows["spark"] if row["query"] == "signers" and row["key_id"]), frozen)
        captures = [row["capture"] for row in self.expected if row["verdict"] == "frozen" and row["labels"]]
        for engine, capture in {"spark": captures[0], "duckdb": captures[-1]}.items():
            sample = self.dir / ("sample-" + engine)
            self.assertEqual(call(query.main, "--table", table, "--engine", engine, "--capture", capture, "-o", sample)[0], 0)
            done = subprocess.run([P20EXPORT, "verify", sample, "--capture", self.tree / "real", "--trust", public, "--require-signature"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        status, out, err = call(query.main, "--table", table, "--engine", "duckdb", "--capture", "none", "-o", self.dir / "never")
        self.assertEqual((status, "no frozen run" in err), (2, True))
        status, out, err = call(query.main, "--table", table, "--engine", "duckdb", "--capture", captures[-1], "-o", self.dir / "sample-duckdb")
        self.assertEqual((status, "exists" in err), (2, True))
        other = self.dir / "other.tar"
        shutil.copy(self.tar, other)
        both = self.dir / "both"
        self.job(freeze.main, "--tar", self.tar, other, "-o", both)
        status, out, err = call(query.main, "--table", both, "--engine", "duckdb", "--capture", captures[0], "-o", self.dir / "taken")
        self.assertEqual((status, "2 sources" in err, (self.dir / "taken").exists()), (2, True, False))
        self.assertEqual(call(query.main, "--table", both, "--engine", "duckdb", "--capture", captures[0], "--source", f"file:{other}", "-o", self.dir / "taken")[0], 0)
        for args, message in {("nosuch",): "there is no query nosuch", ("/nope/my.sql",): "/nope/my.sql: No such file"}.items():
            status, out, err = call(query.main, "--table", table, *args)
            self.assertEqual((status, message in err), (2, True), err)
        for engine in ("spark", "duckdb"):
            for path in (self.dir / "nope", self.tree):
                status, out, err = call(query.main, "--table", path, "--engine", engine, "drift")
                self.assertEqual((status, "is not a table of freeze.py" in err), (2, True), err)


class TestReadme(Jobs):
    """The commands of README.md print what it says."""

    def test_commands(self):
        text = (EXAMPLE / "README.md").read_text()
        commands = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
        (summary,) = re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)
        self.assertEqual(len(commands), 2)
        folder = self.dir / "repository" / "examples" / "spark"
        folder.mkdir(parents=True)
        for path in EXAMPLE.glob("*"):
            (folder / path.name).symlink_to(path)
        (self.dir / "repository" / "discovery").symlink_to(ROOT / "discovery")
        programs = [str(pathlib.Path(sys.executable).parent), str(pathlib.Path(pyspark.__file__).parent / "bin")]
        environment = {**os.environ, "PATH": os.pathsep.join([*programs, os.environ["PATH"]])}
        done = subprocess.run(["bash", "-euc", "".join(commands)], cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        got, want = json.loads(lines[0]), json.loads(summary)
        self.assertEqual({**got, "seconds": 0}, {**want, "seconds": 0})
        self.assertTrue(any('"query": "refusals"' in line for line in lines))
        self.assertIn("verified", lines[-1])


if __name__ == "__main__":
    unittest.main()
