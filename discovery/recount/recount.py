"""Counts every figure of discovery/GATE.md and LINT.md again from the committed captures and compares.

It shares no code with the program that generates the pages. It follows the definitions on the
pages, docs/projections.md, docs/contract.md, docs/lint.md and docs/sequence.md. It also reports
numbers on the pages that it does not compare. The exit status is 1 if there is any disagreement.
"""

import argparse
import sys
from pathlib import Path
from typing import Callable

import linted
from capture import Unexpected
from counts import Counts
from figures import DISCOVERY
from page import Page, Prose, Table


PAGES: dict[str, Callable[[], list[Prose | Table]]] = {
    "GATE.md": lambda: Counts().checks(),
    "LINT.md": linted.checks,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="pages called GATE.md or LINT.md; default: both in discovery")
    paths = parser.parse_args().pages or [DISCOVERY / name for name in PAGES]
    total, wrong = 0, []
    for path in paths:
        if path.name not in PAGES:
            parser.error(f"{path} is not called {' or '.join(PAGES)}")
        page = Page(path.read_text(encoding="utf-8"))
        try:
            page.check(PAGES[path.name]())
        except Unexpected as error:
            print(error, file=sys.stderr)
            return 1
        for section in page.sections:
            if page.agree[section]:
                print(f"{path.name}: {section}: {page.agree[section]} agree")
        total += page.agree.total()
        wrong += [f"{path.name}: {message}" for message in page.wrong + page.unchecked()]
    for message in wrong:
        print(message, file=sys.stderr)
    if not wrong:
        print(f"all {total} figures agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
