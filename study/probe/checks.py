"""Other roads to the same gradients, taken at every checkpoint and reported in its evidence.

loop                the shortest rollout, one backward pass for each own token, summed
hooks               a whole group in one padded batch; each rollout's part from the adapters' inputs and outputs
finite differences  the rollout's log-probability along keyed directions, two step widths, extrapolated
trainer             the loss that training minimises, computed by the trainer's own code on one mixed group
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from study.probe.double import DoublePrecision
from study.probe.estimators import rule_of, sequence_weights
from study.probe.evidence import Checks
from study.probe.scores import Scores, Text, token_logps
from study.probe.spec import Spec
from study.runs.log import Log
from study.trained.checkpoint_policy import Checkpoint, Trained
from study.trained.language_model import policy_model
from study.training import seeds, step_zero
from study.training.progress import Progress
from study.training.train import Parts, assemble
from study.training.trainer import Step

Array = npt.NDArray[np.float64]
DIRECTIONS = 3
WIDTH = 2e-4


def cross_checks(
    found: Trained,
    checkpoint: Checkpoint,
    scores: Scores,
    texts: Sequence[Text],
    sampled: Mapping[str, npt.NDArray[Any]],
    spec: Spec,
) -> Checks:
    """Take every road at one checkpoint.

    Args:
        found: the run.
        checkpoint: the checkpoint.
        scores: its scores, settled.
        texts: everything that was played.
        sampled: what `played` keeps of it.
        spec: the probe.
    """
    outcomes = sampled["successes"].reshape(-1, spec.samples).astype(np.float64)
    mixed = [int(row) for row in np.flatnonzero((outcomes.min(axis=1) == 0) & (outcomes.max(axis=1) == 1))]
    group = mixed[0] if mixed else 0
    chosen = list(texts[group * spec.samples : (group + 1) * spec.samples])
    rows = np.zeros((spec.samples, scores.coordinates))
    ratios = np.array([scores.write(text, row).log_ratio for text, row in zip(chosen, rows, strict=True)])
    shortest = min(range(len(chosen)), key=lambda i: sum(chosen[i].mask))
    own, own_float64 = None, None
    note = None
    if not mixed:
        note = "no mixed group was sampled, so the trainer's loss has no gradient to compare"
    elif spec.coordinates != "trained":
        note = "the trainer differentiates the adapters alone"
    else:
        standardise = found.run.scale_rewards == "group"
        advantages = rule_of("SW" if standardise else "MC").advantages(outcomes[group])
        tokens = np.array([sum(text.mask) for text in chosen])
        weights = sequence_weights(ratios, tokens, spec.importance, spec.cap)
        ours = (advantages * weights / tokens.sum()) @ rows
        theirs = _trainer_gradient(found, policy_model(found, checkpoint), chosen, advantages, torch.float32)
        own = _compare(ours, theirs)
        own_float64 = _compare(
            ours, _trainer_gradient(found, scores.model, chosen, advantages, torch.float64)
        )
    return Checks(
        hooks=_relative(hooked(scores, chosen), rows) if spec.coordinates == "trained" else None,
        loop=_relative(looped(scores, chosen[shortest]), rows[shortest]),
        finite_differences=max(
            _differences(scores, chosen[shortest], rows[shortest], spec, number)
            for number in range(DIRECTIONS)
        ),
        trainer_cosine=None if own is None else own[0],
        trainer_difference=None if own is None else own[1],
        trainer_cosine_float64=None if own_float64 is None else own_float64[0],
        trainer_difference_float64=None if own_float64 is None else own_float64[1],
        trainer_rows=len(chosen) if own is not None else 0,
        trainer_note=note,
    )


def _relative(found: Array, wanted: Array) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def _compare(ours: Array, theirs: Array) -> tuple[float, float]:
    lengths = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    return float(ours @ theirs) / lengths if lengths > 0 else math.nan, _relative(theirs, ours)


def looped(scores: Scores, text: Text) -> Array:
    """The score of one rollout as the sum of its own tokens' gradients, one backward pass for each."""
    total = np.zeros(scores.coordinates)
    tokens = torch.tensor([[*text.prompt, *text.ids]])
    parameters = [parameter for _, parameter in scores.chosen]
    for place, own in enumerate(text.mask):
        if own:
            logps = token_logps(scores.model, tokens[:, : len(text.prompt) + place + 1], scores.temperature)
            parts = torch.autograd.grad(logps[0, -1], parameters, materialize_grads=True)
            total += torch.cat([part.reshape(-1) for part in parts]).numpy()
    return total


def hooked(scores: Scores, texts: Sequence[Text]) -> Array:
    """The scores of several rollouts from one padded batch, shape (rows, d).

    A linear layer's gradient is a sum over time of output gradient times input; hooks see both for each rollout.
    """
    names = {name.removesuffix(".weight"): name for name, _ in scores.chosen}
    found: dict[str, Tensor] = {}
    handles = []

    def watch(name: str, module: nn.Module) -> None:
        def seen(_: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
            entered = arguments[0].detach()

            def take(gradient: Tensor) -> None:
                found[name] = torch.einsum("bto,bti->boi", gradient, entered)

            output.register_hook(take)

        handles.append(module.register_forward_hook(seen))

    for name, module in scores.model.named_modules():
        if name in names:
            watch(name, module)
    longest = max(len(text.prompt) + len(text.ids) for text in texts)
    tokens, mask = (
        torch.zeros((len(texts), longest), dtype=torch.int64),
        torch.zeros((len(texts), longest - 1)),
    )
    for row, text in enumerate(texts):
        every = [*text.prompt, *text.ids]
        tokens[row, : len(every)] = torch.tensor(every)
        mask[row, len(text.prompt) - 1 : len(every) - 1] = torch.tensor(text.mask, dtype=mask.dtype)
    try:
        (token_logps(scores.model, tokens, scores.temperature) * mask).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    order = [name.removesuffix(".weight") for name, _ in scores.chosen]
    rows: Array = torch.cat([found[name].reshape(len(texts), -1) for name in order], dim=1).numpy()
    return rows


def _differences(scores: Scores, text: Text, score: Array, spec: Spec, number: int) -> float:
    """Relative error of the directional derivative along one keyed direction of unit length.

    The direction is the score's own plus an equally long random one, so that what is measured is not near zero.
    """
    rng = np.random.default_rng(seeds.integer("probe", "direction", spec.digest, number))
    other = rng.normal(size=score.size)
    direction = score / np.linalg.norm(score) + other / np.linalg.norm(other)
    direction /= np.linalg.norm(direction)
    wide, narrow = (_central(scores, text, direction, width) for width in (2 * WIDTH, WIDTH))
    wanted = float(score @ direction)
    return abs((4.0 * narrow - wide) / 3.0 - wanted) / abs(wanted)


def _central(scores: Scores, text: Text, direction: Array, width: float) -> float:
    values = [_value(scores, text, direction * sign * width) for sign in (1.0, -1.0)]
    return (values[0] - values[1]) / (2.0 * width)


def _value(scores: Scores, text: Text, step: Array) -> float:
    """The rollout's log-probability with the coordinates moved by `step`; they are put back to the bit."""
    tokens = torch.tensor([[*text.prompt, *text.ids]])
    own = torch.tensor(text.mask, dtype=torch.float64)
    before = [parameter.detach().clone() for _, parameter in scores.chosen]
    moved = torch.from_numpy(step)
    try:
        with torch.no_grad():
            at = 0
            for _, parameter in scores.chosen:
                parameter.add_(moved[at : at + parameter.numel()].view_as(parameter))
                at += parameter.numel()
            logps = token_logps(scores.model, tokens, scores.temperature)[0, len(text.prompt) - 1 :]
            return float((logps * own).sum())
    finally:
        with torch.no_grad():
            for (_, parameter), old in zip(scores.chosen, before, strict=True):
                parameter.copy_(old)


def _trainer_gradient(
    found: Trained, model: Any, texts: Sequence[Text], advantages: Array, dtype: torch.dtype
) -> Array:
    """Minus the gradient of the trainer's loss on one micro-batch, in the order of the trained tensors."""
    run = found.run
    with tempfile.TemporaryDirectory(prefix="study-probe-") as name:
        folder = Path(name)
        parts = Parts(model, step_zero.small_wire(run), lambda *_: None)
        assembly = assemble(run, parts, folder, Log.begin(folder, None), Progress(0, 1), lambda _: None)
        trainer = assembly.trainer
        now = Step(0, [], [], [])
        now.weights, now.log_ratios = [None] * len(texts), [None] * len(texts)
        trainer._now = now
        trained = [p for p in model.parameters() if p.requires_grad]
        for parameter in trained:
            parameter.grad = None
        model.eval()
        batch = _batch(texts, advantages, dtype)
        if dtype == torch.float64:
            with DoublePrecision():
                loss = trainer._compute_loss(model, batch)
        else:
            loss = trainer._compute_loss(model, batch)
        loss.backward()
        parts_of = [p.grad.reshape(-1).double() for p in trained if p.grad is not None]
        gradient: Array = -torch.cat(parts_of).numpy()
        return gradient


def _batch(texts: Sequence[Text], advantages: Array, dtype: torch.dtype) -> dict[str, Any]:
    """A micro-batch as TRL lays it out: prompts padded on the left, completions on the right."""
    prompt = max(len(text.prompt) for text in texts)
    completion = max(len(text.ids) for text in texts)

    def left(values: Sequence[int]) -> list[int]:
        return [0] * (prompt - len(values)) + list(values)

    def right(values: Sequence[float]) -> list[float]:
        return [*values, *([0] * (completion - len(values)))]

    return {
        "prompt_ids": torch.tensor([left(text.prompt) for text in texts]),
        "prompt_mask": torch.tensor([left([1] * len(text.prompt)) for text in texts]),
        "completion_ids": torch.tensor([right(text.ids) for text in texts]),
        "completion_mask": torch.tensor([right([1] * len(text.ids)) for text in texts]),
        "tool_mask": torch.tensor([right(text.mask) for text in texts]),
        "sampling_per_token_logps": torch.tensor([right(text.logps) for text in texts], dtype=dtype),
        "advantages": torch.tensor(advantages, dtype=dtype),
        "num_items_in_batch": torch.tensor(float(sum(sum(text.mask) for text in texts)), dtype=dtype),
        "row_index": torch.arange(len(texts)),
    }
