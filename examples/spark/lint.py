"""Lints captures with Spark: one row a capture, with its findings."""

import sys

import pyarrow as pa

import job

EXAMPLE = """\
  spark-submit --files p20export --py-files captures.py,job.py lint.py \\
      --table s3a://captures/2026-11 --output s3a://lint/2026-11 -- --protocol 1.0"""


def columns(labels):
    """Returns the columns of the table, their names in the rows of p20export, and their types."""
    text, number = pa.string(), pa.int64()
    return [
        ("capture", "capture", text),
        ("labels", "labels", job.labels(labels)),
        ("protocol", "protocol", text),
        ("verdict", "verdict", text),
        ("client", "client", text),
        ("passed", "passed", pa.bool_()),
        ("runs", "runs", number),
        ("events", "events", number),
        ("features", "features", pa.list_(text)),
        ("rules", "rules", pa.list_(pa.struct([("rule", text), ("code", text), ("severity", text), ("count", number)]))),
        ("breaches", "breaches", number),
        ("findings", "findings", job.FINDINGS),
    ]


def main(argv=None):
    args = job.command_parser(__doc__, EXAMPLE, "lint").parse_args(argv)
    spark = job.session("p20export lint")
    return job.freeze_or_lint(spark, args, "lint", columns(args.label or ["integration", "version"]))


if __name__ == "__main__":
    sys.exit(main())
