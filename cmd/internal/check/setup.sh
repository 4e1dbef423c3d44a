#!/usr/bin/env bash
# Installs the Debian packages of the tools that make check needs and that are missing:  setup.sh
# Packages that would start a server are only unpacked, by scripts of their own. Go, Rust and a
# newer Node.js than Debian's are not installed; make doctor says where they are from.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
missing=$(${GO:-go} run ./cmd/internal/check packages)
# shellcheck disable=SC2086
if [ -n "$missing" ]; then
	command -v apt-get >/dev/null || { echo "setup.sh: there is no apt-get here; install these yourself:" $missing >&2; exit 1; }
	echo "installing" $missing
	${as_root[@]+"${as_root[@]}"} apt-get update -qq
	${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
store/postgres/server.sh programs >/dev/null
internal/testkit/nginx.sh >/dev/null
