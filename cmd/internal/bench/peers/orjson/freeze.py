"""Freezes captures, reading events with orjson.

    python orjson/freeze.py [--jobs N] [--texts] [--started-at TIME] CAPTURE... | --list FILE
"""

import os
import sys

import orjson

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import checks  # noqa: E402


class Reader:
    read = staticmethod(orjson.loads)
    dump = staticmethod(orjson.dumps)

    @staticmethod
    def kind_of(event):
        return event["type"]

    @staticmethod
    def members(event):
        return event

    @staticmethod
    def write(artifact):
        return orjson.dumps(artifact, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    checks.main(Reader)
