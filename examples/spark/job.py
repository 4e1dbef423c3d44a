"""The part of the jobs of this folder that runs in Spark's driver."""

import argparse
import itertools
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import time

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import SparkFiles
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

import captures

FINDINGS = pa.list_(pa.struct([
    ("code", pa.string()), ("severity", pa.string()), ("message", pa.string()), ("hint", pa.string()),
    ("rule", pa.string()), ("spec", pa.string()), ("pointer", pa.string()),
    ("event_index", pa.int64()), ("offset", pa.int64()), ("line", pa.int64()), ("column", pa.int64()),
]))


def labels(names):
    """Returns the type of a struct of the labels with these names. A capture's other labels are dropped."""
    return pa.struct([(name, pa.string()) for name in dict.fromkeys(names)])


def positive(text):
    """Returns a positive number, which a flag has as its value."""
    number = int(text)
    if number <= 0:
        raise ValueError
    return number


def parser(does, example, forms=("tree", "list", "tar", "table")):
    """Returns a parser with the flags of a job that reads captures in these forms."""
    parser = argparse.ArgumentParser(description=does, epilog="example:\n" + example, formatter_class=argparse.RawDescriptionHelpFormatter)
    form = parser.add_mutually_exclusive_group(required=True)
    for name, settings in {
        "tree": {"metavar": "DIR", "help": "read the captures below DIR, which all machines see: capture directories, and every other file as a capture of its own"},
        "list": {"metavar": "FILE", "help": "read the capture directories and files that FILE names, one a line"},
        "tar": {"metavar": "PATH", "nargs": "+", "help": "read the captures in tar archives, plain or compressed with gzip or zstd; PATH can be a directory or a pattern"},
        "table": {"metavar": "PATH", "nargs": "+", "help": "read the captures in Parquet tables with the columns path and response, and if they exist request, arrivals and manifest"},
    }.items():
        if name in forms:
            form.add_argument("--" + name, **settings)
    parser.set_defaults(**dict.fromkeys(("tree", "list", "tar", "table")))
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="write the result to PATH, which must not exist")
    return parser


def command_parser(does, example, command):
    """Returns a parser with the flags of a job that runs a command of p20export."""
    p = parser(does, example)
    p.add_argument("--task-bytes", metavar="N", type=positive, default=64 << 20, help="give each task about N bytes of captures (default: %(default)s, which is 64 MiB)")
    p.add_argument("--program", metavar="FILE", default="p20export", help="the program for the executors: a path, or the name of one of spark-submit's --files or of a program on $PATH (default: %(default)s)")
    p.add_argument("--label", metavar="NAME", action="append", help="keep this label of captures (repeatable; default: integration and version)")
    p.add_argument("arguments", metavar="-- FLAG", nargs="*", help=f"flags of p20export {command}")
    return p


def session(name):
    """Returns the session. What spark-submit sets wins."""
    builder = SparkSession.builder.appName(name)
    if not sys.stderr.isatty():
        builder = builder.config("spark.ui.showConsoleProgress", False)
    spark = builder.getOrCreate()
    if spark.sparkContext.getConf().get("spark.log.level") is None:
        spark.sparkContext.setLogLevel("WARN")
    return spark


def fail(message):
    """Ends the program, because what it was asked for cannot be done."""
    print(message, file=sys.stderr)
    sys.exit(2)


# SPARK_ERRORS are the classes of errors of Spark, with and without a text of Spark's own.
SPARK_ERRORS = (PySparkException, Py4JJavaError)


def message_of(error):
    """Returns the first line of an error of Spark, or of its deepest cause."""
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        error = cause.getMessage()
    return str(error).splitlines()[0]


def reading(action):
    """Returns what an action returns, and ends the program if it names something that is not there."""
    try:
        return action()
    except SPARK_ERRORS as error:
        fail(message_of(error))


def check_output(spark, path):
    """Ends the program if a path exists, because evidence is never replaced."""
    path = spark._jvm.org.apache.hadoop.fs.Path(path)
    if path.getFileSystem(spark._jsc.hadoopConfiguration()).exists(path):
        fail(f"{path} exists; name another --output, or remove it")


def check_input(spark, paths):
    """Ends the program if there is nothing that a path or a pattern names."""
    for name in paths:
        path = spark._jvm.org.apache.hadoop.fs.Path(name)
        if not path.getFileSystem(spark._jsc.hadoopConfiguration()).globStatus(path):
            fail(f"{name}: No such file or directory")


def read(spark, args):
    """Returns archives, with the columns path and content, or a table with those of captures.TABLE."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.files.maxPartitionBytes", args.task_bytes)
    spark.conf.set("spark.sql.files.openCostInBytes", 0)
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", 16 << 20)
    check_input(spark, args.tar or args.table)
    if args.tar:
        return spark.read.format("binaryFile").load(args.tar).select("path", "content")
    table = spark.read.parquet(*args.table)
    absent = set(captures.TABLE) - set(table.columns)
    if absent & {"path", "response"}:
        fail(f"{args.table[0]} has not the columns path and response, but {', '.join(table.columns)}")
    types = dict.fromkeys(captures.TABLE, "binary") | {"path": "string"}
    for name in captures.TABLE:
        if name not in absent and table.schema[name].dataType.typeName() not in ("binary", "string"):
            fail(f"the column {name} of {args.table[0]} has the type {table.schema[name].dataType.simpleString()}, and can only be {types[name]}")
    return table.select(*((F.lit(None) if name in absent else F.col(name)).cast(type).alias(name) for name, type in types.items()))


class Files:
    """The files of captures below directories that all machines of a cluster see.

    Spark's own reader of files leaves out those that are empty or whose names begin with . or _.
    """

    def __init__(self, args):
        if args.tree:
            found = walk(os.path.join(args.tree, ""), "")
        else:
            paths = [os.fsdecode(line) for line in listed(args.list) if line]
            found = itertools.chain.from_iterable(walk(path, list_name(path)) for path in paths)
        files = sorted(dict(found).items(), key=lambda file: (captures.key_of(file[0].name), file[0].name))
        if not files:
            fail(f"{args.tree or args.list} has no files")
        for (one, _), (other, _) in itertools.pairwise(files):
            if one.name == other.name:
                fail(f"{one.path} and {other.path} have the same name in the table")
        # captures has each path of a capture, with its files and their status.
        self.captures = [(key, list(several)) for key, several in itertools.groupby(files, lambda file: captures.key_of(file[0].name))]
        self.bytes = sum(status.st_size for _, status in files)

    def tasks(self, spark, size):
        """Returns a row for each task, which has captures with about so many bytes, in partitions of their own."""
        weighed = ((several, sum(status.st_size + FILE_COST for _, status in several)) for _, several in self.captures)
        tasks = [[tuple(map(os.fsencode, file)) for file, _ in itertools.chain.from_iterable(some)] for some in captures.by_size(weighed, size)]
        rows = spark.createDataFrame(list(enumerate(tasks)), "task int, files array<struct<path: binary, name: binary>>")
        return rows.repartitionByRange(len(tasks), "task")


# FILE_COST is how many bytes can be read in the time that opening a file needs.
FILE_COST = 4096


def walk(top, name):
    """Yields the files at or below a path, with their status."""
    try:
        entries = sorted(os.scandir(top), key=lambda entry: entry.name)
    except NotADirectoryError as error:
        if not name:
            fail(f"{error.filename}: {error.strerror}")
        yield captures.File(os.path.abspath(top), name), os.lstat(top)
        return
    except OSError as error:
        fail(f"{error.filename.rstrip('/')}: {error.strerror}")
    for entry in entries:
        path = posixpath.join(name, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from walk(entry.path, path)
        else:
            yield captures.File(os.path.abspath(entry.path), path), entry.stat(follow_symlinks=False)


def listed(path):
    """Returns the lines of a list."""
    try:
        with open(path, "rb") as lines:
            return lines.read().split(b"\n")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")


def list_name(path):
    """Returns the name of a path in an archive, which cannot begin with a slash."""
    path = posixpath.normpath(path)
    return (os.path.abspath(path) if path.startswith("..") else path).lstrip("/")


def freeze_or_lint(spark, args, command, columns):
    """Runs a command of p20export on captures, writes its rows, and counts them."""
    began = time.time()
    check_output(spark, args.output)
    arguments = [command, "--from-tar", "-", "--format", "json", "--jobs", "1", *args.arguments]
    program = ship(spark, args.program, arguments)
    context = spark.sparkContext
    context.addPyFile(captures.__file__)
    sent, made = context.accumulator(0), context.accumulator(0)
    rows = captures.Rows(program, arguments, columns, attempts(spark), sent, made)
    if args.tar:
        found, count, of = reading(lambda: read(spark, args)), None, rows.of_archives
    elif args.table:
        found, source = reading(lambda: read(spark, args)), " ".join(args.table)
        count, of = found.count(), lambda batches: rows.of(source, captures.of_table(batches))
    else:
        files, source = Files(args), args.tree or args.list
        found, count, of = files.tasks(spark, args.task_bytes), len(files.captures), lambda batches: rows.of(source, captures.of_files(batches))
    made_rows = found.mapInArrow(of, from_arrow_schema(rows.schema))
    for name in ("started_at", "finished_at"):
        if name in made_rows.columns:
            made_rows = made_rows.withColumn(name, F.col(name).cast("timestamp"))
    spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", 8)  # for a few verdicts, rows need no sorting
    made_rows.write.partitionBy("verdict").option("compression", "zstd").parquet(args.output)
    return finish(spark.read.schema(made_rows.schema).parquet(args.output), count, sent.value, made.value, began)


def finish(table, count, sent, made, began):
    """Compares what was written with what was read, prints the counts, and returns the status."""
    if "run" in table.columns:
        is_first = F.col("run").isNull() | (F.col("run") == 1)
    else:
        is_first = F.lit(True)
    is_capture = is_first & ~((F.col("capture") == F.col("source")) & F.col("verdict").isin("error", "quarantined"))
    verdicts = {row.verdict: (row.rows, row.captures) for row in table.groupBy("verdict").agg(F.count("*").alias("rows"), F.count_if(is_capture).alias("captures")).collect()}
    written = sum(rows for rows, _ in verdicts.values())
    out = sum(captures for _, captures in verdicts.values())
    summary = {"captures": sent if count is None else count, "rows": written, "verdicts": {name: rows for name, (rows, _) in sorted(verdicts.items())}, "seconds": round(time.time() - began, 1)}
    print(json.dumps(summary))
    if not (out == sent == summary["captures"]) or written != made:
        print(f"the counts differ: {summary['captures']} captures were read, {sent} were sent, and {out} have rows; {made} rows were made, and {written} were written", file=sys.stderr)
        return 3
    return 1 if {"quarantined", "error"} & set(verdicts) else 0


def ship(spark, program, arguments):
    """Sends the program to the executors, and returns its name there.

    It first runs the program without captures, so that wrong arguments do not fail every task.
    """
    name = os.path.basename(program)
    sent = [file for file in spark.sparkContext.getConf().get("spark.files", "").split(",") if os.path.basename(file) == name]
    if name == program and not sent:
        program = shutil.which(name)
        if program is None:
            fail(f"{name} is neither one of spark-submit's --files nor on the path; name it with --program FILE")
    if name != program:
        if not os.path.isfile(program):
            fail(f"{program}: No such file")
        spark.sparkContext.addFile(program)
    try:
        tried = subprocess.run([SparkFiles.get(name), *arguments], input=bytes(2 * captures.BLOCK), capture_output=True)
    except OSError as error:
        fail(f"{program} cannot be run on this machine: {error.strerror}")
    if tried.returncode != 0:
        fail(tried.stderr.decode("utf-8", "replace").strip() or f"{program} ended with status {tried.returncode}")
    return name


def attempts(spark):
    """Returns how often Spark tries a task."""
    local = re.fullmatch(r"local(\[[^,]*(,\s*(\d+))?\])?", spark.sparkContext.master)
    if local:
        return int(local[3] or 1)
    return int(spark.sparkContext.getConf().get("spark.task.maxFailures", "4"))
