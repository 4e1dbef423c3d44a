"""Checks captures with a UDF over ag-ui-protocol, to compare p20export with.

    PYTHONPATH=SITE_PACKAGES python udf.py TABLE OUT

TABLE is a Parquet table with the columns path and response. OUT, which must not exist, gets a row
a capture: whether each event is one of the AG-UI protocol, whether the run started and finished,
and the last snapshot of its messages. Python must find pyspark and, on every executor,
ag-ui-protocol. SPARK_MASTER is the cluster, otherwise two threads of this process.
"""

import json
import os
import sys
import time

import pandas as pd
from pyspark.sql import SparkSession

COLUMNS = ["path", "thread_id", "run_id", "verdict", "reason", "snapshot"]


def events_of(response):
    """Yields the data of each Server-Sent Event. The last one needs no blank line."""
    data = []
    for line in response.removeprefix(b"\xef\xbb\xbf").splitlines():
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
    if data:
        yield b"\n".join(data)


def check(path, response, read):
    """Returns the row of a capture. read parses and validates an event, or raises ValueError."""
    started = last = snapshot = reason = None
    for number, data in enumerate(events_of(response)):
        try:
            event = read(data)
        except ValueError as err:
            reason = f"event {number}: {err.errors()[0]['msg']}"
            break
        if event.type == "RUN_STARTED":
            if started:
                reason = f"event {number}: a second RUN_STARTED"
                break
            started = event
        elif not started:
            reason = f"event {number}: {event.type.value} before RUN_STARTED"
            break
        elif last and last.type in ("RUN_FINISHED", "RUN_ERROR"):
            reason = f"event {number}: {event.type.value} after the end of the run"
            break
        elif event.type == "MESSAGES_SNAPSHOT":
            snapshot = event
        last = event
    else:
        if not last:
            reason = "no events"
        elif last.type == "RUN_FINISHED":
            if (last.thread_id, last.run_id) != (started.thread_id, started.run_id):
                reason = "RUN_FINISHED is of another run"
        elif last.type != "RUN_ERROR":
            reason = "the run did not finish"
    messages = snapshot and snapshot.model_dump(mode="json", by_alias=True, exclude_unset=True)["messages"]
    return (
        path,
        started and started.thread_id,
        started and started.run_id,
        "refused" if reason else "accepted",
        reason,
        None if messages is None else json.dumps(messages, ensure_ascii=False, separators=(",", ":")),
    )


def check_all(frames):
    """Checks the captures of a partition."""
    from ag_ui.core import Event
    from pydantic import TypeAdapter

    read = TypeAdapter(Event).validate_json
    for frame in frames:
        rows = [check(path, response, read) for path, response in zip(frame["path"], frame["response"])]
        yield pd.DataFrame(rows, columns=COLUMNS)


def main(table, out):
    start = time.monotonic()
    spark = (
        SparkSession.builder.master(os.environ.get("SPARK_MASTER", "local[2]"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    started = time.monotonic()
    captures = spark.read.parquet(table).select("path", "response")
    captures.mapInPandas(check_all, ", ".join(f"{name} string" for name in COLUMNS)).write.parquet(out)
    print(json.dumps({"start": started - start, "job": time.monotonic() - started}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
