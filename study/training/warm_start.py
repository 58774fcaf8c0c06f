"""Supervised learning on the noisy expert, to partial competence: what the small policy starts from.

Demonstrations are drawn fresh for every step from the pool `warmup`, which no training or evaluation task belongs
to, each under its own schedule. The loss is over the expert's calls only; replies and requests are context.
Rows of a batch are passed in length order in two halves, which changes nothing but the padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.faults import CompiledLaw, compile_law
from study.backoffice.pools import WARMUP, warmup_task
from study.backoffice.profile import TEMPLATES, Profile
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import schedule_seed
from study.config.run_config import WarmStart
from study.errors import ConfigError
from study.training import seeds
from study.training.divergence import require
from study.training.expert import demonstrate
from study.training.tokenizer import CompactWire

_RAMP = 40  # steps of linear rise of the learning rate
_PARTS = 2
_SHORT_WEIGHTS = {
    "address_change": 60,
    "cancel_pending": 10,
    "cancel_refund": 30,
    "partial_refund": 60,
    "reserve_ship": 50,
    "ship_reserved": 40,
    "ticket_order": 30,
    "ticket_customer": 30,
}


@dataclass(frozen=True)
class Demonstration:
    """Tokens of one demonstration and which of them are the expert's own."""

    tokens: list[int]
    own: list[int]
    success: bool


def demonstration(
    profile: Profile, wire: CompactWire, setting: WarmStart, law: CompiledLaw, index: int
) -> Demonstration:
    """Demonstration `index`: task `index` of the warm-up pool under its own schedule."""
    task = warmup_task(profile, index)
    draws: Iterator[float] = seeds.uniforms(seeds.key("expert", setting.seed, task.task_id))
    schedule = schedule_seed("warm", setting.seed, task.task_id)
    exchanges, success = demonstrate(task, law, schedule, draws, setting.reaction, setting.branch)
    tokens = wire.prompt(task.request)
    own = [0] * len(tokens)
    for exchange in exchanges:
        call = wire.written(exchange.name, exchange.arguments)
        tokens += call
        own += [1] * len(call)
        if exchange is not exchanges[-1]:
            reply = wire.results([exchange.reply])
            tokens += reply
            own += [0] * len(reply)
    return Demonstration(tokens, own, success)


def stages(profile: Profile, setting: WarmStart) -> list[tuple[Profile, int, int]]:
    """(profile, steps, batch) of the three stages: partial refunds, one sub-request, tasks as in the pools.

    Ids are copied soonest where sequences are short. Which of two amounts belongs to a product is one token in a
    refund; among other tasks it is still a coin's toss after ten thousand refunds, alone it is learned in as many.
    """
    rest = setting.steps - setting.refund_steps - setting.short_steps
    return [
        (_only(profile, "refunds", {"partial_refund": 1}), setting.refund_steps, setting.short_batch),
        (_only(profile, "short", _SHORT_WEIGHTS), setting.short_steps, setting.short_batch),
        (profile, rest, setting.batch),
    ]


def _only(profile: Profile, name: str, weights: Mapping[str, int]) -> Profile:
    """The same world and words with tasks of one sub-request."""
    numbers = tuple(weights.get(template, 0) for template in TEMPLATES)
    world = replace(profile.world, template_weights=numbers, count_weights=(1, 0, 0))
    return replace(profile, name=f"{profile.name}-{name}", world=world)


def batch_at(
    profile: Profile, wire: CompactWire, setting: WarmStart, law: CompiledLaw, step: int
) -> list[Demonstration]:
    """The batch of a step, demonstrations counted on within its stage."""
    if step >= setting.steps - setting.late_steps:
        setting = setting.model_copy(update={"reaction": setting.late_reaction})
    for world, steps, size in stages(profile, setting):
        if step < steps:
            first = step * size
            return [demonstration(world, wire, setting, law, index) for index in range(first, first + size)]
        step -= steps
    raise ConfigError("a step beyond the warm start", expected=f"fewer than {setting.steps}")


def law_at(rate: float) -> CompiledLaw:
    """The default mixture at a rate that a regime has.

    Raises:
        ConfigError: no regime has this rate.
    """
    for law in REGIMES.values():
        if float(law.rate) == rate and law.weights == REGIMES["faults_p25"].weights and not law.challenge:
            return compile_law(law)
    raise ConfigError("no regime has this fault rate", found=rate)


def pool_digest(profile: Profile, setting: WarmStart) -> str:
    """SHA-256 that names the warm-up tasks used: profiles, pool and ranges determine them."""
    value = {
        "pool": WARMUP,
        "tasks": [[world.digest(), steps * size] for world, steps, size in stages(profile, setting)],
    }
    return sha256_bytes(canonical_json(value))


def rate_at(step: int, setting: WarmStart) -> float:
    """Learning rate of a step: linear rise, then a cosine to `final_fraction` of the peak."""
    if step < _RAMP:
        return setting.learning_rate * (step + 1) / _RAMP
    progress = (step - _RAMP) / max(1, setting.steps - _RAMP)
    low = setting.final_fraction
    return setting.learning_rate * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * progress)))


def batch_loss(model: Any, batch: list[Demonstration], pad: int) -> Tensor:
    """Summed negative log-likelihood of the own tokens of some rows."""
    width = max(len(row.tokens) for row in batch)
    tokens = torch.full((len(batch), width), pad)
    own = torch.zeros((len(batch), width), dtype=torch.bool)
    for index, row in enumerate(batch):
        tokens[index, : len(row.tokens)] = torch.tensor(row.tokens)
        own[index, : len(row.own)] = torch.tensor(row.own, dtype=torch.bool)
    hidden = model.model(input_ids=tokens, use_cache=False).last_hidden_state
    where = own[:, 1:]
    logits = model.lm_head(hidden[:, :-1][where])
    return functional.cross_entropy(logits, tokens[:, 1:][where], reduction="sum")


def learn(
    model: Any,
    wire: CompactWire,
    profile: Profile,
    setting: WarmStart,
    told: Callable[[int, float], None] | None = None,
) -> dict[str, float]:
    """Train `model` in place.

    Args:
        model: a fresh small policy.
        wire: its language.
        profile: its world.
        setting: steps, batch, rates.
        told: called with (step, mean loss per own token) now and then.

    Returns:
        Final loss per own token and the share of demonstrations that succeeded.

    Raises:
        DivergedError: a loss or a gradient norm that is not finite or far too large.
    """
    law = law_at(setting.fault_rate)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=setting.learning_rate, betas=(0.9, setting.beta2), weight_decay=0.0
    )
    model.train()
    wins = seen = 0
    recent: list[float] = []
    for step in range(setting.steps):
        rows = batch_at(profile, wire, setting, law, step)
        wins += sum(row.success for row in rows)
        seen += len(rows)
        rows.sort(key=lambda row: len(row.tokens))
        count = sum(sum(row.own) for row in rows)
        size = -(-len(rows) // _PARTS)
        total = 0.0
        for start in range(0, len(rows), size):
            loss = batch_loss(model, rows[start : start + size], wire.pad) / count
            loss.backward()
            total += float(loss.detach())
        require("loss", total)
        require("gradient norm", float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, setting)
        optimizer.step()
        optimizer.zero_grad()
        recent = [*recent[-49:], total]
        if told is not None and (step + 1) % 10 == 0:
            told(step + 1, sum(recent) / len(recent))
    model.eval()
    return {"loss": sum(recent) / len(recent), "demonstrated": wins / seen}
