"""The scripted agents: figures beside the paper's, and the behaviour that their names promise."""

from __future__ import annotations

import pytest

from study.backoffice.faults import compile_law
from study.backoffice.generate import generate
from study.backoffice.log import fault_counts
from study.backoffice.profiles import NATURAL
from study.backoffice.regimes import REGIMES, regime_named
from study.backoffice.schedule import evaluation_seed
from study.errors import ConfigError
from study.evaluation.rollout import play
from study.policies.scripted import SCRIPTED, scripted_policy

TASKS = 300
SCHEDULES = 2


@pytest.fixture(scope="module")
def figures():
    """(regime, policy) -> success, mean calls, exposure, over budget on the validation pool."""
    tasks = [generate(NATURAL, "validation", index) for index in range(TASKS)]
    table = {}
    for regime in ("clean", "faults_p10", "faults_p25", "no_outage_p25", "heldout_p25", "challenge"):
        law = compile_law(REGIMES[regime])
        for name, policy in SCRIPTED.items():
            episodes = [
                play(policy, task, law, evaluation_seed("validation", task.task_id, k))
                for task in tasks
                for k in range(SCHEDULES)
            ]
            count = len(episodes)
            table[regime, name] = (
                sum(episode.grade().true_success for episode in episodes) / count,
                sum(episode.calls for episode in episodes) / count,
                sum(fault_counts(episode.records).effective > 0 for episode in episodes) / count,
                sum(episode.ended_by == "budget" for episode in episodes) / count,
            )
    return table


@pytest.mark.parametrize(
    ("regime", "policy", "column", "low", "high"),
    [
        ("clean", "naive", 0, 1, 1),
        ("clean", "recovering", 0, 1, 1),
        ("clean", "grounded", 0, 1, 1),
        ("clean", "recovering", 1, 6.3, 6.9),
        ("clean", "recovering", 2, 0, 0),
        ("faults_p10", "recovering", 0, 0.92, 0.98),
        ("faults_p25", "recovering", 0, 0.80, 0.92),
        ("faults_p25", "naive", 0, 0.35, 0.55),
        ("faults_p25", "recovering", 1, 8.0, 9.3),
        ("faults_p25", "recovering", 3, 0.01, 0.07),
        ("faults_p25", "grounded", 0, 0.68, 0.82),
        ("no_outage_p25", "recovering", 0, 0.92, 1),
        ("heldout_p25", "naive", 0, 1, 1),
        ("heldout_p25", "recovering", 0, 0.98, 1),
        ("challenge", "naive", 0, 0, 0),
        ("challenge", "recovering", 0, 1, 1),
        ("challenge", "recovering", 3, 0, 0),
    ],
)
def test_figures_lie_where_the_papers_do(figures, regime, policy, column, low, high):
    assert low <= figures[regime, policy][column] <= high


@pytest.mark.parametrize(("regime", "low", "high"), [("faults_p10", 0.35, 0.47), ("faults_p25", 0.70, 0.82)])
def test_exposure_lies_where_the_papers_does(regime, low, high):
    """2,400 episodes, standard error .012 with tasks as clusters."""
    law = compile_law(REGIMES[regime])
    exposed = 0
    for index in range(TASKS):
        task = generate(NATURAL, "validation", index)
        for k in range(8):
            episode = play(SCRIPTED["recovering"], task, law, evaluation_seed("validation", task.task_id, k))
            exposed += any(record.effective for record in episode.records)
    assert low <= exposed / (TASKS * 8) <= high


def test_naive_makes_the_plans_calls_in_every_regime(figures):
    assert len({figures[regime, "naive"][1] for regime, name in figures if name == "naive"}) == 1


def test_finish_never_succeeds(figures):
    assert all(values[:2] == (0, 0) for (_, name), values in figures.items() if name == "finish")


def test_grounded_never_uses_an_id_that_it_did_not_read():
    """After a read that an outage ate, none of the calls that need it is made."""
    law = compile_law(REGIMES["faults_p25"])
    dropped = 0
    for index in range(200):
        task = generate(NATURAL, "validation", index)
        episode = play(SCRIPTED["grounded"], task, law, evaluation_seed("validation", task.task_id, 0))
        made = {(record.tool, record.resource) for record in episode.records if record.resource is not None}
        for call in task.plan:
            tool = task.tools[call.name]
            for need in call.needs:
                source = task.plan[need]
                values = task.tools[source.name].check(dict(source.arguments))
                key = (source.name, task.tools[source.name].resource(values))
                states = [
                    record.status for record in episode.records if (record.tool, record.resource) == key
                ]
                if states and "ok" not in states:
                    dropped += 1
                    assert (call.name, tool.resource(tool.check(dict(call.arguments)))) not in made
    assert dropped > 5


def test_recovering_looks_after_a_timeout_and_does_not_repeat_what_it_sees():
    law = compile_law(REGIMES["heldout_p25"])
    timeouts = 0
    for index in range(150):
        task = generate(NATURAL, "validation", index)
        episode = play(SCRIPTED["recovering"], task, law, evaluation_seed("validation", task.task_id, 0))
        records = episode.records
        for place, record in enumerate(records):
            if record.drawn == "timeout_after_commit" and place + 2 < len(records):
                timeouts += 1
                look = records[place + 1]
                assert look.tool == ("get_order" if record.values[0] else "get_customer")
                if record.tool != "create_ticket":
                    assert look.values[0] == record.values[0]
        writes = [
            (record.tool, record.values) for record in records if task.tools[record.tool].kind == "write"
        ]
        assert len(writes) == len(set(writes))
    assert timeouts > 50


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError):
        scripted_policy("clever")
    with pytest.raises(ConfigError):
        regime_named("p25")
