#!/usr/bin/env bash
# Prints a directory of the user's cache that has copies of files, in which a command has run:
#
#   cached.sh NAME FILE... -- COMMAND...
#
# The directory belongs to the content of the files and to the command, so that only the first
# call runs it, in whichever clone. It is made under another name, so a command that fails or
# is interrupted leaves nothing that looks complete.
set -euo pipefail

name=$1
shift
files=()
while [ "$1" != -- ]; do
	files+=("$1")
	shift
done
shift
sum() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }
key=$({ echo "$*"; cat "${files[@]}"; } | sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/p20export
made=$cache/$name-$key
if ! [ -d "$made" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$made.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	cp "${files[@]}" "$work"
	echo "installing $name; once" >&2
	(cd "$work" && "$@") >&2
	chmod 755 "$work"
	[ -d "$made" ] || mv "$work" "$made" # another call can have been faster
fi
echo "$made"
