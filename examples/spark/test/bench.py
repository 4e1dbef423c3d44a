"""Measures the jobs on a Spark cluster of this machine, and prints tables in Markdown.

    cluster.sh with python bench.py growth 20000 200000   time and memory for numbers of captures
    cluster.sh with python bench.py peers                 p20export alone, the job, and a UDF over ag-ui-protocol

The environment has P20EXPORT, and for peers PYTHONPATH with ag-ui-protocol.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from running import P20EXPORT, generate, submit

HERE = pathlib.Path(__file__).resolve().parent


def packed(directory, count, size):
    """Writes captures, and packs them into a table and an archive."""
    generate(directory / "tree", count, size)
    submit("pack.py", "--tree", directory / "tree", "-o", directory / "table", "--file-bytes", 32 << 20)
    subprocess.run(["tar", "-cf", directory / "all.tar", "-C", directory / "tree", "."], check=True)


def repeated(directory, times):
    """Returns a table of the captures of packed, each so many times under different paths."""
    table = directory / f"table-{times}"
    if not table.exists():
        submit(HERE / "repeat.py", directory / "table", times, table)
    return table


def growth(counts):
    """Measures numbers of captures. Beyond the first 20,000, the same captures have other paths."""
    print("| captures | seconds | µs per capture more than in the row above | with the start of Spark | peak memory of the driver |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        packed(directory, 20000, "4k")
        before = (0, 0)
        for count in counts:
            table = repeated(directory, count // 20000)
            printed, whole, memory = submit("freeze.py", "--table", table, "-o", directory / "out")
            printed = json.loads(printed)
            assert printed["captures"] == count, printed
            more = (printed["seconds"] - before[1]) / (count - before[0]) * 1e6
            print(f"| {count:,} | {printed['seconds']:.1f} | {more:.0f} | {whole:.0f} s | {memory} MB |", flush=True)
            before = (count, printed["seconds"])
            subprocess.run(["rm", "-rf", directory / "out", table], check=True)


def peers():
    """Compares p20export alone, the job, and the UDF, without what starting a job costs."""
    print("| captures of | done by | captures | seconds | captures | seconds | µs per capture, from the difference | captures per second, p20export alone = 1 |\n|---|---|---|---|---|---|---|---|", flush=True)
    for size, count, times in (("4k", 20000, 10), ("64k", 2000, 10)):
        with tempfile.TemporaryDirectory() as directory:
            directory = pathlib.Path(directory)
            packed(directory, count, size)
            begin = time.monotonic()
            with open(directory / "rows", "wb") as rows:
                subprocess.run([P20EXPORT, "freeze", "--from-tar", directory / "all.tar", "--inline", "--format", "json", "--jobs", "2"], stdout=rows, check=True)
            seconds = time.monotonic() - begin
            alone = seconds / count
            print(f"| {size} | p20export alone, 2 processes | {count:,} | {seconds:.1f} | | | {alone * 1e6:.0f} | 1.00 |", flush=True)
            for name, job in {
                "the job": lambda table, out: json.loads(submit("freeze.py", "--table", table, "-o", out).text)["seconds"],
                "the UDF": lambda table, out: json.loads(submit(HERE / "udf.py", table, out).text)["job"],
            }.items():
                one, several = (job(repeated(directory, n), directory / f"{name}-{n}") for n in (1, times))
                each = (several - one) / count / (times - 1)
                print(f"| {size} | {name} | {count:,} | {one:.1f} | {count * times:,} | {several:.1f} | {each * 1e6:.0f} | {alone / each:.2f} |", flush=True)


if __name__ == "__main__":
    {"growth": growth, "peers": lambda counts: peers()}[sys.argv[1]]([int(count) for count in sys.argv[2:]])
