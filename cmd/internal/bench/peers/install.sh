#!/usr/bin/env bash
# Prints the path of a program for the benchmarks:  install.sh PROGRAM
# One on the PATH is taken; else Debian's package of that name is installed.
set -euo pipefail

program=$1
command -v "$program" && exit
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
if ! command -v apt-get >/dev/null || { [ "${#as_root[@]}" = 1 ] && ! command -v sudo >/dev/null; }; then
	echo "install.sh: the benchmarks need $program on the PATH; install it and run again" >&2
	exit 1
fi
echo "installing Debian's $program; once" >&2
{
	${as_root[@]+"${as_root[@]}"} apt-get update -qq
	${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$program"
} >&2 || {
	echo "install.sh: $program could not be installed; put it on the PATH and run again" >&2
	exit 1
}
command -v "$program"
