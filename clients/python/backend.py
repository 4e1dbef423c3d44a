"""The build backend: compiles the program with Go, and puts it into a wheel with the module.

In a clone, it compiles the program there. In a source distribution, it installs the release
of the same version with go install.
"""

import base64
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

_VERSION = "@VERSION@"
_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent
_NAME = "p20export.exe" if sys.platform == "win32" else "p20export"


def _refuse():
    sys.exit(
        f"p20export {_VERSION} has no wheel for {platform.system()} ({sysconfig.get_platform()}).\n"
        "There are wheels for Linux, macOS 12 and Windows, each on x86-64 and ARM64; pip older than\n"
        "20.3 does not find them (python -m pip install --upgrade pip). Elsewhere, install Go 1.26 or\n"
        "newer and try again, or install only the program, which needs no Python:\n\n"
        f"  go install github.com/p20export/p20export/cmd/p20export@v{_VERSION}\n"
    )


def _compile(directory):
    package, source = f"github.com/p20export/p20export/cmd/p20export@v{_VERSION}", directory
    if (_ROOT / "cmd" / "p20export").is_dir():
        package, source = "./cmd/p20export", _ROOT
    go = shutil.which("go")
    command = [go, "install", "-trimpath", "-ldflags=-s -w", package]
    if go is None or subprocess.run(command, cwd=source, env={**os.environ, "GOBIN": directory}).returncode != 0:
        _refuse()
    return Path(directory, _NAME).read_bytes(), json.loads(subprocess.check_output([Path(directory, _NAME), "version", "--format", "json"]))["version"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as directory:
        program, version = _compile(directory)
    tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"p20export-{version}.dist-info/"
    page = (_HERE / "METADATA").read_text("utf-8") + (_HERE / "README.md").read_text("utf-8")
    files = {f"p20export/{f.name}": f.read_bytes().replace(b"@VERSION@", version.encode()) for f in sorted((_HERE / "src" / "p20export").iterdir()) if f.is_file()}
    files[f"p20export-{version}.data/scripts/{_NAME}"] = program
    for name in ["LICENSE", "THIRD-PARTY-NOTICES.txt"]:
        found = [d / name for d in (_HERE, _ROOT) if (d / name).is_file()]
        if found:
            files[info + "licenses/" + name] = found[0].read_bytes()
        else:  # only a release has the notices
            page = page.replace(f"License-File: {name}\n", "")
    files[info + "METADATA"] = page.replace("@VERSION@", version).encode()
    files[info + "WHEEL"] = f"Wheel-Version: 1.0\nGenerator: p20export\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[info + "entry_points.txt"] = (_HERE / "entry_points.txt").read_bytes()
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=") for name, data in files.items()}
    record = "".join(f"{name},sha256={digests[name]},{len(data)}\n" for name, data in files.items())
    files[info + "RECORD"] = f"{record}{info}RECORD,,\n".encode()
    name = f"p20export-{version}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100755 if data is program else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("make dist builds the source distribution; to build a wheel from a clone, use: python -m build --wheel")
