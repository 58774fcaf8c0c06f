"""What `study train --dry-run` examines: config, data, prompts, adapters, sampling, memory. Loads no weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from study.config.run_config import PretrainedPolicy, RunConfig

FORMAT = "study.dry-run/1"
_SHOWN = 3


def report(run: RunConfig) -> dict[str, Any]:
    """Everything about a run that can be known without training it; `text` is for a person."""
    from study.training import preflight
    from study.training.dataset import Tasks, rows
    from study.training.settings import trl_arguments

    tasks = Tasks(run)
    order = rows(run, tasks)
    problems = preflight.problems(run)
    value: dict[str, Any] = {
        "format": FORMAT,
        "run_id": run.run_id,
        "config_digest": run.digest,
        "config": run.model_dump(mode="json"),
        "pools": tasks.digests,
        "rows": len(order),
        "first_tasks": [row["task"] for row in order[:_SHOWN]],
        "trainer": trl_arguments(run, Path("DIR/checkpoints")),
        "can_start": not problems,
        "problems": [{"what": one.what, "remedy": one.remedy} for one in problems],
    }
    policy = run.tier.policy
    value |= _pretrained(run, order) if isinstance(policy, PretrainedPolicy) else _small(run, order)
    return value | {"text": _text(run, value)}


def _small(run: RunConfig, order: list[dict[str, Any]]) -> dict[str, Any]:
    from study.config.run_config import step_zero_digest
    from study.training.step_zero import small_wire

    wire = small_wire(run)
    prompts = [row["prompt"][0]["content"] for row in order]
    lengths = [len(wire.prompt(prompt)) for prompt in prompts]
    return {
        "language": wire.digest,
        "vocabulary": wire.size,
        "step_zero": step_zero_digest(run),
        "prompts": {"longest_tokens": max(lengths), "first": prompts[:_SHOWN]},
        "sampling": {"engine": "lockstep", "seed_of": "(run seed, step, row, slot, turn)"},
    }


def _pretrained(run: RunConfig, order: list[dict[str, Any]]) -> dict[str, Any]:
    import torch

    from study.backoffice.profiles import profile_named
    from study.backoffice.toolset import schemas
    from study.training import memory, natural
    from study.training.model import CausalLM, adapt, adapter_size, published_shape
    from study.training.seeds import integer

    with torch.device("meta"):
        model = adapt(CausalLM(published_shape()), run.tier.lora, run.seed)
    modules, coordinates = adapter_size(model)
    tools = schemas(profile_named(run.tier.world.profile))
    messages = [
        {"role": "system", "content": natural.SYSTEM},
        {"role": "user", "content": order[0]["prompt"][0]["content"]},
    ]
    text = natural.render(messages, tools, generation=True)
    settings = run.tier.rollouts
    seats = [(0, slot) for slot in range(settings.group_size)]
    return {
        "prompts": {"first_characters": len(text), "first": text},
        "adapter": {"modules": modules, "coordinates": coordinates},
        "sampling": {
            "engine": "vllm",
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "top_k": settings.top_k,
            "max_tokens": settings.max_turn_tokens,
            "first_group_seeds": [
                integer("sample", run.seed, 0, row, slot, 0, bits=62) for row, slot in seats
            ],
        },
        "memory_gib": dict(memory.plan(run).lines()),
    }


def _text(run: RunConfig, value: dict[str, Any]) -> str:
    lines = [
        f"run       {run.run_id}",
        f"digest    {run.digest}",
        f"rows      {value['rows']} groups of {run.tier.rollouts.group_size}, first {', '.join(value['first_tasks'])}",
        *(f"pool      {name} {digest[:16]}" for name, digest in value["pools"].items()),
    ]
    if "adapter" in value:
        lines.append(
            f"adapters  {value['adapter']['modules']} modules, {value['adapter']['coordinates']:,} coordinates"
        )
        lines += [f"memory    {size:8.2f} GiB  {name}" for name, size in value["memory_gib"].items()]
        lines.append("          an estimate from shapes; never compared with a GPU")
        seeds = value["sampling"]["first_group_seeds"]
        lines.append(f"seeds     of the first group's siblings: {len(set(seeds))} different of {len(seeds)}")
    else:
        lines.append(f"step 0    {value['step_zero'][:16]}, vocabulary {value['vocabulary']}")
    lines += [f"missing   {one['what']}. {one['remedy']}" for one in value["problems"]]
    lines.append("can start here" if value["can_start"] else "cannot start here")
    return "\n".join(lines) + "\n"
