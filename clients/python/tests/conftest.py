from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def captures() -> Path:
    """The captures in the repository."""
    return Path(os.environ["P20EXPORT_ROOT"], "discovery", "captures")
