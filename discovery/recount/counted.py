"""What is counted: the captures with their runs, and the figures of the page found so far."""

from typing import Any

import figures
from figures import AnalyzedRun, Integration
from page import Prose, Table


class Counted:
    def __init__(self) -> None:
        self.all = figures.integrations()
        self.captures = [each for integration in self.all for each in integration.captures]
        self.runs = [entry for integration in self.all for entry in integration.runs]
        self.with_artifact = [entry for entry in self.runs if entry.artifact]
        self.usable = [entry for entry in self.runs if entry.usable]
        self.scenarios = [scenario["name"] for scenario in figures.scenarios()]
        self.needed = [scenario["name"] for scenario in figures.scenarios() if scenario.get("needed")]
        self.found: list[Prose | Table] = []

    def prose(self, section: str, words: str, *values: Any) -> None:
        self.found.append(Prose(section, words, values))

    def table(self, section: str, header: str, rows: list[list[Any]]) -> None:
        self.found.append(Table(section, header, rows))

    def qualifies(self, integration: Integration) -> bool:
        runs = integration.of(self.needed)
        return {entry.scenario for entry in runs} == set(self.needed) and all(entry.qualifies for entry in runs)

    def count(self, verdict: str) -> int:
        return sum(entry.verdict == verdict for entry in self.runs)

    def ended(self, runs: list[AnalyzedRun], type: str) -> list[int]:
        """The numbers of snapshots of the runs with this terminal event; 2 means several."""
        return [min(len(j.run.snapshots), 2) for j in runs if j.run.terminal and j.run.terminal.type == type]

    def extremes(self) -> tuple[AnalyzedRun, AnalyzedRun]:
        """The smallest and the largest run with an artifact."""
        def size(entry: AnalyzedRun) -> int:
            return entry.run.bytes

        return min(self.with_artifact, key=size), max(self.with_artifact, key=size)
