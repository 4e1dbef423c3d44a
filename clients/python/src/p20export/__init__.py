"""The program p20export: its commands as functions, and their rows as objects."""

from . import _commands
from ._commands import *
from ._program import CommandError, Row, binary, rows, run

__all__ = ["CommandError", "Row", "__version__", "binary", "rows", "run"]
__all__ += _commands.__all__

__version__ = "@VERSION@"
