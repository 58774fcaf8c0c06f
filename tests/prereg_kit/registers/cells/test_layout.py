"""What a column is to an endpoint: never averaged over without being asked."""

from __future__ import annotations

from tests.prereg_kit.registers.cells.by_hand import ARMS, FIRST, differences, episodes, refused, table


def test_splits_and_regimes_are_never_averaged_together():
    cells = {(arm, 0, "7"): [arm == "paired"] * 4 for arm in ARMS}
    rows = episodes(cells, split="validation", regime="p25") + episodes(cells, split="test", regime="p25")
    error = refused(rows)
    assert error.code == "mixed"
    assert error.where.field == "split"
    assert "test, validation" in str(error)
    assert table(rows, where={"split": "test"}).rows_unused == 8
    challenge = episodes({(arm, 0, "7"): [0] for arm in ARMS}, split="test", regime="challenge")
    rows = episodes(cells, split="test", regime="p25") + challenge
    assert refused(rows, where={"split": "test"}).where.field == "regime"
    # averaged over on purpose, both must be complete
    error = refused(rows, where={"split": "test", "regime": ("p25", "challenge")})
    assert error.code == "unequal-cells"
    both = table(episodes(cells, split="test", regime="p25") + episodes(cells, split="validation", regime="p25"),
                 where={"split": ("test", "validation")})  # fmt: skip
    assert both.episodes.tolist() == [[[[8]]], [[[8]]]]


def test_a_declared_key_says_which_columns_number_repetitions():
    rows = [
        {"arm": arm, "patient": f"p{p}", "site": "x", "visit": v, "nurse": f"{arm}{v}", "healed": arm == "paired"}
        for arm in ARMS for p in range(3) for v in range(2)
    ]  # fmt: skip
    asked = {"value": "healed", "pairs": None, "cluster": "patient"}
    assert refused(rows, **asked).where.field in ("visit", "nurse")
    found = table(rows, **asked, key=("arm", "patient", "visit"))
    assert found.episodes.tolist() == [[[[2, 2, 2]]], [[[2, 2, 2]]]]
    assert found.seeds == ("",)


def test_row_numbers_of_data_frames_identify_nothing():
    rows = [{**row, "__index_level_0__": i, "Unnamed: 0": i} for i, row in enumerate(episodes(FIRST))]
    assert differences(table(rows)) == differences(table(episodes(FIRST)))
    assert refused([*rows, {**rows[0], "__index_level_0__": 99}]).code == "repeated-rows"
