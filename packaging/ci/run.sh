#!/usr/bin/env bash
# Usage: run.sh DIRECTORY
# Runs a command of p20export for CI and leaves its results in DIRECTORY, which must not exist:
#
#   captures/         what an endpoint answered
#   verdict.txt       what the command printed
#   results.ndjson    the same, as JSON rows
#   findings.sarif    the findings, for code scanning
#   annotations.txt   the findings, as annotations of GitHub Actions
#   report.html       a page to look at
#   summary.md        the verdict, for people
#
# P20EXPORT_COMMAND is lint, discover or compare, P20EXPORT_TARGET a URL, or paths of captures, one
# in each line. P20EXPORT_INPUT, P20EXPORT_BASELINE and P20EXPORT_ARGS are optional. The exit status
# is that of the command.
set -euo pipefail

directory=$1
mkdir -p "$(dirname "$directory")"
mkdir "$directory"
: >"$directory/annotations.txt"

lines() { # into the array named first, the lines of the text
  local -n into=$1
  into=()
  while IFS= read -r line; do
    line=${line%$'\r'}
    if [ -n "$line" ]; then into+=("$line"); fi
  done <<<"$2"
}
lines targets "$P20EXPORT_TARGET"
lines args "${P20EXPORT_ARGS:-}"

status=0
command() { # runs p20export, prints what it prints, and keeps it in a file and its exit status
  p20export "$@" 2>&1 | tee "$directory/verdict.txt" || status=$?
}

url=false
if [ ${#targets[@]} = 1 ] && [[ ${targets[0]} =~ ^https?:// ]]; then url=true; fi
captures=("${targets[@]}")
case $P20EXPORT_COMMAND in
lint)
  if $url; then
    command lint "${targets[0]}" ${P20EXPORT_INPUT:+--input "$P20EXPORT_INPUT"} -o "$directory/captures/run" "${args[@]}"
    captures=("$directory/captures")
  else
    command lint "${captures[@]}" "${args[@]}"
  fi
  again=(lint "${captures[@]}" "${args[@]}")
  ;;
discover)
  if ! $url; then
    echo "p20export: discover needs a URL, and not ${P20EXPORT_TARGET}" >&2
    exit 2
  fi
  command discover "${targets[0]}" -o "$directory/captures" "${args[@]}"
  captures=("$directory/captures")
  again=(lint "${captures[@]}")
  ;;
compare)
  command compare "${captures[@]}" ${P20EXPORT_BASELINE:+--baseline "$P20EXPORT_BASELINE"} "${args[@]}"
  again=(compare "${captures[@]}" ${P20EXPORT_BASELINE:+--baseline "$P20EXPORT_BASELINE"} "${args[@]}")
  ;;
*)
  echo "p20export: the command is lint, discover or compare, and not ${P20EXPORT_COMMAND}" >&2
  exit 2
  ;;
esac

# The same results in other forms. The captures exist, so no agent is asked again. Exit statuses
# up to 1 say what the verdict says already.
also() { # FILE ARGUMENT...
  local file=$1 code=0
  shift
  p20export "$@" >"$file" || code=$?
  [ $code -le 1 ]
}
if [ $status -le 1 ] || [ -d "$directory/captures" ]; then
  also "$directory/results.ndjson" "${again[@]}" --format json
  also "$directory/findings.sarif" "${again[@]}" --format sarif
  if [ "${again[0]}" = lint ]; then also "$directory/annotations.txt" "${again[@]}" --format github; fi
  also /dev/null report "${captures[@]}" -o "$directory/report.html"
fi

case $status in
0) verdict=passed ;;
1) verdict="did not pass" ;;
*) verdict="could not be completed" ;;
esac
{
  printf '### p20export %s %s\n\n' "$P20EXPORT_COMMAND" "$verdict"
  sed 's/^/    /' "$directory/verdict.txt"
} >"$directory/summary.md"
exit $status
