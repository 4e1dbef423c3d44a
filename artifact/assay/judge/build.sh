#!/usr/bin/env bash
# Builds the judge and prints the path of its binary:  build.sh [--release]
# The binary is kept in the user's cache under a hash of its inputs, so that only
# the first call builds it.
set -euo pipefail

profile=dev folder=debug
case "$*" in
"") ;;
--release) profile=release folder=release ;;
*) echo "usage: build.sh [--release]" >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")"
command -v cargo >/dev/null && command -v rustc >/dev/null || {
	echo "build.sh: cargo and rustc 1.89 or newer are needed for the judge: https://rustup.rs" >&2
	exit 1
}
sum() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }
key=$({ cat Cargo.toml Cargo.lock src/main.rs build.sh; rustc -vV; echo "$profile"; } | sum | cut -c1-64)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/p20export/judge
binary=$cache/$key/p20export-judge

if [ ! -x "$binary" ]; then
	mkdir -p "$cache/$key"
	# A separate folder, so that concurrent builds do not conflict. The traps
	# remove it.
	work=$(mktemp -d "$cache/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	echo "building the judge of Assay bundles once; this takes about two minutes" >&2
	SECONDS=0
	cargo build --quiet --locked --profile "$profile" --target-dir "$work" >&2
	mv -f "$work/$folder/p20export-judge" "$binary"
	echo "built the judge in $SECONDS s" >&2
fi
echo "$binary"
