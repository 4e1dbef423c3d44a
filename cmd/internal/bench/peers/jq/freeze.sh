#!/usr/bin/env bash
# Freezes captures of one run each with jq, as the program does under emitted-snapshot:
#   freeze.sh JQ STARTED_AT CAPTURE...
# Each capture becomes one line of JSON. The exit status is 1 if a capture was refused. Events whose data have several lines are not read.
set -euo pipefail
jq=$1 started_at=$2
shift 2
here=$(dirname "${BASH_SOURCE[0]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

for capture; do
	sha256sum <"$capture" >"$work/digest" &
	if sed -n 's/\r$//; s/^data: \{0,1\}//p' <"$capture" | "$jq" -n --arg started_at "$started_at" -f "$here/freeze.jq" >"$work/result" 2>"$work/errors"; then
		"$jq" --indent 2 .artifact "$work/result" >"$work/artifact"
		wait
		"$jq" -nc --arg capture "$capture" --arg digest "$(cut -c1-64 "$work/digest")" --arg artifact "$(sha256sum <"$work/artifact" | cut -c1-64)" --slurpfile result "$work/result" \
			'{capture: $capture, verdict: "frozen", events: $result[0].events, capture_digest: "sha256:\($digest)", artifact_digest: "sha256:\($artifact)"}'
	else
		wait
		"$jq" -nc --arg capture "$capture" --arg reason "$(tail -c 200 "$work/errors")" '{capture: $capture, verdict: "refused", reason: $reason}'
		status=1
	fi
done
exit $status
