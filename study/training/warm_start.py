"""Supervised learning on the noisy expert, to partial competence: what the small policy starts from.

Demonstrations are drawn fresh for every step from the pool `warmup`, which no training or evaluation task belongs
to, each under its own schedule. The loss is over the expert's calls only; replies and requests are context.
Rows of a batch are passed in length order in two halves, which changes nothing but the padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from prereg_kit.digest import canonical_json, sha256_bytes
from study.backoffice.faults import CompiledLaw, compile_law
from study.backoffice.pools import WARMUP, warmup_task
from study.backoffice.profile import Profile
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import schedule_seed
from study.config import WarmStart
from study.errors import ConfigError
from study.training import seeds
from study.training.expert import demonstrate
from study.training.tokenizer import CompactWire

_RAMP = 40  # steps of linear rise of the learning rate
_PARTS = 2


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
    draws: Iterator[float] = seeds.uniforms(seeds.key("expert", setting.seed, index))
    schedule = schedule_seed("warm", setting.seed, index)
    exchanges, success = demonstrate(task, law, schedule, draws, setting.reaction, setting.branch)
    tokens = wire.prompt(task.request)
    own = [0] * len(tokens)
    for exchange in exchanges:
        call = wire.written(exchange.name, exchange.arguments)
        tokens += call
        own += [1] * len(call)
        if exchange is not exchanges[-1]:
            reply = wire.result(exchange.name, exchange.reply)
            tokens += reply
            own += [0] * len(reply)
    return Demonstration(tokens, own, success)


def batch_at(
    profile: Profile, wire: CompactWire, setting: WarmStart, law: CompiledLaw, step: int, cursor: int
) -> tuple[list[Demonstration], int]:
    """The batch of a step and the pool index after its last task.

    In the first `short_steps` only tasks of one sub-request are taken: ids are copied soonest where sequences are
    short, and such a batch costs a third.
    """
    short = step < setting.short_steps
    rows: list[Demonstration] = []
    while len(rows) < (setting.short_batch if short else setting.batch):
        if not short or len(warmup_task(profile, cursor).parts) == 1:
            rows.append(demonstration(profile, wire, setting, law, cursor))
        cursor += 1
    return rows, cursor


def law_at(rate: float) -> CompiledLaw:
    """The default mixture at a rate that a regime has.

    Raises:
        ConfigError: no regime has this rate.
    """
    for law in REGIMES.values():
        if float(law.rate) == rate and law.weights == REGIMES["faults_p25"].weights and not law.challenge:
            return compile_law(law)
    raise ConfigError("no regime has this fault rate", found=rate)


def pool_digest(profile: Profile, tasks: int) -> str:
    """SHA-256 that names the warm-up tasks used: profile, pool and range determine them."""
    value = {"profile": profile.digest(), "pool": WARMUP, "first": 0, "tasks": tasks}
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
    """
    law = law_at(setting.fault_rate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setting.learning_rate, weight_decay=0.0)
    model.train()
    wins = seen = 0
    recent: list[float] = []
    cursor = 0
    for step in range(setting.steps):
        rows, cursor = batch_at(profile, wire, setting, law, step, cursor)
        wins += sum(row.success for row in rows)
        seen += len(rows)
        rows.sort(key=lambda row: len(row.tokens))
        count = sum(sum(row.own) for row in rows)
        size = -(-len(rows) // _PARTS)
        total = 0.0
        for start in range(0, len(rows), size):
            loss = batch_loss(model, rows[start : start + size], wire.pad) / count
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, setting)
        optimizer.step()
        optimizer.zero_grad()
        recent = [*recent[-49:], total]
        if told is not None and (step + 1) % 10 == 0:
            told(step + 1, sum(recent) / len(recent))
    model.eval()
    return {"loss": sum(recent) / len(recent), "demonstrated": wins / seen, "tasks": cursor}
