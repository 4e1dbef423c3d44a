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
# in each line. P20EXPORT_INPUT, P20EXPORT_BASELINE, P20EXPORT_GOLDEN (a directory) and P20EXPORT_ARGS
# (flags, one in each line, with their values after =) are optional. A response may take five minutes and have 1 GiB, unless
# --timeout and --max-bytes say otherwise. The exit status is that of the command, or 3 if the
# results could not be written.
set -euo pipefail # runs in bash 3.2, too

directory=$1
{ mkdir -p "$(dirname "$directory")" && mkdir "$directory" && : >"$directory/annotations.txt"; } || exit 3

trimmed() { sed -e $'s/\r$//' -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d' <<<"$1"; }
targets=() args=() offline=()
while IFS= read -r line; do if [ -n "$line" ]; then targets+=("$line"); fi; done <<<"$(trimmed "$P20EXPORT_TARGET")"
while IFS= read -r line; do
  if [ -n "$line" ]; then args+=("$line"); fi
  case $line in
  '' | --origin=* | --framing=* | --header=* | --label=* | --timeout=* | --max-bytes=*) ;; # only for a URL
  -*) offline+=("$line") ;;
  *)
    echo "p20export: P20EXPORT_ARGS has one flag in each line, with its value after =" >&2
    exit 2
    ;;
  esac
done <<<"$(trimmed "${P20EXPORT_ARGS:-}")"
if [ ${#targets[@]} = 0 ]; then
  echo "p20export: there is no target" >&2
  exit 2
fi

# What p20export prints can contain text of an endpoint, which must not be read as commands of
# GitHub Actions.
status=0 broken=false
command() { # runs p20export, prints what it prints, and keeps it in a file and its exit status
  local token='' statuses
  if [ "${GITHUB_ACTIONS:-}" = true ]; then token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n'); fi
  if [ -n "$token" ]; then echo "::stop-commands::$token"; fi
  set +e
  p20export "$@" 2>&1 | tee "$directory/verdict.txt"
  statuses=("${PIPESTATUS[@]}")
  set -e
  if [ -n "$token" ]; then echo "::$token::"; fi
  status=${statuses[0]}
  if [ "${statuses[1]}" != 0 ]; then broken=true; fi
}

url=false
case ${targets[0]} in http://* | https://*) if [ ${#targets[@]} = 1 ]; then url=true; fi ;; esac
limits=(--timeout=5m --max-bytes=1073741824)
captures=("${targets[@]}")
case $P20EXPORT_COMMAND in
lint)
  if $url; then
    command lint "${limits[@]}" ${P20EXPORT_INPUT:+--input "$P20EXPORT_INPUT"} -o "$directory/captures/run" ${args[@]+"${args[@]}"} -- "${targets[0]}"
    captures=("$directory/captures")
  else
    command lint ${args[@]+"${args[@]}"} -- "${captures[@]}"
  fi
  again=(lint ${offline[@]+"${offline[@]}"})
  ;;
discover)
  if ! $url; then
    echo "p20export: discover needs one target, which is a URL" >&2
    exit 2
  fi
  command discover "${limits[@]}" ${P20EXPORT_GOLDEN:+--golden "$P20EXPORT_GOLDEN"} -o "$directory/captures" ${args[@]+"${args[@]}"} -- "${targets[0]}"
  captures=("$directory/captures")
  again=(lint)
  ;;
compare)
  again=(compare ${P20EXPORT_BASELINE:+--baseline "$P20EXPORT_BASELINE"} ${P20EXPORT_GOLDEN:+--golden "$P20EXPORT_GOLDEN"} ${args[@]+"${args[@]}"})
  command "${again[@]}" -- "${captures[@]}"
  ;;
*)
  echo "p20export: the command is lint, discover or compare" >&2
  exit 2
  ;;
esac

# The same results in other forms. The captures exist, so no agent is asked again. Exit statuses
# up to 1 say what the verdict says already.
also() { # FILE ARGUMENT...
  local file=$1 code=0
  shift
  p20export "$@" -- "${captures[@]}" >"$file" || code=$?
  if [ $code -gt 1 ]; then broken=true; fi
}
if [ "$status" -le 1 ] || [ -d "$directory/captures" ]; then
  also "$directory/results.ndjson" "${again[@]}" --format json
  also "$directory/findings.sarif" "${again[@]}" --format sarif
  if [ "${again[0]}" = lint ]; then
    also "$directory/annotations.all" "${again[@]}" --format github
    # Runners also know commands in an older form, anywhere in a line.
    { sed 's/##\[/## [/g' "$directory/annotations.all" >"$directory/annotations.txt" && rm "$directory/annotations.all"; } || broken=true
  fi
  also /dev/null report -o "$directory/report.html"
fi
if $broken && [ "$status" -le 1 ]; then
  echo "p20export: the results are not complete" >&2
  status=3
fi

case $status in
0) verdict=passed ;;
1) verdict="did not pass" ;;
*) verdict="could not be completed" ;;
esac
{
  printf '### p20export %s %s\n\n' "$P20EXPORT_COMMAND" "$verdict"
  sed 's/^/    /' "$directory/verdict.txt"
} >"$directory/summary.md" || status=3
exit "$status"
