"""Makes captures and runs jobs, for the tests and benchmarks of this folder."""

import os
import pathlib
import re
import subprocess
import tempfile
import time
from collections import namedtuple

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent
ROOT = EXAMPLE.parent.parent
P20EXPORT = os.environ["P20EXPORT"]

# A Done is what a job printed, its seconds with the start of Spark, and the peak memory of its driver in MB.
Done = namedtuple("Done", "text seconds memory")


def generate(directory, count, size="4k"):
    """Writes captures of a size, which are plain files."""
    subprocess.run(["go", "run", "./cmd/internal/bench/generate", "-shape", "timestamped", "-count", str(count), "-bytes", size, directory], cwd=ROOT, check=True, capture_output=True)


def submit(job, *args):
    """Runs a job on the cluster as README.md says. It must end with status 0."""
    command = [
        pathlib.Path(os.environ["PYSPARK_PYTHON"]).parent / "spark-submit", "--master", os.environ["SPARK_MASTER"], "--executor-memory", "1g", "--driver-memory", "1g",
        "--conf", "spark.log.level=WARN", "--conf", "spark.ui.enabled=false", "--files", P20EXPORT, "--py-files", "captures.py,job.py", job, *map(str, args),
    ]
    begin, peak = time.monotonic(), 0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=EXAMPLE, stdout=out, stderr=err)
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status") as status:
                peak = max(peak, *map(int, re.findall(r"VmHWM:\s*(\d+)", status.read()) or [0]))
            time.sleep(0.1)
        seconds = time.monotonic() - begin
        out.seek(0), err.seek(0)
        text = out.read()
        if process.returncode != 0:
            raise AssertionError(f"{job} {args} ended with status {process.returncode}\n{text}\n{err.read()[-8000:]}")
        return Done(text.strip(), seconds, peak >> 10)
