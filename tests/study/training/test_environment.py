import inspect

import pytest

from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT, NATURAL
from study.backoffice.tools import TOOL_NAMES
from study.backoffice.toolset import toolset
from study.config.run_config import CONDITIONS
from study.errors import ConfigError, StudyError
from study.training.environment import REGIME_OF, environment_class, law_of, live_episode, observed_rewards

pytestmark = pytest.mark.torch


def made(profile=COMPACT, condition="C0"):
    tasks = {}

    def named(task_id):
        if task_id not in tasks:
            tasks[task_id] = generate(profile, "train", int(task_id))
        return tasks[task_id]

    return environment_class(profile, named, condition)()


def row(index, seed="0" * 32, noisy=True):
    return {
        "task": str(index),
        "schedule_seed": seed,
        "noisy": noisy,
        "rollout_slot": 0,
        "prompt": [],
        "row": index,
    }


@pytest.mark.parametrize("profile", [COMPACT, NATURAL], ids=["compact", "natural"])
def test_the_oracle_scores_one_on_every_task_through_the_tools(profile):
    environment = made(profile)
    for index in range(150):
        environment.reset(**row(index))
        task = live_episode(environment).episode.task
        for call in task.plan:
            getattr(environment, call.name)(**dict(call.arguments))
        environment.finish()
        assert observed_rewards([environment]) == [1.0]


def test_the_tools_are_the_thirteen_and_nothing_else_is_public():
    environment = made()
    public = [
        name for name, _ in inspect.getmembers(environment, inspect.ismethod) if not name.startswith("_")
    ]
    assert sorted(public) == sorted([*TOOL_NAMES, "reset"])


def test_the_schemas_that_upstream_derives_name_every_parameter_as_text():
    from transformers.utils import get_json_schema

    environment = made(NATURAL)
    for name, tool in toolset(NATURAL).items():
        schema = get_json_schema(getattr(environment, name))["function"]
        parameters = schema["parameters"]
        assert schema["name"] == name and schema["description"]
        assert list(parameters["properties"]) == [param.name for param in tool.params]
        assert {value["type"] for value in parameters["properties"].values()} <= {"string"}
        assert set(parameters.get("required", [])) == {param.name for param in tool.params if param.required}


def test_numbers_and_texts_are_one_amount_and_an_unknown_argument_is_an_answer():
    environment = made()
    environment.reset(**row(0))
    assert "args" in environment.wait(seconds="soon")
    assert "args" in environment.wait(minutes="5")
    assert environment.wait(seconds="5") == environment.wait(seconds=5)


def test_a_pooled_environment_forgets_the_episode_before():
    environment = made()
    environment.reset(**row(3))
    first = live_episode(environment)
    environment.finish()
    assert first.over and environment.finish() == environment.get_order(order_id="O1")  # one fixed refusal
    calls = first.episode.calls
    environment.reset(**row(3))
    second = live_episode(environment)
    assert not second.over and second is not first and second.episode.calls == 0
    assert first.episode.calls == calls


def test_a_row_without_a_seat_and_an_environment_without_a_row_are_refused():
    environment = made()
    with pytest.raises(StudyError, match="not reset"):
        environment.finish()
    for missing in ("task", "schedule_seed", "noisy", "rollout_slot"):
        with pytest.raises(StudyError, match=missing):
            environment.reset(**{key: value for key, value in row(0).items() if key != missing})


def test_laws_are_those_of_the_conditions():
    assert set(REGIME_OF) == set(CONDITIONS)
    for name, said in CONDITIONS.items():
        law = law_of(name).law
        assert (float(law.rate), float(law.flip_rate)) == (said.fault_rate, said.flip_rate)
        kinds = {kind for kind, weight in law.weights if weight}
        assert ("outage" in kinds) == (said.mixture == "default")
        assert law_of(name, noisy=False).law.name == "clean"
    with pytest.raises(ConfigError):
        law_of("C9")


def test_the_clean_half_of_blocking_meets_no_fault():
    environment = made(condition="C2")
    drawn = {True: 0, False: 0}
    for index in range(40):
        for noisy in (True, False):
            environment.reset(**row(index, f"{index:032x}", noisy))
            live = live_episode(environment)
            for call in live.episode.task.plan:
                live.act(call.name, dict(call.arguments))
            drawn[noisy] += live.faults_drawn
    assert drawn[True] > 20 and drawn[False] == 0
