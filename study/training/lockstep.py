"""All rollouts advance one token at a time: no padding, no second prefill, finished rows dropped.

Prompt and tool-result tokens are forced, the rest is drawn from the policy by inverting its distribution at a
uniform number that belongs to (run, step, row, slot, turn), so a rollout does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from study.training.decode import Decoder, chosen
from study.training.rollout import Rollout

_DROP_AT = 0.9  # rows are dropped when fewer than this share is alive: copying caches has a cost of its own


@torch.inference_mode()
def play(
    rollouts: Sequence[Rollout],
    weights: Mapping[str, Tensor],
    config: Any,
    *,
    positions: int,
    temperature: float = 1.0,
) -> int:
    """Play every rollout to its end.

    Args:
        rollouts: fresh ones, in any number; they are filled in place.
        weights: the policy's merged weights, see `Decoder`.
        config: the model's text config.
        positions: longest prompt and completion together.
        temperature: of the distribution that is sampled; log-probabilities are those of that distribution.

    Returns:
        The number of token steps made.

    Raises:
        ValueError: a rollout would need more than `positions`.
        DivergedError: logits that are not finite.
    """
    alive = [rollout for rollout in rollouts if not rollout.done]
    if not alive:
        return 0
    decoder = Decoder(weights, config, len(alive), positions)
    fed = [0] * len(alive)
    steps = 0
    feed = [rollout.prompt[0] for rollout in alive]
    while True:
        if steps >= positions:
            raise ValueError(f"a rollout needs more than {positions} positions")
        logits = decoder.step(torch.tensor(feed))
        steps += 1
        wanting = []
        for row, rollout in enumerate(alive):
            fed[row] += 1
            if not rollout.done and fed[row] == len(rollout.prompt) + len(rollout.ids):
                wanting.append(row)
        if wanting:
            everyone = len(wanting) == len(alive)
            asked = logits if everyone else logits[torch.tensor(wanting)]
            draws = torch.tensor([alive[row].draw() for row in wanting])
            tokens, taken = chosen(asked, draws, temperature)
            for row, token, value in zip(wanting, tokens, taken, strict=True):
                alive[row].own(token, value)
        living = [row for row, rollout in enumerate(alive) if not rollout.done]
        if not living:
            return steps
        if len(living) < _DROP_AT * len(alive):
            decoder.keep(torch.tensor(living))
            alive = [alive[row] for row in living]
            fed = [fed[row] for row in living]
        feed = [_next(rollout, count) for rollout, count in zip(alive, fed, strict=True)]


def _next(rollout: Rollout, fed: int) -> int:
    """The token at position `fed`; a finished row that has not been dropped yet repeats its last one."""
    behind = fed - len(rollout.prompt)
    if behind < 0:
        return rollout.prompt[fed]
    return rollout.ids[behind] if behind < len(rollout.ids) else rollout.ids[-1]
