"""Prints what ag-ui-validate finds: for each stream of the input, which is a line with a list of the JSON texts of its events, a line with the sorted rules."""

import json
import sys

from ag_ui_validate import create_validator

for line in sys.stdin:
    validator = create_validator()
    found = set()
    for text in json.loads(line):
        found.update(each.rule for each in validator.feed(json.loads(text)))
    found.update(each.rule for each in validator.finalize())
    print(json.dumps(sorted(found)), flush=True)
