"""Packs captures that are small files into large files.

The result is a Parquet table with the columns path, response, request, arrivals and manifest, or
with --to-tar a directory of tar archives, which p20export reads too. The directory must be one
that all executors share, such as a network file system.
"""

import os
import posixpath
import shutil
import sys
import uuid
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F
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


def rows(batches, size=16 << 20):
    """Yields the rows of a table of captures, in batches of about so many bytes."""
    some, total = [], 0
    for name, files in captures.grouped_files(batches):
        row = {"path": name}
        for path, content in files:
            is_plain = path == name
            row["response" if is_plain else COLUMNS.get(posixpath.basename(path), "response")] = content.to_pybytes()
            total += len(content)
        some.append(row)
        if total >= size:
            yield batch(some)
            some, total = [], 0
    if some:
        yield batch(some)


def batch(some):
    """Returns a batch of rows."""
    return pa.RecordBatch.from_arrays([pa.array([row.get(field.name) for row in some], field.type) for field in SCHEMA], schema=SCHEMA)


class Archives(DataSource):
    """Writes files with the columns path and content to tar archives."""

    @classmethod
    def name(cls):
        return "tar"

    def schema(self):
        return "path string, content binary, key string"

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
            for batch in batches:
                for name, content in zip(batch["path"], batch["content"]):
                    archive.writelines(captures.member(name.as_py(), content.as_buffer()))
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


def unfit(listing):
    """Returns the captures that a row of a table cannot hold: unfinished ones, and several responses."""
    base = F.element_at(F.split("path", "/"), -1)
    files = F.collect_set(base)
    responses = F.size(F.filter(files, lambda name: name.startswith("response.")))
    return (
        listing.where(F.col("key") != F.col("path")).groupBy("key").agg(files.alias("files"), responses.alias("responses"))
        .where(~(F.array_contains("files", "capture.json") & (F.col("responses") == 1) & ~F.array_contains("files", "capture.json.tmp")) & ~(F.col("files") == F.array(F.lit("request.json"))))
    )


def main(argv=None):
    parser = job.parser(__doc__, EXAMPLE, forms=["tree", "list"])
    parser.add_argument("--to-tar", action="store_true", help="write tar archives")
    parser.add_argument("--file-bytes", metavar="N", type=int, default=256 << 20, help="put about N bytes of captures into a file (default: %(default)s)")
    args = parser.parse_args(argv)
    spark = job.session("p20export pack")
    job.check_output(spark, args.output)
    found = job.reading(lambda: job.read(spark, args))
    listing = job.read(spark, args, content=False)
    total, count = listing.agg(F.sum("length"), F.count_distinct("key")).first()
    if not count:
        job.fail("no files were found")
    if not args.to_tar and (number := unfit(listing).count()):
        example = unfit(listing).first().key
        job.fail(f"{number} capture {'directory is' if number == 1 else 'directories are'} unfinished, or have several responses, for example {example}; finish them with p20export recover, or pack with --to-tar")
    found = found.repartition(-(-total // args.file_bytes), "key").sortWithinPartitions("key")
    for file in (captures.__file__, job.__file__, __file__):
        spark.sparkContext.addPyFile(file)
    if args.to_tar:
        spark.dataSource.register(Archives)
        os.makedirs(args.output)
        found.write.format("tar").mode("append").option("path", os.path.abspath(args.output)).save()
    else:
        found.mapInArrow(rows, from_arrow_schema(SCHEMA)).write.parquet(args.output)
    print(f"{count} captures with {total} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
