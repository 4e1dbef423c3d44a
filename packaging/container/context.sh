#!/usr/bin/env bash
# Usage: context.sh DIST DIRECTORY
# Makes the context of the Containerfile from what make dist wrote: the programs of the archives,
# and the certificates of this machine (Debian's package ca-certificates).
set -euo pipefail

dist=$1 directory=$2
mkdir -p "$directory/data"
for archive in "$dist"/p20export_*_linux_*.tar.gz; do
  system=$(basename "$archive" .tar.gz | sed 's/.*_\(linux_.*\)/\1/')
  mkdir "$directory/$system"
  tar -xzf "$archive" -C "$directory/$system" --strip-components 1
done
cp "$directory/$system/LICENSE" "$directory/$system/THIRD-PARTY-NOTICES.txt" "$directory/"
cp /etc/ssl/certs/ca-certificates.crt "$directory/"
chmod -R u=rwX,go=rX "$directory"
