"""Packs captures that are small files into large files.

The result is a Parquet table with the columns path, response, request, arrivals and manifest, or
with --to-tar a directory of tar archives, which p20export reads too. All machines must see the
directory at the same path; it cannot be in an object store.
"""

import os
import posixpath
import re
import shutil
import stat
import sys
import uuid
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import from_arrow_schema

import captures
import job

EXAMPLE = """\
  spark-submit --py-files captures.py,job.py pack.py --tree captures/2026-11 \\
      --output s3a://captures/2026-11"""

SCHEMA = pa.schema([("path", pa.string())] + [(name, pa.binary()) for name in captures.TABLE[1:]])

# COLUMNS are the columns of the files of a capture directory. Others are in response.
COLUMNS = {"capture.json": "manifest", "request.json": "request", "arrivals.tsv": "arrivals"}


def rows(batches):
    """Yields the rows of a table of captures in batches."""
    columns = ({"path": name, **contents(name, files)} for name, files in captures.grouped_files(batches))
    for some in captures.by_size(((row, sum(map(len, row.values()))) for row in columns), 16 << 20):
        yield pa.RecordBatch.from_pylist(some, schema=SCHEMA)


def contents(name, files):
    """Returns the contents of the files of a capture by their columns."""
    found = {}
    for file in files:
        with open(file.path, "rb") as content:
            found["response" if file.name == name else COLUMNS.get(posixpath.basename(file.name), "response")] = content.read()
    return found


class Archives(DataSource):
    """Writes the files of tasks to tar archives."""

    @classmethod
    def name(cls):
        return "tar"

    def schema(self):
        return "task int, files array<struct<path: binary, name: binary>>"

    def writer(self, schema, overwrite):
        return Writer(self.options["path"])


@dataclass
class Written(WriterCommitMessage):
    """A temporary file, and the task that wrote it."""

    path: str
    task: int


class Writer(DataSourceArrowWriter):
    """Writes an archive in each task. Those of tasks that Spark commits get their names at the end."""

    def __init__(self, directory):
        self.directory = directory
        self.temporary = os.path.join(directory, "_temporary")

    def write(self, batches):
        os.makedirs(self.temporary, exist_ok=True)
        path = os.path.join(self.temporary, str(uuid.uuid4()))
        with open(path, "xb") as archive:
            for _, files in captures.grouped_files(batches):
                for file in files:
                    archive.writelines(captures.archived(file))
            archive.write(bytes(2 * captures.BLOCK))
            archive.flush()
            os.fsync(archive.fileno())
        return Written(path, TaskContext.get().partitionId())

    def commit(self, messages):
        for message in messages:
            os.rename(message.path, os.path.join(self.directory, f"captures-{message.task:05}.tar"))
        shutil.rmtree(self.temporary)
        open(os.path.join(self.directory, "_SUCCESS"), "xb").close()

    def abort(self, messages):
        shutil.rmtree(self.temporary, ignore_errors=True)


def unfit(files):
    """Returns the captures that a row of a table cannot hold: unfinished ones, several responses, links."""
    found = []
    for key, several in files.captures:
        names = {posixpath.basename(file.name) for file, _ in several}
        is_plain = len(several) == 1 and (several[0][0].name == key or names == {"request.json"})
        is_finished = "capture.json" in names and "capture.json.tmp" not in names and sum(name.startswith("response.") for name in names) == 1
        if not (is_plain or is_finished) or not all(stat.S_ISREG(status.st_mode) for _, status in several) or captures.NOT_UTF8.search(key):
            found.append(key)
    return found


def main(argv=None):
    parser = job.parser(__doc__, EXAMPLE, forms=["tree", "list"])
    parser.add_argument("--to-tar", action="store_true", help="write tar archives")
    parser.add_argument("--file-bytes", metavar="N", type=job.positive, default=256 << 20, help="put about N bytes of captures into a file (default: %(default)s, which is 256 MiB)")
    args = parser.parse_args(argv)
    if args.to_tar and re.match("[a-z0-9]+:", args.output):
        job.fail(f"{args.output} is a URL; --to-tar writes to a directory that all machines see")
    spark = job.session("p20export pack")
    job.check_output(spark, args.output)
    files = job.Files(args)
    if not args.to_tar and (names := unfit(files)):
        job.fail(f"a table cannot hold {len(names)} of the captures, which are unfinished, or have several responses, links or a name that is not UTF-8, for example {names[0]!r}; finish them with p20export recover, or pack with --to-tar")
    for file in (captures.__file__, job.__file__, __file__):
        spark.sparkContext.addPyFile(file)
    found = files.tasks(spark, args.file_bytes)
    if args.to_tar:
        spark.dataSource.register(Archives)
        os.makedirs(args.output)
        found.write.format("tar").mode("append").option("path", os.path.abspath(args.output)).save()
    else:
        found.mapInArrow(rows, from_arrow_schema(SCHEMA)).write.parquet(args.output)
    print(f"{len(files.captures)} captures with {files.bytes} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
