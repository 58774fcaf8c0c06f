"""A member of a closed set without its behaviour: mypy refuses it, or its table refuses to be built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from prereg_kit.foundation.closed import table
from prereg_kit.plan.criteria.bounded import NeedsBound
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint, registered
from prereg_kit.plan.criteria.difference import Difference

ROOT = Path(__file__).parents[3]


class Planted(OneEndpoint, NeedsBound):
    """A criterion with fields and words, and nothing else."""

    criterion: Literal["planted"] = "planted"
    kinds: ClassVar[tuple[Literal["contrast"], ...]] = ("contrast",)

    def words(self) -> str:
        return "planted"


class Silent(Difference):
    """A whole criterion under another's name."""


def test_a_criterion_without_a_part_of_its_meaning_cannot_be_registered() -> None:
    with pytest.raises(TypeError, match="Planted does not say: assessed, compared, about_pairs"):
        registered(Difference, Planted)


def test_a_criterion_has_a_name_of_its_own() -> None:
    with pytest.raises(TypeError, match="Silent has no name of its own: 'difference'"):
        registered(Difference, Silent)


def test_a_whole_criterion_can() -> None:
    class Whole(Planted):
        about_pairs: ClassVar[bool] = True

        def compared(self) -> Compared:
            return Compared(mean=self.bounds)

        def assessed(self, measured: object, answers: object) -> None: ...  # type: ignore[override]

    assert registered(Difference, Whole) == {"difference": Difference, "planted": Whole}


def test_a_table_over_a_closed_set_has_every_member_and_no_stranger() -> None:
    Colour = Literal["red", "green"]
    assert table(Colour, {"red": 1, "green": 2}) == {"red": 1, "green": 2}
    with pytest.raises(TypeError, match="lacks .'green'."):
        table(Colour, {"red": 1})
    with pytest.raises(TypeError, match="strangers .'blue'."):
        table(Colour, {"red": 1, "green": 2, "blue": 3})


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        # a criterion's module whose class is registered and does not say what it compares
        ("plan/criteria/rate.py", "    def compared(self)", "    def compared_not(self)"),
        # a tenth kind of endpoint, named in the closed set and nowhere else
        ("plan/endpoint.py", '"series", "distinct"', '"series", "planted", "distinct"'),
        # a seventh outcome, which no order of unknown outcomes holds
        ("plan/criteria/clause.py", '"not_run", "not_evaluable"]', '"not_run", "not_evaluable", "planted"]'),
    ],
)
def test_a_member_planted_in_the_sources_fails_at_the_import(
    tmp_path: Path, path: str, old: str, new: str
) -> None:
    shutil.copytree(
        ROOT / "prereg_kit", tmp_path / "prereg_kit", ignore=shutil.ignore_patterns("__pycache__")
    )
    planted = tmp_path / "prereg_kit" / path
    text = planted.read_text()
    assert text.count(old) == 1
    code = "import prereg_kit.plan.plan, prereg_kit.decision.decide"
    command = [sys.executable, "-c", code]
    assert (
        subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=False).returncode == 0
    )
    planted.write_text(text.replace(old, new))
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert "TypeError" in done.stderr


def test_mypy_finds_an_endpoint_class_that_nothing_measures(tmp_path: Path) -> None:
    """`measure` matches every kind and ends in `assert_never`."""
    shutil.copytree(
        ROOT / "prereg_kit", tmp_path / "prereg_kit", ignore=shutil.ignore_patterns("__pycache__")
    )
    endpoint = tmp_path / "prereg_kit/plan/endpoint.py"
    text = endpoint.read_text()
    old = "Selected = Contrast |"
    assert text.count(old) == 1
    planted = 'class Planted(Selection):\n    kind: Literal["planted"]\n\n    def column(self) -> str:\n        return ""\n\n\n'
    endpoint.write_text(text.replace(old, f"{planted}Selected = Planted | Contrast |"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--no-incremental",
         "--follow-imports=silent", "-m", "prereg_kit.decision.measure"],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 'assert_never" has incompatible type "Planted"' in done.stdout
