"""The conformance vectors of p20export, their runner, and a reference validator.

python -m p20export_vectors run --command 'CMD {kind} {profile} {file}'  tests a validator
python -m p20export_vectors validate FILE                               is the reference
"""

from pathlib import Path

__version__ = "@VECTORS@"

#: The directory of the vectors: a directory for each rule, with a JSON file for each vector.
cases = Path(__file__).parent / "cases"
