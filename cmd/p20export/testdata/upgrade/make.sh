#!/usr/bin/env bash
# Writes what TestUpgrade reads with the program of a release:  make.sh PROGRAM
# It runs in the root of the repository, once for each release, when that is tagged.
set -euo pipefail

program=$1
directory=cmd/p20export/testdata/upgrade/v$($program version | sed -n 's/^p20export //p')
mkdir "$directory"
for name in one-turn multi-turn; do
	source=discovery/captures/adk/$name
	[ -d "$source" ] || source=discovery/captures/adk/three-turns-3
	mkdir -p "$directory/captures"
	cp -r "$source" "$directory/captures/$name"
done
cp discovery/captures/adk/one-turn/request.json "$directory/"
$program freeze "$directory/captures" -o "$directory/frozen" >/dev/null
$program compare "$directory/captures" --write-baseline "$directory/baseline.json" >/dev/null
$program assay "$directory/frozen/one-turn.artifact.json" --bundle "$directory/bundle.tar.gz" --import-time 2026-11-28T12:00:00Z >/dev/null
$program log import "$directory/captures/one-turn" --store "sqlite:$directory/threads.db" >/dev/null
$program log export thread-one-turn --store "sqlite:$directory/threads.db" -o "$directory/thread.ndjson" >/dev/null
rm -f "$directory"/threads.db-*
echo '{"rules": {"W20": "off"}}' >"$directory/lint.json"
