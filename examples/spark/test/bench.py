"""Measures the jobs on a Spark cluster of this machine, and prints tables in Markdown.

    cluster.sh with python bench.py growth 20000 200000   time and memory for numbers of captures
    cluster.sh with python bench.py peers                 p20export alone, the job, and a UDF over ag-ui-protocol

The environment has P20EXPORT, and for peers PYTHONPATH with ag-ui-protocol.
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

from running import P20EXPORT, generate, submit

HERE = pathlib.Path(__file__).resolve().parent


def packed(directory, count, size):
    """Writes captures, and packs them into a table and an archive."""
    generate(directory / "tree", count, size)
    submit("pack.py", "--tree", directory / "tree", "-o", directory / "table", "--file-bytes", 32 << 20)
    subprocess.run(["tar", "-cf", directory / "all.tar", "-C", directory / "tree", "."], check=True)


def growth(counts):
    """Measures numbers of captures. Beyond the first 20,000, the same captures have other paths."""
    print("| captures | seconds | µs per capture | with the start of Spark | peak memory of the driver |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        packed(directory, 20000, "4k")
        for count in counts:
            submit(HERE / "repeat.py", directory / "table", count // 20000, directory / f"table-{count}")
            printed, whole, memory = submit("freeze.py", "--table", directory / f"table-{count}", "-o", directory / "out")
            printed = json.loads(printed)
            assert printed["captures"] == count, printed
            print(f"| {count:,} | {printed['seconds']:.1f} | {printed['seconds'] / count * 1e6:.0f} | {whole:.0f} s | {memory} MB |", flush=True)
            subprocess.run(["rm", "-rf", directory / "out", directory / f"table-{count}"], check=True)


def peers():
    """Compares p20export alone, the job on archives and tables, and the UDF."""
    print("| captures of | done by | seconds | captures per second | of p20export alone |\n|---|---|---|---|---|", flush=True)
    for size, count in (("4k", 50000), ("64k", 5000)):
        with tempfile.TemporaryDirectory() as directory:
            directory = pathlib.Path(directory)
            packed(directory, count, size)
            submit("pack.py", "--tree", directory / "tree", "--to-tar", "-o", directory / "shards", "--file-bytes", 32 << 20)
            begin = time.monotonic()
            with open(directory / "rows", "wb") as rows:
                subprocess.run([P20EXPORT, "freeze", "--from-tar", directory / "all.tar", "--inline", "--format", "json", "--jobs", "2"], stdout=rows, check=True)
            alone = time.monotonic() - begin
            os.remove(directory / "rows")
            (directory / "one").mkdir()
            with tarfile.open(directory / "one" / "one.tar", "w") as one:
                one.add(next((directory / "tree").glob("**/*.sse")), "one.sse")
            nothing = json.loads(submit("freeze.py", "--tar", directory / "one", "-o", directory / "nothing").text)["seconds"]
            results = [("p20export alone, 2 processes", alone)]
            for name, args in {"the job, tar archives": ("--tar", directory / "shards"), "the job, a Parquet table": ("--table", directory / "table")}.items():
                printed = json.loads(submit("freeze.py", *args, "--task-bytes", 32 << 20, "-o", directory / ("frozen" + args[0])).text)
                assert printed["captures"] == count, printed
                results += [(name, printed["seconds"]), (name + ", without the time for one capture", printed["seconds"] - nothing)]
            printed = json.loads(submit(HERE / "udf.py", directory / "table", directory / "udf").text)
            results.append(("the UDF", printed["job"]))
            for name, seconds in results:
                print(f"| {size} | {name} | {seconds:.1f} | {count / seconds:,.0f} | {alone / seconds:.2f} |", flush=True)


if __name__ == "__main__":
    {"growth": growth, "peers": lambda counts: peers()}[sys.argv[1]]([int(count) for count in sys.argv[2:]])
