#!/usr/bin/env bash
# Prints a directory with a minimal Debian 12, made by debootstrap, once:  root.sh PACKAGE...
# It has Debian's packages of priority required, apt, and those that are named. Needs root.
set -euo pipefail

packages=$(IFS=,; echo "$*")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/p20export
root=$cache/root-bookworm-$(echo "${packages:-base}" | tr , -)
if ! [ -d "$root" ]; then
	[ "$(id -u)" = 0 ] || { echo "root.sh: debootstrap needs root" >&2; exit 1; }
	mkdir -p "$cache"
	work=$(mktemp -d "$root.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	echo "making a Debian with ${packages:-nothing}; once" >&2
	if [ -n "$packages" ]; then # debootstrap itself cannot configure packages such as npm
		base=$("$0")
		cp -a "$base/." "$work"
		cp /etc/resolv.conf "$work/etc/"
		unshare --mount bash -ec 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; root=$1; shift
			exec chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -ec "apt-get update -qq; apt-get install -y -qq --no-install-recommends $*"' bash "$work" "$@" >"$work.log" 2>&1 ||
			{ tail -20 "$work.log" >&2; exit 1; }
	else
		mirror=$(sed -n 's/^deb \(\[[^]]*\] \)\?\(http[^ ]*\) .*/\2/p; s/^URIs: //p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1 || true)
		debootstrap --variant=minbase bookworm "$work" "${mirror:-http://deb.debian.org/debian}" >"$work.log" 2>&1 || { tail -20 "$work.log" >&2; exit 1; }
	fi
	rm -rf "$work.log" "$work"/var/cache/apt/archives/*.deb
	chmod 755 "$work"
	[ -d "$root" ] || mv "$work" "$root"
fi
echo "$root"
