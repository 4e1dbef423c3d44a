from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest
from typing_extensions import assert_type

import p20export
from p20export._program import Row
from p20export.testing import assert_agui_valid


def test_rows_are_typed(captures: Path) -> None:
    rows = p20export.compare(captures / "adk" / "one-turn")
    assert_type(rows, list[p20export.ComparisonRow | p20export.TraceDifferenceRow | p20export.TracesRow | p20export.GoldenRow])
    row = rows[0]
    assert isinstance(row, p20export.ComparisonRow)
    assert_type(row.run, int | None)
    assert_type(row.projections[0].verdict, Literal["frozen", "refused"])
    assert_type(row.families, Mapping[str, int])
    assert isinstance(row.projections[0], p20export.AnalysisProjection)
    assert isinstance(row["ids"], p20export.AnalysisIdcounts)
    assert row.families["RUN_STARTED"] == 1
    assert row.type == row["type"] == "comparison"


def test_flags(captures: Path, tmp_path: Path) -> None:
    strict = p20export.lint(captures / "adk" / "one-turn", off=["W20", "W14"], require="text", protocol="1.1", group=True)
    assert_type(strict, list[p20export.LintRow | p20export.LintGroupRow])
    assert [type(row) for row in p20export.lint(captures / "adk" / "one-turn")] == [p20export.LintRow]
    [imported] = p20export.capture(from_=captures / "adk" / "one-turn" / "response.sse", output=tmp_path / "copy")
    assert imported.end == "eof"
    [frozen] = p20export.freeze(captures / "adk" / "one-turn", inline=True, jobs=1)
    assert frozen.verdict == "frozen" and frozen.artifact_json and frozen.signature_json is None
    p20export.keygen(tmp_path / "key")
    [signed] = p20export.freeze(captures / "adk" / "one-turn", inline=True, sign=tmp_path / "key.key.pem")
    assert signed.record_json == frozen.record_json and signed.signature_json


def test_check_that_fails(tmp_path: Path) -> None:
    (tmp_path / "-bad.sse").write_text('data: {"type":"RUN_FINISHED"}\n\n')
    row, *more = p20export.lint(tmp_path / "-bad.sse")
    assert isinstance(row, p20export.LintRow) and not more
    assert not row.passed
    assert_type(row.findings[0].severity, Literal["error", "warning", "info"])


def test_command_that_fails() -> None:
    with pytest.raises(p20export.CommandError, match="no such|does not exist") as failure:
        p20export.compare("captures", golden="nowhere")
    assert failure.value.status == 3


def test_keys_that_are_no_names() -> None:
    outcomes = p20export.ScenarioOutcomes({"emitted-snapshot": {"verdict": "frozen"}})
    assert isinstance(outcomes["emitted-snapshot"], p20export.ScenarioOutcome)


def test_rows_of_a_later_version() -> None:
    row = p20export.VersionRow({"type": "version", "new": {"key": [{"a": 1}]}})
    assert row.new.key[0].a == 1
    assert row.commit is None
    assert "commit" not in row
    with pytest.raises(KeyError):
        row["commit"]
    assert repr(row).startswith("VersionRow({'type'")


def test_every_class_has_its_type() -> None:
    for name in p20export.__all__:
        assert hasattr(p20export, name)
    for name, of in Row._types.items():
        assert of.__annotations__["type"] == f"Literal['{name}']"
    for command in (p20export.explain, p20export.schema):
        assert command()
    assert p20export.version()[0].version == p20export.__version__


def test_reason() -> None:
    with pytest.raises(p20export.CommandError, match="http_failed: .*refused"):
        p20export.lint("http://127.0.0.1:1")
    with pytest.raises(p20export.CommandError, match="http_failed"):
        assert_agui_valid("http://127.0.0.1:1")
