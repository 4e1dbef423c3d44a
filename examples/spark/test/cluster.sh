#!/usr/bin/env bash
# Runs a command with a Spark cluster: a master and two workers, which are processes of their own.
#
#   cluster.sh with COMMAND...   runs a command with a cluster that is removed afterwards
#   cluster.sh processes N       prints the number and the name of each process of worker N (1, 2)
#   cluster.sh kill N            kills all of them at once, as if the machine had failed
#
# PYSPARK_PYTHON must be a Python that has pyspark. "with" sets
#
#   SPARK_MASTER         the URL for the --master option of spark-submit
#   SPARK_MASTER_JSON    the URL of the master's view of workers and applications, as JSON
#   SPARK_CLUSTER        the directory of the cluster: the log of each process, and in worker-N/work
#                        the directories of that worker's executors
#   SPARK_LOCAL_IP       127.0.0.1, so that a driver too is reached only from this machine
#   SPARK_LOCAL_DIRS     a directory for the temporary files of drivers
#   SPARK_CONF_DIR       a directory with spark-defaults.conf, which every Spark program reads; it
#                        begins with the one of an outer SPARK_CONF_DIR
#
# and removes the cluster even if the command fails or is interrupted. Each worker has one core
# and SPARK_CLUSTER_MEMORY of memory for executors (2g). "processes" and "kill" are for the
# command.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../../internal/testkit/with.sh"

fail() {
	echo "cluster.sh: $1" >&2
	exit 1
}

# daemon starts a class of Spark in a session of its own, which its executors, their Python
# processes and the programs that these run belong to as well.
daemon() {
	local name=$1
	shift
	mkdir "$cluster/$name" "$cluster/$name/tmp"
	SPARK_HOME=$home SPARK_DAEMON_MEMORY=256m \
		SPARK_DAEMON_JAVA_OPTS="-Djava.io.tmpdir=$cluster/$name/tmp -XX:-UsePerfData" \
		SPARK_LOCAL_DIRS=$cluster/$name/local TMPDIR=$cluster/$name/tmp \
		setsid "$home/bin/spark-class" "$@" >"$cluster/$name.log" 2>&1 </dev/null &
	echo $! >"$cluster/$name.pid"
	disown
}

# started waits until a pattern is in the log of a daemon and prints what its group matches.
started() {
	local match
	until match=$(grep -oEm 1 "$2" "$cluster/$1.log"); do
		running "$1"
		sleep 0.05
	done
	echo "${match##* }"
}

# running fails if a daemon has ended, or if the cluster needs more than two minutes to start.
running() {
	local pid
	pid=$(cat "$cluster/$1.pid")
	if ! kill -0 "$pid" 2>/dev/null || [ "$SECONDS" -gt 120 ]; then
		tail -n 20 "$cluster/$1.log" >&2
		fail "the $1 did not start"
	fi
}

# processes prints the processes of the session of a daemon. One that has ended and that nobody
# waited for is not one of them.
processes() {
	{ ps -o stat=,pid=,comm= -s "$(cat "$1.pid")" || true; } | sed -nE 's/^[^Z]\S* +//p'
}

# kill_all kills the processes of a daemon, and waits until they are gone. The daemon and its
# executors are paused first, so that they start no others.
kill_all() {
	local signal pids
	for signal in STOP STOP KILL; do
		pids=$(processes "$1" | awk '{print $1}')
		# shellcheck disable=SC2086
		[ -z "$pids" ] || kill "-$signal" $pids 2>/dev/null || true
	done
	while [ -n "$(processes "$1")" ]; do sleep 0.01; done
}

remove() {
	local pid
	for pid in "$cluster"/*.pid; do
		[ ! -f "$pid" ] || kill_all "${pid%.pid}"
	done
	rm -rf "$cluster"
}

# alive prints the number of workers that the master can use.
alive() {
	"$PYSPARK_PYTHON" -c 'import json, sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(json.load(opener.open(sys.argv[1]))["aliveworkers"])' "$SPARK_MASTER_JSON"
}

# start starts the cluster. Every port is a free one that the process chose itself.
start() {
	local n page
	mkdir "$cluster/conf" "$cluster/driver" "$cluster/executors"
	if [ -f "${SPARK_CONF_DIR-}/spark-defaults.conf" ]; then
		cat "$SPARK_CONF_DIR/spark-defaults.conf"
	fi >"$cluster/conf/spark-defaults.conf"
	cat >>"$cluster/conf/spark-defaults.conf" <<-END
		spark.master.rest.enabled false
		spark.driver.extraJavaOptions -Djava.io.tmpdir=$cluster/driver
		spark.executor.extraJavaOptions -Djava.io.tmpdir=$cluster/executors
	END
	export SPARK_CONF_DIR=$cluster/conf SPARK_LOCAL_IP=127.0.0.1
	daemon master org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0
	SPARK_MASTER=$(started master 'Starting Spark master at spark://127\.0\.0\.1:[0-9]+')
	page=$(started master 'MasterWebUI.* http://[^:]+:[0-9]+')
	SPARK_MASTER_JSON=http://127.0.0.1:${page##*:}/json/
	for n in 1 2; do
		daemon "worker-$n" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --port 0 --webui-port 0 \
			--cores 1 --memory "${SPARK_CLUSTER_MEMORY:-2g}" --work-dir "$cluster/worker-$n/work" "$SPARK_MASTER"
	done
	until [ "$(alive)" = 2 ]; do
		for n in 1 2; do running "worker-$n"; done
		sleep 0.05
	done
}

with() {
	[ -n "${PYSPARK_PYTHON-}" ] || fail "PYSPARK_PYTHON must be a Python that has pyspark"
	home=$("$PYSPARK_PYTHON" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))') ||
		fail "$PYSPARK_PYTHON has no pyspark"
	cluster=$(mktemp -d "${TMPDIR:-/tmp}/p20export-spark.XXXXXX")
	remove_at_exit remove
	start
	export SPARK_MASTER SPARK_MASTER_JSON SPARK_CLUSTER=$cluster SPARK_LOCAL_DIRS=$cluster/driver
	run_command "$@"
}

case ${1-} in
with)
	[ $# -gt 1 ] || fail "usage: cluster.sh with COMMAND..."
	shift
	with "$@"
	;;
processes | kill)
	[ $# = 2 ] || fail "usage: cluster.sh $1 N"
	[ -f "${SPARK_CLUSTER-}/worker-$2.pid" ] || fail "there is no worker $2 in SPARK_CLUSTER"
	case $1 in kill) kill_all "$SPARK_CLUSTER/worker-$2" ;; *) processes "$SPARK_CLUSTER/worker-$2" ;; esac
	;;
*) fail "usage: cluster.sh with COMMAND... | processes N | kill N" ;;
esac
