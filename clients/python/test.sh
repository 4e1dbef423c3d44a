#!/usr/bin/env bash
# Installs the Python package as its users do, and tests what is installed:
#
#   test.sh VENV PACKAGE [PYTEST-ARGUMENT...]
#
# VENV has what requirements.txt lists. PACKAGE is this directory or a wheel.
set -euo pipefail

tools=$(cd "$1" && pwd) package=$(realpath "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tools/bin/python" -m venv "$work/venv"
python=$work/venv/bin/python
"$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation "$package"
cp -r "$here/tests" "$work"
cd "$work"
export P20EXPORT_ROOT=$(cd "$here/../.." && pwd)
"$python" -m mypy --strict --no-error-summary -p p20export
"$python" -m mypy --strict --no-error-summary tests
"$python" -B -m pytest -q -p no:cacheprovider -n 2 "$@" tests
