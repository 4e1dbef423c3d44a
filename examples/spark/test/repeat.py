"""Repeats the captures of a table under other paths: repeat.py TABLE TIMES OUT."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

table, times, out = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
captures = spark.read.parquet(table)
copies = spark.range(int(times), numPartitions=max(1, int(times) // 2)).withColumnRenamed("id", "copy")
copies.crossJoin(F.broadcast(captures)).withColumn("path", F.concat_ws("/", F.col("copy").cast("string"), "path")).drop("copy").write.parquet(out)
print("{}")
