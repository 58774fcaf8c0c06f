"""Whole turns from an engine with vllm's interface: one request a rollout, each with its own seed.

TRL's colocated sampler seeds the engine by process index and gives every request of a batch one SamplingParams, so
`args.seed` does nothing and a seed in `generation_kwargs` makes siblings identical (trl#7040). Here every request
carries the seed of (run, step, row, slot, turn); the trap `sampler_seed` keeps upstream's behaviour under `paper`.
Nothing here imports vllm before `start`. The tests use a fake engine with the same interface.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from study.config.run_config import Rollouts
from study.errors import CannotStartError, StudyError
from study.training.divergence import require_probabilities
from study.training.rollout import Rollout


def start(model_path: str, settings: Rollouts, rows: int, **options: Any) -> Any:
    """A colocated vllm engine with the arguments that TRL 1.12.0 gives it.

    Args:
        model_path: name or folder of the weights.
        settings: context and memory share.
        rows: most sequences at once.
        **options: further arguments of `LLM`, for a check without weights or tokenizer.

    Raises:
        CannotStartError: vllm is not installed.
    """
    try:
        from vllm import LLM
    except ImportError as error:
        raise CannotStartError(
            "the full tier samples with vllm, which is not installed",
            next_step="Install the gpu extra: pip install 'prereg-kit[study,gpu]'.",
        ) from error
    os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"})
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29411")
    return LLM(
        model=model_path,
        tensor_parallel_size=1,
        gpu_memory_utilization=settings.gpu_memory_share,
        max_model_len=settings.context,
        max_num_seqs=rows,
        distributed_executor_backend="external_launcher",
        seed=0,
        max_num_batched_tokens=4096,
        logprobs_mode="processed_logprobs",
        enable_prefix_caching=False,  # useless on gated-delta layers
        **options,
    )


def model_of(llm: Any) -> Any:
    """The engine's own model, in this process because the launcher is external; it takes pushed weights."""
    return llm.llm_engine.model_executor.driver_worker.model_runner.model


def _vllm_params(**values: Any) -> Any:
    from vllm import SamplingParams

    return SamplingParams(**values)


class TurnSampler:
    """Plays rollouts turn by turn through an engine.

    Args:
        engine: vllm's `LLM` or anything with its `generate`.
        settings: temperature, top_p, top_k.
        stop: tokens that end a turn.
        seeded: one seed per request (`clean`) or the engine's own stream (`paper`).
        params: builds one request's sampling parameters.
    """

    def __init__(
        self,
        engine: Any,
        settings: Rollouts,
        stop: Iterable[int],
        *,
        seeded: bool = True,
        params: Callable[..., Any] = _vllm_params,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._stop = sorted(stop)
        self._seeded = seeded
        self._params = params

    def request(self, rollout: Rollout) -> Any:
        """The sampling parameters of one rollout's next turn."""
        settings = self._settings
        values: dict[str, Any] = {
            "n": 1,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "top_k": settings.top_k,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "max_tokens": rollout.room(),
            "logprobs": 0,
            "stop_token_ids": self._stop,
            "detokenize": False,
        }
        if self._seeded:
            values["seed"] = rollout.engine_seed()
        return self._params(**values)

    def play(self, rollouts: Sequence[Rollout]) -> None:
        """Play every rollout to its end.

        Raises:
            StudyError: the engine returned another number of answers, or no log-probabilities.
            DivergedError: a log-probability that is not finite.
        """
        while alive := [rollout for rollout in rollouts if not rollout.done]:
            outputs = self._engine.generate(
                [{"prompt_token_ids": rollout.tokens} for rollout in alive],
                sampling_params=[self.request(rollout) for rollout in alive],
                use_tqdm=False,
            )
            if len(outputs) != len(alive):
                raise StudyError("the engine lost a request", expected=str(len(alive)), found=len(outputs))
            for rollout, output in zip(alive, outputs, strict=True):
                answer = output.outputs[0]
                if answer.logprobs is None or len(answer.logprobs) != len(answer.token_ids):
                    raise StudyError("the engine returned no log-probability for a token it sampled")
                tokens = list(answer.token_ids)
                logps = [
                    float(row[token].logprob) for row, token in zip(answer.logprobs, tokens, strict=True)
                ]
                require_probabilities(logps)
                if not tokens:
                    rollout.done = True
                    continue
                rollout.turn_of(tokens, logps)
