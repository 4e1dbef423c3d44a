"""Counts every figure of discovery/GATE.md again from the committed captures and compares.

It shares no code with the program that generates the page. It follows the definitions on the
page, docs/projections.md and docs/contract.md. It also reports numbers on the page that it
does not compare. The exit status is 1 if there is any disagreement.
"""

import argparse
import sys
from pathlib import Path

from capture import Unexpected
from counts import Counts
from figures import DISCOVERY
from page import Page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", type=Path, default=DISCOVERY / "GATE.md", help="default: discovery/GATE.md")
    page = Page(parser.parse_args().page.read_text(encoding="utf-8"))
    try:
        page.check(Counts().checks())
    except Unexpected as error:
        print(error, file=sys.stderr)
        return 1
    for section in page.sections:
        if page.agree[section]:
            print(f"{section}: {page.agree[section]} agree")
    wrong = page.wrong + page.unchecked()
    for message in wrong:
        print(message, file=sys.stderr)
    if not wrong:
        print(f"all {page.agree.total()} figures agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
