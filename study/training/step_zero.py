"""The policy that both arms of a seed start from: built once, saved whole, loaded by its digest.

    <store>/base-<digest>/  model.safetensors    the warm-started base, frozen from here on, one for all seeds
                            base.json            format, digest of what determined it, of each file, pool, figures
    <store>/<digest>/       adapter.safetensors  the fresh adapters of one seed
                            step_zero.json       format, digests, the base it belongs to

The digests cover policy, warm start, adapters and seed, never the condition or the arm, so the two arms of a seed
load the same bytes (trl#6688). A store is any folder; two processes that build the same thing at once write the
same bytes and one of them wins the rename.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from prereg_kit.errors import Where
from prereg_kit.foundation.digest import readable_json, sha256_file
from prereg_kit.foundation.durable import sync_folder, write_bytes
from study.backoffice.profiles import profile_named
from study.config.run_config import RunConfig, SmallPolicy, WarmStart, base_digest, step_zero_digest
from study.errors import ConfigError
from study.runs.step_zero_record import (
    ADAPTER,
    BASE_FORMAT,
    FORMAT,
    MODEL,
    base_folder,
    hold,
    read_base,
    read_start,
    start_folder,
    weights_of,
)
from study.training import model as models
from study.training import warm_start
from study.training.tokenizer import CompactWire
from study.training.weights import fit, read_weights

Told = Callable[[int, int, float], None]


@dataclass(frozen=True)
class StepZero:
    """A loaded start.

    Attributes:
        model: the PEFT model, adapters trainable, base frozen.
        record: step_zero.json.
        folder: where it lies.
    """

    model: Any
    record: dict[str, Any]
    folder: Path


def small_wire(run: RunConfig) -> CompactWire:
    """The language of a small policy.

    Raises:
        ConfigError: a profile without a closed vocabulary.
    """
    profile = profile_named(run.tier.world.profile)
    if profile.language.results != "compact":
        raise ConfigError(
            "a small policy needs a profile with a closed vocabulary",
            where=Where(field="world.profile"),
            expected="compact or drill",
            found=profile.name,
        )
    return CompactWire(profile, run.tier.traps.argument_coercion)


def _fresh(run: RunConfig, wire: CompactWire) -> Any:
    policy = run.tier.policy
    if not isinstance(policy, SmallPolicy):
        raise ConfigError("only a small policy has a warm start", where=Where(field="policy.kind"))
    (stop,) = wire.stop
    config = models.small_config(policy, wire.size, run.tier.rollouts.context, stop, wire.pad)
    return models.small_model(policy, config, _warm_start(run).seed)


def _warm_start(run: RunConfig) -> WarmStart:
    if run.tier.warm_start is None:
        raise ConfigError("a randomly initialised policy needs a warm start", where=Where(field="warm_start"))
    return run.tier.warm_start


def _keep(
    target: Path, record_name: str, files: dict[str, dict[str, Tensor]], record: dict[str, Any]
) -> Path:
    """Write a folder aside and rename it; an equal one that came first wins."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    part.mkdir(parents=True)
    try:
        for name, tensors in files.items():
            save_file(tensors, part / name)
        record = record | {"files": {name: sha256_file(part / name) for name in sorted(files)}}
        write_bytes(part / record_name, readable_json(record))
        try:
            part.rename(target)
        except OSError:
            if not (target / record_name).exists():
                raise
        sync_folder(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def build_base(run: RunConfig, store: Path, told: Told | None = None) -> Path:
    """Warm-start the base of a run's tier, unless the store has it; its folder.

    Args:
        run: the resolved run.
        store: folder of step-0 checkpoints; made if absent.
        told: called with (step, steps, loss) during the warm start.
    """
    digest = base_digest(run)
    target = base_folder(run, store)
    if (target / "base.json").exists():
        return target
    wire = small_wire(run)
    profile = profile_named(run.tier.world.profile)
    setting = _warm_start(run)
    base = _fresh(run, wire)
    figures = warm_start.learn(
        base,
        wire,
        profile,
        setting,
        None if told is None else lambda step, loss: told(step, setting.steps, loss),
    )
    weights = {name: t.contiguous() for name, t in base.state_dict().items() if name != "lm_head.weight"}
    record = {
        "format": BASE_FORMAT,
        "digest": digest,
        "vocabulary": wire.digest,
        "profile": profile.digest(),
        "pool": warm_start.pool_digest(profile, setting),
        "figures": figures,
    }
    return _keep(target, "base.json", {MODEL: weights}, record)


def build(run: RunConfig, store: Path, told: Told | None = None) -> Path:
    """Make the step-0 checkpoint of a run's seed, unless the store has it; its folder.

    Args:
        run: the resolved run.
        store: folder of step-0 checkpoints; made if absent.
        told: called with (step, steps, loss) during the warm start.
    """
    digest = step_zero_digest(run)
    target = start_folder(run, store)
    base_at = build_base(run, store, told)
    if (target / "step_zero.json").exists():
        return target
    of_base = read_base(base_at)
    adapted = models.adapt(
        _loaded_base(run, base_at, of_base["files"][MODEL]),
        run.tier.lora,
        run.seed,
        adapter_seed=run.tier.traps.adapter_seed,
    )
    record = {
        "format": FORMAT,
        "digest": digest,
        "seed": run.seed,
        "base": {"folder": base_at.name, **of_base},
    }
    return _keep(target, "step_zero.json", {ADAPTER: adapter_state(adapted)}, record)


def _loaded_base(run: RunConfig, folder: Path, digest: str) -> Any:
    wire = small_wire(run)
    expected = {
        "format": BASE_FORMAT,
        "digest": base_digest(run),
        "vocabulary": wire.digest,
        "profile": profile_named(run.tier.world.profile).digest(),
    }
    hold(read_base(folder), expected, folder)
    base = _fresh(run, wire)
    weights = read_weights(folder / MODEL, digest)
    own = {name: tensor for name, tensor in base.state_dict().items() if name != "lm_head.weight"}
    fit(folder / MODEL, weights, own)
    base.load_state_dict(weights, strict=False)
    base.tie_weights()
    return base


def load(run: RunConfig, folder: Path) -> StepZero:
    """Load a step-0 checkpoint for training.

    Raises:
        NotCheckedError: there is none.
        StudyError: it is damaged, belongs to another config, or to another vocabulary than this code's.
    """
    record = read_start(folder)
    hold(record, {"format": FORMAT, "digest": step_zero_digest(run)}, folder)
    of_base, of_adapter = weights_of(record)
    base = _loaded_base(run, base_folder(run, folder.parent), of_base)
    adapted = models.adapt(base, run.tier.lora, run.seed, adapter_seed=run.tier.traps.adapter_seed)
    if (
        run.tier.traps.adapter_seed == "clean"
    ):  # under `paper` each process keeps the adapters that it drew itself
        load_adapter(adapted, read_weights(folder / ADAPTER, of_adapter), folder / ADAPTER)
    return StepZero(adapted, record, folder)


def adapter_state(adapted: Any) -> dict[str, Tensor]:
    """The trainable tensors of a PEFT model by name."""
    return {name: p.detach().clone() for name, p in adapted.named_parameters() if p.requires_grad}


def load_adapter(adapted: Any, state: dict[str, Tensor], path: Path) -> None:
    """Put adapter tensors into a PEFT model.

    Args:
        adapted: the model.
        state: by name.
        path: where they come from, for the error.

    Raises:
        StudyError: other names, shapes or types than the model's, or a value that is not finite.
    """
    own = {name: p for name, p in adapted.named_parameters() if p.requires_grad}
    fit(path, state, own)
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(state[name])
