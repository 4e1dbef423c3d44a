"""Runs SQL queries on a table of freeze.py, with Spark or with DuckDB, and takes runs out of it.

A query is a file of the folder queries, named without .sql, or any file with .sql. It reads these
views:

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

    @staticmethod
    def errors():
        """Returns the classes of Spark's errors."""
        import job

        return job.SPARK_ERRORS

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

    @staticmethod
    def errors():
        """Returns the classes of DuckDB's errors."""
        import duckdb

        return duckdb.Error

    def __init__(self, table):
        import duckdb

        if not os.path.exists(os.path.join(table, "_SUCCESS")):
            fail(f"{table} is not a table of freeze.py: it has no _SUCCESS")
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


def take(engine, capture, source, directory):
    """Writes the files of the frozen runs of a capture, as p20export freeze writes them."""
    rows = list(engine.run("SELECT source, artifact, envelope, record, signature FROM runs WHERE verdict = 'frozen' AND capture = :capture", capture=capture))
    if source is not None:
        rows = [row for row in rows if row["source"] == source]
    sources = sorted({row["source"] for row in rows})
    if not rows:
        fail(f"there is no frozen run of the capture {capture}")
    if len(sources) > 1:
        fail(f"{capture} is in {len(sources)} sources; name one with --source: {', '.join(sources)}")
    files = {}
    for row in rows:
        name = os.path.basename(json.loads(row["record"])["subject"][0]["name"]).removesuffix(".artifact.json")
        texts = {"artifact.json": row["artifact"], "envelope.ndjson": row["envelope"], "record.dsse.json": row["signature"], "record.json": row["record"]}
        files.update({os.path.join(directory, f"{name}.{suffix}"): text for suffix, text in texts.items() if text is not None})
    for path in files:
        if os.path.lexists(path):
            fail(f"{path} exists; name another --output, or remove it")
    os.makedirs(directory, exist_ok=True)
    for path, text in files.items():
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)


def fail(message):
    """Ends the program, because what it was asked for cannot be done."""
    print(message, file=sys.stderr)
    sys.exit(2)


def text_of(query):
    """Returns the SQL of a query."""
    path = query if query.endswith(".sql") else os.path.join(QUERIES, query + ".sql")
    if path != query and not os.path.exists(path):
        fail(f"there is no query {query}; there are {', '.join(names())}, and files that end with .sql")
    with open(path, encoding="utf-8") as file:
        return file.read()


def names():
    """Returns the names of the queries."""
    return sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(QUERIES, "*.sql")))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog="examples:\n" + EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", metavar="PATH", required=True, help="the table that freeze.py wrote")
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark", help="what runs the queries (default: %(default)s)")
    parser.add_argument("--capture", metavar="NAME", help="write the files of the frozen runs of the capture NAME")
    parser.add_argument("-o", "--output", metavar="DIR", help="the directory for the files")
    parser.add_argument("--source", metavar="NAME", help="the source of the capture, if several have it")
    parser.add_argument("queries", metavar="QUERY", nargs="*", help=f"the queries: {', '.join(names())}, or files; each row of a result is a line of JSON")
    args = parser.parse_args(argv)
    if bool(args.capture) != bool(args.output) or bool(args.capture) == bool(args.queries):
        parser.error("give queries, or --capture with --output")
    engine = {"spark": Spark, "duckdb": DuckDB}[args.engine]
    errors = engine.errors()
    try:
        queries = {query: text_of(query) for query in args.queries}
        engine = engine(args.table)
        if args.capture:
            take(engine, args.capture, args.source, args.output)
        for query, text in queries.items():
            for row in engine.run(text):
                print(json.dumps({"query": os.path.basename(query).removesuffix(".sql"), **row}, default=str))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    except errors as error:
        fail(f"{args.table} is not a table of freeze.py, or the query is wrong: {str(error).splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
