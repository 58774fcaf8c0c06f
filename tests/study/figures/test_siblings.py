from __future__ import annotations

import subprocess
import sys

import pytest

from study.backoffice.schedule import Schedule, schedule_seed
from study.figures import siblings


def test_equal_keys_meet_equal_draws_under_one_schedule_and_never_under_two():
    for index in range(50):
        shared, separate = siblings.panels(index)
        common = siblings.shared_keys(*shared)
        assert len(common) >= 3
        for i, j in common:
            assert shared[0].events[i] == shared[1].events[j]
        assert (shared[0].grade, shared[0].flipped) == (shared[1].grade, shared[1].flipped)
        for i, j in siblings.shared_keys(*separate):
            assert separate[0].events[i].draw != separate[1].events[j].draw


def test_every_draw_is_the_simulators_own():
    seed = schedule_seed("figure", 9)
    one = siblings.timeline(seed, siblings.SCRIPTS[0])
    for event in one.events:
        assert event.draw == Schedule(seed).draw(*event.key).fault / 2**64
        assert (event.fault is not None) == (event.draw < 0.25)
    assert one.grade == Schedule(seed).grade_lane() / 2**64
    assert one.flipped == (one.grade < 0.1)


def test_a_failed_call_is_repeated_under_its_next_repeat_index():
    for index in range(50):
        for one in siblings.panels(index)[0]:
            for event in one.events:
                if event.repeat:
                    before = next(e for e in one.events if e.key == (*event.key[:2], event.repeat - 1))
                    assert before.fault is not None


def test_the_chosen_schedule_shows_what_the_caption_says():
    index = siblings.telling_index()
    shared, separate = siblings.panels(index)
    assert any(shared[0].events[i].fault for i, _ in siblings.shared_keys(*shared))
    assert separate[0].flipped != separate[1].flipped


def test_drawing_leaves_the_plotting_settings_alone():
    mpl = pytest.importorskip("matplotlib")
    from study.figures import canvas

    before = dict(mpl.rcParams)
    assert canvas.render(siblings.draw, "png", 40).startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before


def test_the_theory_is_numpy_only_and_importing_the_verbs_loads_no_plotting():
    code = (
        "import sys, pkgutil, importlib, study.theory\n"
        "for m in pkgutil.iter_modules(study.theory.__path__): importlib.import_module('study.theory.' + m.name)\n"
        "import study.cli.bandit, study.cli.theory, study.figures.siblings, study.figures.alignment_map\n"
        "bad = [n for n in ('matplotlib', 'torch', 'pandas', 'scipy', 'pyarrow') if n in sys.modules]\n"
        "sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
