#!/usr/bin/env bash
# Usage: install.sh DIRECTORY
# Downloads the release P20EXPORT_VERSION of p20export for this machine, checks it, and puts the
# program into DIRECTORY. P20EXPORT_CHECKSUM is the SHA-256 of the file SHA256SUMS of the
# release; without it, the release has to be one of releases.txt. P20EXPORT_DOWNLOADS is the URL
# of another directory with releases. Needs bash, curl, tar or unzip, and sha256sum or shasum.
set -euo pipefail # runs in bash 3.2, too

directory=$1
version=${P20EXPORT_VERSION#v}
downloads=${P20EXPORT_DOWNLOADS:-https://github.com/p20export/p20export/releases/download}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
  echo "install p20export: $*" >&2
  exit 3
}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || die "the version is not one such as 0.2.0"
if command -v sha256sum >/dev/null; then
  digest() { sha256sum "$1" | cut -d ' ' -f 1; }
else
  command -v shasum >/dev/null || die "there is neither sha256sum nor shasum"
  digest() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
fi

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

checksum=$(tr A-F a-f <<<"${P20EXPORT_CHECKSUM:-$(sed -n "s/^$version //p" "$here/releases.txt")}")
[ -n "$checksum" ] || die "releases.txt does not have the checksum of $version; give that of its SHA256SUMS"
[[ $checksum =~ ^[0-9a-f]{64}$ ]] || die "the checksum is not a SHA-256 in hexadecimal"

scratch=$(mktemp -d) loading=
new=$directory/.p20export.$$
cleanup() {
  if [ -n "$loading" ]; then kill "$loading" 2>/dev/null || true; fi
  rm -rf "$scratch" "$new"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fetch() { # FILE MEBIBYTES
  (
    ulimit -f $(($2 * 1024))
    exec curl --globoff --proto '=https,http,file' --location --fail --silent --show-error --retry 3 \
      --connect-timeout 20 --max-time 600 --output "$scratch/$1" "$downloads/v$version/$1"
  ) &
  loading=$!
  wait "$loading" || die "cannot download $1 of $version, which may have $2 MiB"
  loading=
}
fetch SHA256SUMS 1
got=$(digest "$scratch/SHA256SUMS")
[ "$got" = "$checksum" ] || die "SHA256SUMS of $version has the digest $got, and not $checksum"

name=p20export_${version}_${system}_$machine
archive=$name.tar.gz program=p20export
if [ $system = windows ]; then archive=$name.zip program=p20export.exe; fi
expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$scratch/SHA256SUMS")
[ -n "$expected" ] || die "SHA256SUMS of $version does not have $archive"
fetch "$archive" 256
got=$(digest "$scratch/$archive")
[ "$got" = "$expected" ] || die "$archive has the digest $got, and not $expected"

if [ $system = windows ]; then
  unzip -q "$scratch/$archive" "$name/$program" -d "$scratch"
else
  tar -xzf "$scratch/$archive" -C "$scratch" "$name/$program"
fi || die "cannot extract the program from $archive"
# The program gets its name when it is whole and runs.
mkdir -p "$directory" && cp "$scratch/$name/$program" "$new" && chmod 755 "$new" && "$new" --version && mv -f "$new" "$directory/$program" ||
  die "cannot put the program into $directory"
