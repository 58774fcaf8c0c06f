from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from study.cli.bandit import command
from study.errors import TheoryError


def test_the_table_names_every_number_beside_the_papers():
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    for name, ours, paper in (
        ("reward-contrast variance, paired", "0.45000000", "0.4500"),
        ("mean-centred Tr Var(g), independent", "0.00261475", "0.002615"),
        ("standardised Tr Var(g), paired", "0.01972384", "0.019724"),
        ("standardised expected update norm, paired", "0.39047850", "0.3905"),
        ("L = E||g_c||^2", "0.04956055", "0.04956"),
    ):
        row = next(line for line in lines if line.startswith(name))
        assert row.removeprefix(name).split()[:3] == [ours, paper, "yes"]
    assert "13 of 13 printed numbers come back." in lines
    assert lines[-1] == "L > R: pairing raises the trace."
    assert max(map(len, lines)) <= 80


def test_json_carries_the_format_first_and_both_values():
    result = CliRunner().invoke(command, ["--json"])
    value = json.loads(result.output)
    assert next(iter(value)) == "format"
    assert value["format"] == "study.bandit/1"
    assert value["all_agree"] is True
    assert len(value["numbers"]) == 21
    for number in value["numbers"]:
        assert number["value"] == pytest.approx(number["enumerated"], rel=1e-11)


def test_a_number_that_disagrees_is_exit_code_1(monkeypatch):
    from study.theory import bandit

    monkeypatch.setattr(bandit, "_PRINTED", {bandit._LEFT: "0.04957"})
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 1
    assert "NO" in result.output
    assert "0 of 1 printed numbers come back." in result.output


def test_another_bandit_has_nothing_to_agree_with():
    result = CliRunner().invoke(command, ["--group-size", "64", "--success-rate", "0.9", "--json"])
    assert result.exit_code == 0
    value = json.loads(result.output)
    assert value["all_agree"] is None
    assert all(number["printed"] is None for number in value["numbers"])


@pytest.mark.parametrize(
    "arguments", [["--group-size", "1"], ["--flip-rate", "1.5"], ["--success-rate", "nan"]]
)
def test_parameters_out_of_range(arguments):
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, TheoryError)
    assert result.exception.exit_code == 2
