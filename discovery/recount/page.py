"""Compares counted figures with the page and reports numbers on the page that were not compared."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

# Numbers on the page that are not figures: the text around each, and what it is.
NOT_FIGURES = {
    "P20 §15](../docs/p20.md#s15)": "a section of the plan",
    "This page answers [P20 §14](../docs/p20.md#s14)": "a section of the plan",
    "| | question of P20 §14 and §14.3 | answer |": "sections of the plan",
    "[P20 §14.3](../docs/p20.md#s14.3).** Its five conditions are what answers 1 to 5 are about.": "a section of the plan",
    "answer 5 also compares artifacts": "the number of an answer on the page",
    "The key remains optional in v1.": "the contract's version",
    "since September 2026: [1.0](https://docs.ag-ui.com/spec/1.0), and [1.1](https://docs.ag-ui.com/spec/1.1)": "versions",
    "| AG-UI 1.0 and 1.1 | page | here |": "versions",
    "([R11](../docs/projections.md#R11))": "a rule",
    "([R12](../docs/projections.md#R12))": "a rule",
    "([E11](../docs/contract.md#E11))": "a rule",
    "([E7](../docs/contract.md#E7))": "a rule",
    "([R6](../docs/projections.md#R6), [R7](../docs/projections.md#R7))": "rules",
    "The published client 1.0.0 does not check": "a version",
    "the draft of 2026-11-23": "a version",
    "`p20export lint` checks the other rules.": "a name",
    "; answer 5 compares bytes.": "the number of an answer on the page",
    "is byte 0.": "how bytes are counted",
    "with HTTP status 200 and": "an HTTP status",
    "rules [A7](../docs/contract.md#A7), [A11](../docs/contract.md#A11) to [A14](../docs/contract.md#A14)"
    " and [A27](../docs/contract.md#A27) to [A29](../docs/contract.md#A29)": "rules of the contract",
    "A run matches answer 1 if its verdict is exact or reduced; answer 2 if it has an artifact of an emitted snapshot;"
    " answer 3 if it has such an artifact and several snapshots; answer 4 if its request named a parent; answer 6 if it"
    " has an artifact": "the numbers of answers on the page",
    "chosen by the integration; answer 7 if it qualifies": "the number of an answer on the page",
    "Answer 5 uses the smallest and the largest run with an artifact. Answer 8": "the numbers of answers on the page",
    "*UUID*: 8, 4, 4, 4 and 12 hexadecimal digits": "what an id looks like",
    "*32 hexadecimal digits*": "what an id looks like",
    "numbers rounded to binary64.": "the name of a format",
    "[p20export lint]": "the name of a command",
    "`p20export explain`": "the name of a command",
    "another HTTP status than 200 and no run": "an HTTP status",
    "lint.md#6-features": "a section",
    **{f"\n**{number}. ": "the number of an answer on the page" for number in range(1, 9)},
}


@dataclass(frozen=True)
class Prose:
    """Text that occurs once in a section, with {} in place of each figure."""

    section: str
    words: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """The rows of a table. A value of None marks a cell that is not a figure."""

    section: str
    header: str
    rows: list[list[Any]]


class Page:
    """The text of the page, with a mark for each character that was compared."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.marked = [False] * len(text)
        self.agree: Counter[str] = Counter()
        self.wrong: list[str] = []
        heads = [(match.start(), match[1]) for match in re.finditer(r"^#+ (.*)$", text, re.MULTILINE)]
        ends = [start for start, _ in heads[1:]] + [len(text)]
        self.sections = {name: (start, end) for (start, name), end in zip(heads, ends)}

    def check(self, checks: list[Prose | Table]) -> None:
        for check in checks:
            if isinstance(check, Prose):
                self.prose(check)
            else:
                self.table(check)

    def prose(self, check: Prose) -> None:
        first, *parts = check.words.split("{}")
        assert len(parts) == len(check.values), check.words
        pattern = re.escape(first)
        for value, part in zip(check.values, parts):
            pattern += (r"(\d+)" if isinstance(value, int) else r"(.*?)") + re.escape(part)
        found = list(re.compile(pattern).finditer(self.text, *self.sections.get(check.section, (0, 0))))
        if len(found) != 1:
            self.wrong.append(f"{check.section}: found {len(found)} times, not once: {check.words!r} {check.values}")
            return
        for number, value in enumerate(check.values, 1):
            self.compare(check.section, check.words, found[0].span(number), value, ", | and ")

    def table(self, check: Table) -> None:
        start, end = self.sections.get(check.section, (0, 0))
        start = self.text.find(check.header + "\n", start, end)
        if start < 0:
            self.wrong.append(f"{check.section}: the page has no table {check.header!r}")
            return
        columns = [cell.strip() for cell in check.header.strip("|").split("|")]
        at = self.text.index("\n", start + len(check.header) + 1) + 1
        text = re.compile(r"(?:\|.*\n)*").match(self.text, at)
        lines = text[0].splitlines() if text else []
        if len(lines) != len(check.rows):
            self.wrong.append(f"{check.section}: {check.header!r} has {len(lines)} rows, not {len(check.rows)}")
        for line, row in zip(lines, check.rows):
            cells = list(re.finditer(r"(?<=\|) *(.*?) *(?=\|)", line))
            if len(cells) != len(row):
                self.wrong.append(f"{check.section}: {line!r} has {len(cells)} cells, not {len(row)}")
            for column, cell, value in zip(columns, cells, row):
                if value is not None:
                    span = at + cell.start(1), at + cell.end(1)
                    self.compare(check.section, f"{row[0]}, {column}", span, value, "; ")
            at += len(line) + 1

    def compare(self, section: str, where: str, span: tuple[int, int], counted: Any, separators: str) -> None:
        """Compares a figure. The elements of a set may be in any order."""
        text = self.text[slice(*span)]
        self.marked[slice(*span)] = [True] * (span[1] - span[0])
        if isinstance(counted, frozenset):
            text = "; ".join(sorted(re.split(separators, text)))
            counted = "; ".join(sorted(counted))
        if text == str(counted):
            self.agree[section] += 1
        else:
            self.wrong.append(f"{section}: {where}: the page has {text!r}, but the captures have {str(counted)!r}")

    def unchecked(self) -> list[str]:
        """Returns the numbers that were not compared and are not in NOT_FIGURES."""
        known = self.marked.copy()
        for words in NOT_FIGURES:
            for match in re.finditer(re.escape(words), self.text):
                known[slice(*match.span())] = [True] * len(words)
        return [
            f"line {self.text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} was not compared, in "
            + repr(self.text[max(0, match.start() - 40) : match.end() + 20])
            for match in NUMBER.finditer(self.text)
            if not all(known[slice(*match.span())])
        ]
