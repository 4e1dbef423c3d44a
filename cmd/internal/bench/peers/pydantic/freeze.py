"""Freezes captures, reading events with the models of ag-ui-protocol, which use pydantic.

    python pydantic/freeze.py [--jobs N] [--texts] [--started-at TIME] CAPTURE... | --list FILE
"""

import json
import os
import sys

from ag_ui.core import Event
from pydantic import TypeAdapter

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import checks  # noqa: E402


class Reader:
    read = staticmethod(TypeAdapter(Event).validate_json)

    @staticmethod
    def kind_of(event):
        return event.type

    @staticmethod
    def members(event):
        return event.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @staticmethod
    def dump(result):
        return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()

    @staticmethod
    def write(artifact):
        return json.dumps(artifact, ensure_ascii=False, indent=2).encode() + b"\n"


if __name__ == "__main__":
    checks.main(Reader)
