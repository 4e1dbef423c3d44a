"""Freezes the runs of captures with Spark: one row a run, with its exact files."""

import sys

import pyarrow as pa

import job

EXAMPLE = """\
  spark-submit --files p20export --py-files captures.py,job.py freeze.py \\
      --tar s3a://captures/shards --output s3a://evidence/2026-11 -- --profile assay"""


def columns(labels):
    """Returns the columns of the table, their names in the rows of p20export, and their types."""
    text, number = pa.string(), pa.int64()
    return [
        ("capture", "capture", text),
        ("labels", "labels", job.labels(labels)),
        ("run", "run", pa.int32()),
        ("thread_id", "thread_id", text),
        ("run_id", "run_id", text),
        ("started_at", "started_at", text),
        ("finished_at", "finished_at", text),
        ("terminal_event", "terminal_event", text),
        ("verdict", "verdict", text),
        ("origin", "origin", text),
        ("profiles", "profiles", pa.struct([("v1", pa.bool_()), ("assay", pa.bool_())])),
        ("findings", "findings", job.FINDINGS),
        ("capture_bytes", "capture_bytes", number),
        ("capture_digest", "capture_digest", text),
        ("artifact_bytes", "artifact_bytes", number),
        ("artifact_digest", "artifact_digest", text),
        ("artifact", "artifact_json", text),
        ("envelope", "envelope_ndjson", text),
        ("record", "record_json", text),
        ("signature", "signature_json", text),
    ]


def main(argv=None):
    args = job.command_parser(__doc__, EXAMPLE, "freeze").parse_args(argv)
    args.arguments = ["--inline", *args.arguments]
    spark = job.session("p20export freeze")
    return job.freeze_or_lint(spark, args, "freeze", columns(args.label or ["integration", "version"]))


if __name__ == "__main__":
    sys.exit(main())
