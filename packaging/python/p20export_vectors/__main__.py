"""Runs the runner or the reference."""

import runpy
import sys
from pathlib import Path

import p20export_vectors

PROGRAMS = {"run": "run.py", "validate": "reference/validate.py", "project": "reference/project.py"}

if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
    print(p20export_vectors.__doc__.strip(), file=sys.stderr)
    sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
program = Path(__file__).parent / PROGRAMS[sys.argv[1]]
sys.path.insert(0, str(program.parent))
sys.argv[:2] = [str(program)]
runpy.run_path(str(program), run_name="__main__")
