#!/usr/bin/env bash
# Prints the path of a Chromium for the browser tests:  chromium.sh
# One on the PATH is taken; else Debian's package is installed.
set -euo pipefail

find_chromium() {
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		command -v "$name" && return
	done
	return 1
}

find_chromium && exit
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
if ! command -v apt-get >/dev/null || { [ "${#as_root[@]}" = 1 ] && ! command -v sudo >/dev/null; }; then
	echo "chromium.sh: the browser tests need Chromium or Chrome on the PATH; install one and run again" >&2
	exit 1
fi
echo "installing Debian's chromium; once" >&2
{
	${as_root[@]+"${as_root[@]}"} apt-get update -qq
	${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
} >&2 || {
	echo "chromium.sh: Chromium could not be installed; put one on the PATH and run again" >&2
	exit 1
}
find_chromium
