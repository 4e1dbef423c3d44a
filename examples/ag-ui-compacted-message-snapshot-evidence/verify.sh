#!/bin/sh
# Verifies the Assay files of this lane with Assay.
#
#   verify.sh                   uses the Assay command line in PATH (6.21.0)
#   verify.sh VERIFIER [ARG]... uses a command whose last argument is the bundle
#
# Each file is made again from frozen/ and must be the same. Lines are verified in a
# bundle that contains only them. Verifying checks the integrity of a bundle; it does
# not interpret the content of its events.
set -eu
P20EXPORT=${P20EXPORT:-p20export}
case $P20EXPORT in
/*) ;;
*/*) P20EXPORT=$PWD/$P20EXPORT ;;
esac
case ${1-} in
/*) ;;
*/*)
	verifier=$PWD/$1
	shift
	set -- "$verifier" "$@"
	;;
esac
cd "$(dirname "$0")"
TIME=2026-11-21T12:00:00Z
command -v "$P20EXPORT" >/dev/null || { echo "verify.sh: p20export is not in PATH; set P20EXPORT to the program" >&2; exit 2; }
full=
if [ $# -eq 0 ]; then
	command -v assay >/dev/null || { echo "verify.sh: assay is not in PATH; make assay-cli builds it and prints its path, or name another verifier" >&2; exit 2; }
	full=yes
	echo "with $(assay --version)"
	set -- assay evidence verify
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# same MADE COMMITTED
same() {
	cmp "$1" "$2" || { echo "verify.sh: $2 differs from the output of p20export for frozen/" >&2; exit 1; }
}

# lines FILE ARTIFACT [FLAG]...
lines() {
	file=$1
	artifact=$2
	shift 2
	"$P20EXPORT" assay "$artifact" --bundle "$scratch/one.tar.gz" --import-time "$TIME" --as-sample "$@" >/dev/null
	tar -xzOf "$scratch/one.tar.gz" events.ndjson >"$scratch/lines"
	same "$scratch/lines" "$file"
}

for file in assay/*.assay.ndjson; do
	lines "$file" "frozen/$(basename "$file" .assay.ndjson).artifact.json"
	"$@" "$scratch/one.tar.gz"
	echo "verified  $file"
	rm "$scratch/one.tar.gz"
done
for file in assay/*.receipt.ndjson; do
	lines "$file" "frozen/$(basename "$file" .receipt.ndjson).artifact.json" --receipt
	"$@" "$scratch/one.tar.gz"
	echo "verified  $file"
	rm "$scratch/one.tar.gz"
done
"$P20EXPORT" assay frozen/finished.artifact.json frozen/multi-turn.artifact.json frozen/failed.artifact.json \
	frozen/with-parent.artifact.json frozen/snapshot-then-error.artifact.json \
	--receipt --bundle "$scratch/receipts.tar.gz" --assay-run-id sample --import-time "$TIME" --as-sample >/dev/null
same "$scratch/receipts.tar.gz" assay/receipts.tar.gz
"$@" assay/receipts.tar.gz
echo "verified  assay/receipts.tar.gz"
if [ -n "$full" ]; then
	assay evidence lint assay/receipts.tar.gz --pack assay/pack.yaml --fail-on info
	assay trust-basis generate assay/receipts.tar.gz >"$scratch/trust-basis.json"
	assay trust-basis assert --input "$scratch/trust-basis.json" --require bundle_verified=verified
fi
