#!/usr/bin/env bash
# Usage: install.sh DIRECTORY
# Downloads the release P20EXPORT_VERSION of p20export for this machine, checks it, and puts the
# program into DIRECTORY. P20EXPORT_CHECKSUM is the SHA-256 of the file SHA256SUMS of the
# release; without it, the release has to be one of releases.txt. P20EXPORT_DOWNLOADS is the URL
# of another directory with releases. Needs bash, curl, tar or unzip, and sha256sum or shasum.
set -euo pipefail

directory=$1
version=${P20EXPORT_VERSION#v}
downloads=${P20EXPORT_DOWNLOADS:-https://github.com/p20export/p20export/releases/download}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
  echo "install p20export: $*" >&2
  exit 3
}
digest() { { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1"; } | cut -d ' ' -f 1; }
fetch() { curl --proto '=https,http,file' --location --fail --silent --show-error --retry 3 --output "$2" "$1" || die "cannot download $1"; }

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
MINGW* | MSYS* | CYGWIN*) system=windows ;;
*) die "there is no program for $(uname -s); build it with Go: go install github.com/p20export/p20export/cmd/p20export@v$version" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=amd64 ;;
aarch64 | arm64) machine=arm64 ;;
*) die "there is no program for $(uname -m); build it with Go: go install github.com/p20export/p20export/cmd/p20export@v$version" ;;
esac

checksum=${P20EXPORT_CHECKSUM:-$(sed -n "s/^$version //p" "$here/releases.txt")}
[ -n "$checksum" ] || die "releases.txt does not have the checksum of $version; give that of its SHA256SUMS"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fetch "$downloads/v$version/SHA256SUMS" "$scratch/SHA256SUMS"
[ "$(digest "$scratch/SHA256SUMS")" = "$checksum" ] || die "SHA256SUMS of $version has the digest $(digest "$scratch/SHA256SUMS"), and not $checksum"

name=p20export_${version}_${system}_$machine
archive=$name.tar.gz program=p20export
if [ $system = windows ]; then archive=$name.zip program=p20export.exe; fi
expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$scratch/SHA256SUMS")
[ -n "$expected" ] || die "SHA256SUMS of $version does not have $archive"
fetch "$downloads/v$version/$archive" "$scratch/$archive"
[ "$(digest "$scratch/$archive")" = "$expected" ] || die "$archive has the digest $(digest "$scratch/$archive"), and not $expected"

mkdir -p "$directory"
if [ $system = windows ]; then
  unzip -q "$scratch/$archive" "$name/$program" -d "$scratch"
else
  tar -xzf "$scratch/$archive" -C "$scratch" "$name/$program"
fi
mv "$scratch/$name/$program" "$directory/"
"$directory/$program" --version
