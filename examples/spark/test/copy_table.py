"""Copies a Parquet table with Spark: copy_table.py FROM TO."""

import sys

from pyspark.sql import SparkSession

SparkSession.builder.getOrCreate().read.parquet(sys.argv[1]).write.parquet(sys.argv[2])
