#!/usr/bin/env bash
# Runs PostgreSQL servers for tests and benchmarks, each in a directory of its own:
#
#   server.sh with COMMAND...   runs a command with a server that is removed afterwards
#   server.sh start DIR         starts the server in DIR and prints its URL and password file
#   server.sh stop DIR          stops it, as an administrator would
#   server.sh kill DIR          kills all its processes at once, as if the machine had failed
#   server.sh limit DIR BYTES   limits the size of the files that it writes ("unlimited": no more)
#   server.sh remove DIR        kills it and removes DIR
#   server.sh programs          prints the directory of PostgreSQL's programs
#
# "with" sets P20EXPORT_POSTGRES to the URL, PGPASSFILE to the password file, and
# P20EXPORT_POSTGRES_SERVERS to a directory in which the command may start further servers.
# These are removed as well, even if the command fails or is interrupted.
#
# "start" creates the server if DIR does not exist, with a Unix socket, a free port of the
# loopback interface and a password. Its parent must be accessible to all users, because
# PostgreSQL refuses to run as root: root's servers run as a user that is created for them.
# Programs on the PATH or installed by Debian are used; otherwise Debian's packages are unpacked
# to a cache. They are not installed, because that would start another server. If
# P20EXPORT_POSTGRES_CACHE names a directory, they are unpacked there and used in any case.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../internal/testkit/with.sh"

user=p20export-postgres

fail() {
	echo "server.sh: $1" >&2
	exit 1
}

# as_user runs a program as the user of the servers.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
	else
		"$@"
	fi
}

create_user() {
	[ "$(id -u)" = 0 ] || return 0
	id "$user" >/dev/null 2>&1 && return
	# Another server.sh can create it at the same time.
	useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$user" >&2 ||
		id "$user" >/dev/null 2>&1 || fail "the user $user could not be created; create it and run again"
}

# programs sets bin to the directory of PostgreSQL's programs.
programs() {
	local initdb cache=/var/cache/p20export/postgresql
	[ "$(id -u)" = 0 ] || cache=${XDG_CACHE_HOME:-$HOME/.cache}/p20export/postgresql
	bin=
	if [ -n "${P20EXPORT_POSTGRES_CACHE-}" ]; then
		cache=$P20EXPORT_POSTGRES_CACHE
	elif initdb=$(command -v initdb); then
		bin=$(dirname "$(readlink -f "$initdb")")
	else
		bin=$(newest /usr)
	fi
	if [ -z "$bin" ]; then
		[ -n "$(newest "$cache/usr")" ] || unpack "$cache"
		bin=$(newest "$cache/usr")
		LD_LIBRARY_PATH=$(dirname "$(find "$cache/usr/lib" -name libpq.so.5)")
		export LD_LIBRARY_PATH
	fi
	"$bin/postgres" --version >/dev/null || fail "$bin/postgres does not run; put PostgreSQL's initdb, postgres and pg_ctl on the PATH and run again"
}

# newest prints the directory of the programs of the newest version below a directory.
newest() {
	find "$1/lib/postgresql" -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1 | sed 's,/initdb$,,'
}

# unpack unpacks Debian's server and the libraries that are not installed.
unpack() {
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		fail "PostgreSQL is needed; put its initdb, postgres and pg_ctl on the PATH and run again"
	fi
	echo "unpacking Debian's PostgreSQL; once" >&2
	local cache=$1 as_root=() package packages
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	mkdir -p "$(dirname "$cache")"
	local part
	part=$(mktemp -d "$cache.XXXXXX")
	chmod 755 "$part"
	if ! apt-cache show postgresql >/dev/null 2>&1; then
		${as_root[@]+"${as_root[@]}"} apt-get update -qq >&2 || true
	fi
	package=$(apt-cache depends postgresql | awk '$1 == "Depends:" && $2 ~ /^postgresql-[0-9]+$/ {print $2; exit}')
	packages=$(apt-get -s install --no-install-recommends "${package:-postgresql}" 2>/dev/null |
		awk '$1 == "Inst" && $2 ~ /^lib/ && $2 !~ /^libllvm|-perl$/ {print $2}')
	(
		cd "$part"
		# shellcheck disable=SC2086
		download() { apt-get download -qq "${package:-postgresql}" libpq5 $packages; }
		download || { ${as_root[@]+"${as_root[@]}"} apt-get update -qq && download; }
		for deb in *.deb; do dpkg-deb -x "$deb" .; done
		rm -- *.deb
	) >&2 || {
		rm -rf "$part"
		fail "Debian's PostgreSQL could not be downloaded; put initdb, postgres and pg_ctl on the PATH and run again"
	}
	# Another server.sh can have been faster.
	mv -T "$part" "$cache" 2>/dev/null || rm -rf "$part"
}

# create makes the database files in a directory.
create() {
	mkdir "$1"
	[ "$(id -u)" != 0 ] || chown "$user:$user" "$1"
	as_user chmod 711 "$1"
	(umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$1.password")
	[ "$(id -u)" != 0 ] || chown "$user:$user" "$1.password"
	(cd "$1" && as_user "$bin/initdb" --pgdata=data --username=p20export --pwfile="$1.password" \
		--auth=scram-sha-256 --encoding=UTF8 --locale=C --no-instructions >initdb.log 2>&1) || {
		cat "$1/initdb.log" >&2
		fail "initdb failed in $1"
	}
	as_user mkdir "$1/socket"
	as_user tee -a "$1/data/postgresql.conf" >/dev/null <<-END
		listen_addresses = '127.0.0.1'
		unix_socket_directories = '$1/socket'
		unix_socket_permissions = 0777
		max_connections = 200
		jit = off
	END
}

# start starts the server in a directory, on the port that it had or another free one.
start() {
	if ! [ -d "$1/data" ]; then
		create "$1"
	fi
	local try port
	for try in 1 2 3 4 5 6 7 8 9 10; do
		if [ "$try" = 1 ] && [ -f "$1/port" ]; then
			port=$(cat "$1/port")
		else
			port=$((20000 + RANDOM % 12000)) # the system gives no such port to clients
		fi
		if (cd "$1" && as_user "$bin/pg_ctl" --pgdata=data --log=server.log --options="-p $port" --wait --timeout=120 --silent start >&2); then
			as_user sh -c "echo $port >'$1/port'"
			# The format is host:port:database:user:password.
			(umask 077 && echo "*:*:*:p20export:$(cat "$1.password")" >"$1.pgpass")
			echo "postgres://p20export@127.0.0.1:$port/postgres"
			echo "$1.pgpass"
			return
		fi
		tail -n 5 "$1/server.log" | grep -q 'could not create any TCP/IP sockets\|could not bind' || break
	done
	tail -n 20 "$1/server.log" >&2
	fail "PostgreSQL did not start in $1"
}

stop() {
	! [ -f "$1/data/postmaster.pid" ] || (cd "$1" && as_user "$bin/pg_ctl" --pgdata=data --mode=fast --wait --timeout=120 --silent stop >&2)
}

# processes prints the numbers of the server and of its processes, or nothing if it does not run.
processes() {
	local server
	server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) || return 0
	case $(ps -o comm= -p "$server") in
	postgres | postmaster) echo "$server" && ps -o pid= --ppid "$server" || true ;;
	esac # otherwise it is dead, and its number belongs to nobody or to another
}

limit() {
	local pid
	for pid in $(processes "$1"); do
		# A process can end in between.
		as_user prlimit --pid "$pid" --fsize="$2": || [ ! -d "/proc/$pid" ] || fail "the limit of process $pid could not be set"
	done
}

# kill_all kills the server and its processes, and waits until they are gone. The server is
# paused first, so that it starts no others. Its lock files are removed, because a next server
# would take a process that nobody waited for as running.
kill_all() {
	local pids pid
	pids=$(processes "$1")
	if [ -n "$pids" ]; then
		kill -STOP "${pids%%[!0-9]*}" 2>/dev/null || true
		pids=$(processes "$1")
		# shellcheck disable=SC2086
		kill -KILL $pids 2>/dev/null || true
		for pid in $pids; do
			while [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.01; done
		done
	fi
	rm -f "$1/data/postmaster.pid" "$1"/socket/.s.PGSQL.*
}

remove() {
	kill_all "$1"
	rm -rf "$1" "$1.password" "$1.pgpass"
}

# with runs a command with a server. The directory is short, because the paths of sockets are
# limited to 107 bytes.
with() {
	servers=$(mktemp -d /tmp/p20export-postgres.XXXXXX)
	chmod 755 "$servers"
	remove_at_exit 'for dir in "$servers"/*/; do [ ! -d "$dir" ] || remove "${dir%/}"; done; rm -rf "$servers"'
	start "$servers/main" >"$servers/started"
	{
		read -r P20EXPORT_POSTGRES
		read -r PGPASSFILE
	} <"$servers/started"
	export P20EXPORT_POSTGRES PGPASSFILE P20EXPORT_POSTGRES_SERVERS=$servers
	run_command "$@"
}

case ${1-} in
with)
	[ $# -gt 1 ] || fail "usage: server.sh with COMMAND..."
	create_user
	programs
	shift
	with "$@"
	;;
limit)
	[ $# = 3 ] || fail "usage: server.sh limit DIR BYTES"
	limit "${2%/}" "$3"
	;;
start | stop | kill | remove)
	[ $# = 2 ] || fail "usage: server.sh $1 DIR"
	case $2 in /*) dir=${2%/} ;; *) dir=$PWD/${2%/} ;; esac
	[ "$1" = start ] || [ -d "$dir" ] || fail "there is no server in $dir"
	if [ "$1" = start ]; then create_user; fi
	case $1 in start | stop) programs ;; esac
	case $1 in kill) kill_all "$dir" ;; *) "$1" "$dir" ;; esac
	;;
programs)
	programs
	echo "$bin"
	;;
*) fail "usage: server.sh with COMMAND... | start DIR | stop DIR | kill DIR | limit DIR BYTES | remove DIR | programs" ;;
esac
