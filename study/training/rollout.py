"""One episode while a policy plays it: tokens, mask, log-probabilities, turns. No torch.

A sampler feeds tokens; the rollout knows which are forced (prompt, tool results) and which are the policy's
own, calls the environment when a turn ends and stops by the rules that a run declares. Both samplers, training
and evaluation share it, so an episode means the same thing everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from study.training import seeds

Call = tuple[str, dict[str, object]]


class Environment(Protocol):
    """What a rollout needs of an episode: answer a call, say whether it is over."""

    def act(self, name: str, arguments: dict[str, object]) -> str:
        """Run one tool call and return the text that the model sees."""
        ...

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        ...


class Wire(Protocol):
    """How text and tokens translate: one object for warm start, training, evaluation and probe."""

    @property
    def stop(self) -> frozenset[int]:
        """Tokens that end a turn."""
        ...

    def prompt(self, request: str) -> list[int]:
        """The prompt up to the policy's first own token."""
        ...

    def results(self, texts: Sequence[str]) -> list[int]:
        """The replies to one turn's calls, in order, up to the policy's next own token."""
        ...

    def call(self, turn: Sequence[int]) -> list[Call]:
        """The tool calls of one turn, empty if it holds none."""
        ...


@dataclass(frozen=True)
class Limits:
    """When a rollout ends though the episode has not.

    Args:
        completion: tokens after the prompt, tool results included.
        turn: own tokens in one turn.
        turns: turns that may call tools.
        finish_turn: `paper` samples one more turn after the episode's end and trains on it (trl#5389).
        overlong: `paper` drops a result that does not fit from the text, though its tool ran (trl#5521);
            `clean` keeps what fits. Both end the rollout and are counted.
    """

    completion: int
    turn: int
    turns: int
    finish_turn: str = "clean"
    overlong: str = "clean"


class Rollout:
    """The state of one episode under a policy.

    Args:
        environment: the episode.
        wire: text and tokens.
        request: the user's text.
        limits: when to stop.
        secret: turn -> the 32-byte key of that turn's randomness.

    Attributes:
        prompt: prompt tokens. ids: completion tokens. mask: 1 own, 0 forced, aligned with `ids`.
        logps: log-probability of each own token at sampling, 0.0 for forced ones.
        turns: own turns completed. late_tokens: own tokens sampled after the episode had ended.
        dropped: turns whose tool results did not fit. malformed: turns without a readable call.
        done: no further token is wanted.
    """

    def __init__(
        self,
        environment: Environment,
        wire: Wire,
        request: str,
        limits: Limits,
        secret: Callable[[int], bytes],
    ) -> None:
        self.environment = environment
        self.prompt = wire.prompt(request)
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logps: list[float] = []
        self.turns = 0
        self.late_tokens = 0
        self.dropped = 0
        self.malformed = 0
        self.done = False
        self.secret = secret
        self._wire = wire
        self._limits = limits
        self._uniforms: Iterator[float] = seeds.uniforms(secret(0))
        self._start = 0

    @property
    def tokens(self) -> list[int]:
        """Prompt and completion so far."""
        return self.prompt + self.ids

    def draw(self) -> float:
        """The next uniform of this turn's own stream."""
        return next(self._uniforms)

    def engine_seed(self) -> int:
        """This turn's seed for an engine that samples by itself, below 2^62."""
        return int.from_bytes(self.secret(self.turns)[:8], "little") >> 2

    def room(self) -> int:
        """Own tokens that the current turn may still have."""
        used = len(self.ids)
        return min(self._limits.turn - (used - self._start), self._limits.completion - used)

    def own(self, token: int, logp: float) -> bool:
        """Take one sampled token; True if it ended the turn (or the rollout)."""
        self.ids.append(token)
        self.mask.append(1)
        self.logps.append(logp)
        if self.environment.over:
            self.late_tokens += 1
        length = len(self.ids)
        if token in self._wire.stop or length - self._start >= self._limits.turn:
            self._end_turn()
            return True
        if length >= self._limits.completion:
            self.done = True
            return True
        return False

    def turn_of(self, tokens: Sequence[int], logps: Sequence[float]) -> None:
        """Take one whole turn, as an engine returns it."""
        for token, logp in zip(tokens, logps, strict=True):
            if self.own(token, logp):
                return
        self._end_turn()

    def _end_turn(self) -> None:
        turn = self.ids[self._start :]
        self.turns += 1
        if self.environment.over:  # the extra turn of the paper's loop has been sampled
            self.done = True
            return
        calls = self._wire.call(turn)
        if not calls:
            self.malformed += 1
            self.done = True
            return
        texts = []
        for name, arguments in calls:
            texts.append(self.environment.act(name, arguments))
            if self.environment.over and self._limits.finish_turn == "clean":
                self.done = True
                return
        self._append(
            self._wire.results(texts)
        )  # together: the template gives all replies of a turn one user turn
        if self.done:
            return
        if self.turns >= self._limits.turns or len(self.ids) >= self._limits.completion:
            self.done = True
            return
        self._start = len(self.ids)
        self._uniforms = seeds.uniforms(self.secret(self.turns))

    def _append(self, forced: list[int]) -> None:
        room = self._limits.completion - len(self.ids)
        if len(forced) >= room:
            self.dropped += 1
            self.done = True
            forced = [] if self._limits.overlong == "paper" else forced[:room]
        self.ids += forced
        self.mask += [0] * len(forced)
        self.logps += [0.0] * len(forced)
