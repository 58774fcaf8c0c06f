"""A tier as TRL's arguments: one place where our names meet GRPOConfig's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from study.config.run_config import RunConfig


def trl_arguments(run: RunConfig, folder: Path) -> dict[str, Any]:
    """GRPOConfig's keyword arguments for a run.

    Args:
        run: the resolved run.
        folder: where checkpoints go.
    """
    tier = run.tier
    rollouts, optimisation = tier.rollouts, tier.optimisation
    passes = rollouts.prompts * rollouts.group_size // optimisation.micro_batch
    small = tier.policy.kind == "small"
    return {
        "output_dir": str(folder),
        "seed": run.seed,
        "data_seed": run.seed,
        "max_steps": optimisation.steps,
        "per_device_train_batch_size": optimisation.micro_batch,
        "gradient_accumulation_steps": passes,
        "steps_per_generation": passes,
        "num_iterations": 1,
        "num_generations": rollouts.group_size,
        "learning_rate": optimisation.learning_rate,
        "lr_scheduler_type": optimisation.schedule,
        "max_grad_norm": optimisation.max_grad_norm,
        "loss_type": optimisation.loss,
        "beta": optimisation.kl,
        "scale_rewards": run.scale_rewards,
        "temperature": rollouts.temperature,
        "top_p": rollouts.top_p,
        "top_k": rollouts.top_k,
        "max_completion_length": rollouts.max_completion,
        "max_tool_calling_iterations": rollouts.max_turns,
        "shuffle_dataset": False,  # the order of rows is the run's, keyed by its seed
        "remove_unused_columns": False,
        "use_cpu": small,
        "bf16": not small,
        "gradient_checkpointing": not small,
        "optim": "adamw_torch",
        "save_strategy": "steps",
        "save_steps": tier.checkpoint_every,
        "logging_steps": 1,
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": False,
    }
