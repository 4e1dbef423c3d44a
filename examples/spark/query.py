"""Asks a table of frozen runs in SQL, with Spark or with DuckDB, and takes single runs from it.

A query is a file of the folder queries, named without .sql, or another file. It reads these views:

  runs      the table
  findings  source, capture and run of each finding, with its columns
  signers   source, capture and run of each signature, with the key_id
"""

import argparse
import glob
import json
import os
import sys

EXAMPLE = """\
  python query.py --table evidence/2026-11 --engine duckdb drift refusals
  python query.py --table evidence/2026-11 --engine duckdb --capture runs/0017.sse --output sample
  p20export verify sample --capture captures"""

QUERIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries")

# VIEWS are the views that queries read, in the SQL of each engine.
VIEWS = {
    "spark": {
        "findings": "SELECT source, capture, run, inline(findings) FROM runs",
        "signers": """SELECT source, capture, run, explode(regexp_extract_all(signature, '"keyid": ?"([^"]*)"', 1)) AS key_id FROM runs""",
    },
    "duckdb": {
        "findings": "SELECT source, capture, run, unnest(findings, recursive := true) FROM runs",
        "signers": """SELECT source, capture, run, unnest(regexp_extract_all(signature, '"keyid": ?"([^"]*)"', 1)) AS key_id FROM runs""",
    },
}


class Spark:
    """Runs queries with Spark."""

    def __init__(self, table):
        import job

        self.spark = job.session("p20export query")
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        self.spark.read.parquet(table).createOrReplaceTempView("runs")
        for name, query in VIEWS["spark"].items():
            self.spark.sql(query).createOrReplaceTempView(name)

    def run(self, query, **values):
        """Returns the rows of a query as objects."""
        return (row.asDict(True) for row in self.spark.sql(query, args=values).toLocalIterator())


class DuckDB:
    """Runs queries with DuckDB, without a server."""

    def __init__(self, table):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.from_parquet(os.path.join(table, "**", "*.parquet"), hive_partitioning=True).create_view("runs")
        for name, query in VIEWS["duckdb"].items():
            self.connection.execute(f"CREATE VIEW {name} AS {query}")

    def run(self, query, **values):
        """Returns the rows of a query as objects."""
        for name in values:
            query = query.replace(":" + name, "$" + name)
        cursor = self.connection.execute(query, values)
        names = [column[0] for column in cursor.description]
        while row := cursor.fetchone():
            yield dict(zip(names, row))


def take(engine, capture, directory):
    """Writes the files of the frozen runs of a capture, as p20export freeze writes them."""
    count = 0
    for row in engine.run("SELECT artifact, envelope, record, signature FROM runs WHERE verdict = 'frozen' AND capture = :capture", capture=capture):
        subjects = json.loads(row["record"])["subject"]
        name = os.path.basename(subjects[0]["name"]).removesuffix(".artifact.json")
        os.makedirs(directory, exist_ok=True)
        for suffix, text in (("artifact.json", row["artifact"]), ("envelope.ndjson", row["envelope"]), ("record.dsse.json", row["signature"]), ("record.json", row["record"])):
            if text is not None:
                with open(os.path.join(directory, f"{name}.{suffix}"), "x", encoding="utf-8", newline="") as file:
                    file.write(text)
        count += 1
    return count


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog="examples:\n" + EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", metavar="PATH", required=True, help="the table that freeze.py wrote")
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark", help="what runs the queries (default: %(default)s)")
    parser.add_argument("--capture", metavar="NAME", help="write the files of the frozen runs of the capture NAME")
    parser.add_argument("-o", "--output", metavar="DIR", help="the directory for the files")
    parser.add_argument("queries", metavar="QUERY", nargs="*", help="the queries: " + ", ".join(sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(QUERIES, "*.sql")))) + ", or files; each result row is a line of JSON")
    args = parser.parse_args(argv)
    if bool(args.capture) != bool(args.output) or bool(args.capture) == bool(args.queries):
        parser.error("give queries, or --capture with --output")
    engine = {"spark": Spark, "duckdb": DuckDB}[args.engine](args.table)
    if args.capture:
        try:
            count = take(engine, args.capture, args.output)
        except OSError as error:
            sys.exit(f"{error.filename}: {error.strerror}")
        if not count:
            sys.exit(f"{args.table} has no frozen run of the capture {args.capture}")
        return 0
    for query in args.queries:
        path = query if query.endswith(".sql") else os.path.join(QUERIES, query + ".sql")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for row in engine.run(text):
            print(json.dumps({"query": os.path.basename(path)[:-4], **row}, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main())
