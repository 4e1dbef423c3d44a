#!/usr/bin/env bash
# Prints the path of nginx, for benchmarks and tests:  nginx.sh
# One on the PATH is taken; else Debian's package is unpacked into the user's cache. It is not
# installed, because that would start a web server on port 80.
set -euo pipefail

command -v nginx && exit
[ -x /usr/sbin/nginx ] && echo /usr/sbin/nginx && exit
cache=${XDG_CACHE_HOME:-$HOME/.cache}/p20export/nginx
mkdir -p "$cache"
cd "$cache"
program=$PWD/usr/sbin/nginx
if ! [ -x "$program" ]; then
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		echo "nginx.sh: nginx is needed on the PATH; install it and run again" >&2
		exit 1
	fi
	echo "unpacking Debian's nginx; once" >&2
	as_root=()
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	if ! { apt-get download -qq nginx || { ${as_root[@]+"${as_root[@]}"} apt-get update -qq && apt-get download -qq nginx; }; } >&2; then
		echo "nginx.sh: Debian's nginx could not be downloaded; put nginx on the PATH and run again" >&2
		exit 1
	fi
	dpkg-deb -x nginx_*.deb .
fi
"$program" -v 2>/dev/null || {
	echo "nginx.sh: $program does not run; install nginx and run again" >&2
	exit 1
}
echo "$program"
