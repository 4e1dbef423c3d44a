#!/usr/bin/env bash
# Runs a command with a server that speaks S3, and with Spark's S3A connector for it.
#
#   s3.sh with COMMAND...   runs a command with a server that is removed afterwards
#
# P20EXPORT_MOTO must be a Python that has moto[s3] and flask, and P20EXPORT_S3A the directory of the
# connector's jars (s3a/pom.xml). "with" sets
#
#   P20EXPORT_S3          the URL of the server
#   P20EXPORT_S3_BUCKET   the name of an empty bucket
#   SPARK_CONF_DIR        a directory with spark-defaults.conf, which every Spark program reads; it
#                         begins with the one of an outer SPARK_CONF_DIR
#   SPARK_LOCAL_IP        127.0.0.1, so that a driver too is reached only from this machine
#
# so that Spark programs can use s3a://BUCKET/..., and removes the server even if the command
# fails or is interrupted. "cluster.sh with" may be the command, for a cluster that uses it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../../internal/testkit/with.sh"

fail() {
	echo "s3.sh: $1" >&2
	exit 1
}

remove() {
	kill -KILL "$server" 2>/dev/null || true
	rm -rf "$dir"
}

# start starts the server on a free port that it chose itself, and creates the bucket.
start() {
	mkdir "$dir/tmp" "$dir/conf"
	(cd "$dir" && TMPDIR=$dir/tmp exec "$P20EXPORT_MOTO" -m moto.server -H 127.0.0.1 -p 0) >"$dir/server.log" 2>&1 </dev/null &
	server=$!
	disown
	until P20EXPORT_S3=$(grep -oEm 1 'http://127\.0\.0\.1:[0-9]+' "$dir/server.log"); do
		if ! kill -0 "$server" 2>/dev/null || [ "$SECONDS" -gt 120 ]; then
			tail -n 20 "$dir/server.log" >&2
			fail "the server did not start"
		fi
		sleep 0.05
	done
	P20EXPORT_S3_BUCKET=captures
	"$P20EXPORT_MOTO" -c 'import sys, urllib.request as r
r.build_opener(r.ProxyHandler({})).open(r.Request(sys.argv[1], method="PUT"))' "$P20EXPORT_S3/$P20EXPORT_S3_BUCKET"
}

# configure writes the configuration. The server accepts any key.
configure() {
	local jars
	jars=$(printf '%s,' "$P20EXPORT_S3A"/*.jar)
	if [ -f "${SPARK_CONF_DIR-}/spark-defaults.conf" ]; then
		cat "$SPARK_CONF_DIR/spark-defaults.conf"
	fi
	cat <<-END
		spark.jars ${jars%,}
		spark.hadoop.fs.s3a.endpoint $P20EXPORT_S3
		spark.hadoop.fs.s3a.endpoint.region us-east-1
		spark.hadoop.fs.s3a.path.style.access true
		spark.hadoop.fs.s3a.aws.credentials.provider org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider
		spark.hadoop.fs.s3a.access.key test
		spark.hadoop.fs.s3a.secret.key test
		spark.hadoop.fs.s3a.buffer.dir $dir/tmp
	END
}

with() {
	[ -n "${P20EXPORT_MOTO-}" ] || fail "P20EXPORT_MOTO must be a Python that has moto[s3] and flask"
	[ -n "$(find "${P20EXPORT_S3A:-/dev/null}" -name 'hadoop-aws-*.jar')" ] || fail "P20EXPORT_S3A must be the directory of the connector's jars"
	dir=$(mktemp -d "${TMPDIR:-/tmp}/p20export-s3.XXXXXX")
	server=
	remove_at_exit remove
	start
	configure >"$dir/conf/spark-defaults.conf"
	export P20EXPORT_S3 P20EXPORT_S3_BUCKET SPARK_CONF_DIR=$dir/conf SPARK_LOCAL_IP=127.0.0.1
	run_command "$@"
}

[ "${1-}" = with ] && [ $# -gt 1 ] || fail "usage: s3.sh with COMMAND..."
shift
with "$@"
