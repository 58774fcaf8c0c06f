import pytest

from study.training import seeds
from study.training.rollout import Limits, Rollout

pytestmark = pytest.mark.torch
STOP, CALL, FINISH, WORD = 9, 1, 2, 3


class Wire:
    stop = frozenset({STOP})

    def prompt(self, request):
        return [100, 101]

    def results(self, texts):
        return [200, 201, 202] * len(texts)

    def call(self, turn):
        return (
            [("finish" if turn[0] == FINISH else "get", {})]
            if turn[0] in (CALL, FINISH) and turn[-1] == STOP
            else []
        )


class Environment:
    def __init__(self):
        self.calls, self.over = [], False

    def act(self, name, arguments):
        self.calls.append(name)
        self.over = self.over or name == "finish"
        return "text"


def rollout(limits=None):
    environment = Environment()
    limits = limits or Limits(100, 5, 10)
    return environment, Rollout(environment, Wire(), "do", limits, lambda turn: seeds.key("x", turn))


def say(one, *tokens):
    for token in tokens:
        one.own(token, -0.5)


def test_own_and_forced_tokens_are_told_apart():
    environment, one = rollout()
    say(one, CALL, WORD, STOP)
    assert environment.calls == ["get"]
    assert one.ids == [CALL, WORD, STOP, 200, 201, 202]
    assert one.mask == [1, 1, 1, 0, 0, 0]
    assert one.logps == [-0.5, -0.5, -0.5, 0.0, 0.0, 0.0]
    assert one.tokens[:2] == [100, 101]
    assert not one.done


def test_every_turn_has_its_own_randomness():
    _, one = rollout()
    first, seed = one.draw(), one.engine_seed()
    say(one, CALL, STOP)
    assert one.draw() == next(seeds.uniforms(seeds.key("x", 1))) != first
    assert one.engine_seed() != seed


def test_finish_ends_the_rollout_and_upstream_would_sample_on():
    environment, one = rollout()
    say(one, FINISH, STOP)
    assert one.done and one.late_tokens == 0 and one.ids == [FINISH, STOP]

    environment, one = rollout(Limits(100, 5, 10, finish_turn="paper"))
    say(one, FINISH, STOP)
    assert not one.done and one.mask[-3:] == [0, 0, 0]  # the trap: the loop asks for another turn
    say(one, CALL, STOP)
    assert one.done and one.late_tokens == 2
    assert environment.calls == ["finish"]  # and whatever it says reaches no tool


def test_a_result_that_does_not_fit_is_kept_as_far_as_it_fits_and_upstream_drops_it():
    for mode, kept in (("clean", [200, 201]), ("paper", [])):
        environment, one = rollout(Limits(4, 5, 10, overlong=mode))
        say(one, CALL, STOP)
        assert environment.calls == ["get"]  # the tool ran either way
        assert one.done and one.dropped == 1
        assert one.ids[2:] == kept


def test_a_turn_without_a_call_ends_the_rollout():
    environment, one = rollout()
    say(one, WORD, STOP)
    assert one.done and one.malformed == 1 and environment.calls == []


def test_turn_and_completion_limits():
    _, one = rollout(Limits(100, 3, 10))
    assert [one.own(WORD, 0.0) for _ in range(3)] == [False, False, True]
    assert one.done and one.malformed == 1
    _, one = rollout(Limits(2, 5, 10))
    assert one.room() == 2
    say(one, WORD, WORD)
    assert one.done
    _, one = rollout(Limits(100, 5, 1))
    say(one, CALL, STOP)
    assert one.done and one.turns == 1


def test_a_whole_turn_is_the_same_as_its_tokens():
    _, one = rollout()
    _, other = rollout()
    say(one, CALL, WORD, STOP)
    other.turn_of([CALL, WORD, STOP], [-0.5] * 3)
    assert (one.ids, one.mask, one.logps, one.turns) == (other.ids, other.mask, other.logps, other.turns)
