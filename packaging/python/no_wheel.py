"""The build backend of the source distribution: it says what is needed instead."""

import platform
import sys
import sysconfig

_VERSION = "@VERSION@"


def _refuse(*_args, **_options):
    sys.exit(
        f"p20export {_VERSION} has no wheel for {platform.system()} ({sysconfig.get_platform()}).\n"
        "There are wheels for Linux, macOS 12 and Windows, each on x86-64 and ARM64; pip older than\n"
        "20.3 does not find them (python -m pip install --upgrade pip). Elsewhere, build the program\n"
        "with Go 1.26 or newer, which needs no Python:\n\n"
        f"  go install github.com/p20export/p20export/cmd/p20export@v{_VERSION}\n"
    )


get_requires_for_build_wheel = get_requires_for_build_editable = prepare_metadata_for_build_wheel = build_wheel = build_editable = build_sdist = _refuse
