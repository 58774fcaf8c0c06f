"""A prepared check for a machine with one GPU: `make check-gpu`, or `python -m study.training.gpu_check [--no-engine]`.

NEVER RUN so far: no GPU was at hand when it was written. It needs no published weights. A randomly initialised
model of the full shape goes through kernels, adapters and one backward pass. Then the engine that a run starts is
started with weights of its own, samples, takes a weight push and samples again: after the push, and not before, its
probabilities must be the trainer's. Each line that is printed is a measurement. Exit code 0 if all is as the full
tier needs it, 1 if something is not, 3 if there is no GPU and nothing was checked.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from study.config.file import read_tier, resolve
from study.config.run_config import PretrainedPolicy, RunConfig
from study.errors import ConfigError
from study.training import delta_rule, engine, memory, seeds
from study.training import model as models
from study.training.weight_sync import WeightSync, prefix_of

GIB = 2**30
PROMPT = list(range(1000, 1064))
SIBLINGS = 8
AGREE = 0.1  # nats a token; bf16 rounding stays below it
APART = 5.0  # times that distance: what another model is away at least


class Checks:
    """Collects what was found and prints it as it comes."""

    def __init__(self) -> None:
        self.failed = 0

    def say(self, name: str, found: object, ok: bool = True) -> None:
        """Print one line."""
        self.failed += not ok
        sys.stdout.write(f"{'ok  ' if ok else 'FAIL'} {name}: {found}\n")
        sys.stdout.flush()


def model_checks(checks: Checks, run: RunConfig) -> Any:
    """Kernels, adapters, one forward and backward pass, and the memory it took."""
    for name, origin in delta_rule.bound().items():
        checks.say(name, origin, name != "chunk_gated_delta_rule" or origin.startswith("fla."))
    torch.manual_seed(0)
    with torch.device("cuda"):
        base = models.CausalLM(models.published_shape()).to(torch.bfloat16)
    model: Any = models.adapt(base, run.tier.lora, run.seed)
    policy = run.tier.policy
    if not isinstance(policy, PretrainedPolicy):
        raise ConfigError("not a tier for a published model", found=run.tier.name)
    found = models.adapter_size(model)
    checks.say("adapters", found, found == (policy.adapter_modules, policy.adapter_coordinates))
    model.get_base_model().gradient_checkpointing_enable()
    model.enable_input_require_grads()
    tokens = torch.randint(0, 200_000, (run.tier.optimisation.micro_batch, 4096), device="cuda")
    torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    logits = model(input_ids=tokens, logits_to_keep=2048, use_cache=False).logits.float()
    loss: Any = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, -2048:].flatten())
    loss.backward()
    torch.cuda.synchronize()
    norm = sum(float(p.grad.float().norm() ** 2) for p in model.parameters() if p.grad is not None) ** 0.5
    checks.say("loss and gradient norm", (float(loss), norm), 0 < norm < float("inf"))
    checks.say("seconds for 2 x 4096 tokens", round(time.perf_counter() - started, 2))
    peak = torch.cuda.max_memory_allocated() / GIB
    planned = memory.plan(run).training / GIB
    checks.say("peak GiB, and the plan for 2 x 6144", (round(peak, 1), round(planned, 1)), peak < planned)
    return model


def sync_checks(checks: Checks, model: Any) -> None:
    """The out-of-place merge leaves the base alone; how far the bf16 sampler is from the intended policy."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=1e-4)
    seen: dict[str, torch.Tensor] = {}
    started = time.perf_counter()
    WeightSync(model, seen.update, prefix_of("Qwen3_5ForCausalLM"), "clean").push(0)
    checks.say("weight sync with proof, seconds", round(time.perf_counter() - started, 2), bool(seen))
    name, module = next((n, m) for n, m in model.get_base_model().named_modules() if hasattr(m, "lora_A"))
    delta = module.get_delta_weight("default").float()
    moved = seen[f"{name}.weight"].float() - module.base_layer.weight.float()
    checks.say(
        "share of the first update that bf16 rounding loses", float((moved - delta).norm() / delta.norm())
    )


def engine_checks(checks: Checks, run: RunConfig, model: Any) -> None:
    """The engine of a run, without the published weights: it samples, takes a push, and samples by the pushed ones."""
    with tempfile.TemporaryDirectory() as place:
        _write_config(Path(place))
        llm = engine.start(
            place,
            run.tier.rollouts,
            SIBLINGS,
            load_format="dummy",  # random weights of the published class's own shape
            skip_tokenizer_init=True,
            language_model_only=True,
        )
        inner = engine.model_of(llm)
        checks.say("class of the engine's model", type(inner).__name__, type(inner).__name__ == _PUBLISHED)
        before = _gap(model, *_sampled(llm, run)[0])
        WeightSync(model, inner.load_weights, prefix_of(type(inner).__name__), "clean").push(0)
        first, again = _sampled(llm, run), _sampled(llm, run)
        after = _gap(model, *first[0])
        checks.say("nats a token between trainer and engine, after the push", after, after < AGREE)
        checks.say("the same before the push, with weights of its own", before, before > APART * after)
        texts = {tuple(tokens) for tokens, _ in first}
        checks.say(f"different siblings of {SIBLINGS}", len(texts), len(texts) == SIBLINGS)
        same = sum(one == other for (one, _), (other, _) in zip(first, again, strict=True))
        checks.say(
            f"siblings repeated by equal seeds, of {SIBLINGS} (a figure of statistics, not promised)", same
        )


_PUBLISHED = "Qwen3_5ForConditionalGeneration"


def _write_config(folder: Path) -> None:
    """A config.json of the published shape: language model and vision tower, no weights."""
    from transformers.models.qwen3_5 import Qwen3_5Config

    config = Qwen3_5Config(text_config=models.published_shape().to_dict(), tie_word_embeddings=True)
    value = config.to_dict() | {"architectures": [_PUBLISHED], "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(value))


def _sampled(llm: Any, run: RunConfig) -> list[tuple[list[int], list[float]]]:
    """Tokens and log-probabilities of eight siblings, each with a seed of its own."""
    from vllm import SamplingParams

    params = [
        SamplingParams(
            temperature=1.0,
            max_tokens=64,
            logprobs=0,
            detokenize=False,
            seed=seeds.integer("sample", run.seed, 0, 0, slot, 0, bits=62),
        )
        for slot in range(SIBLINGS)
    ]
    prompt = {"prompt_token_ids": PROMPT}
    found = []
    for output in llm.generate([prompt] * SIBLINGS, sampling_params=params, use_tqdm=False):
        answer = output.outputs[0]
        tokens = list(answer.token_ids)
        logps = [row[token].logprob for row, token in zip(answer.logprobs, tokens, strict=True)]
        found.append((tokens, logps))
    return found


def _gap(model: Any, sampled: list[int], logps: list[float]) -> float:
    """Mean distance between the trainer's and the engine's log-probabilities of the sampled tokens."""
    tokens = torch.tensor([PROMPT + sampled], device="cuda")
    with torch.no_grad():
        logits = model(input_ids=tokens, use_cache=False).logits[0, len(PROMPT) - 1 : -1].float()
    ours = logits.log_softmax(-1).gather(1, tokens[0, len(PROMPT) :].unsqueeze(1)).squeeze(1)
    return float((ours.cpu() - torch.tensor(logps)).abs().mean())


def main() -> int:
    """Run all checks that this machine allows."""
    checks = Checks()
    if not torch.cuda.is_available():
        sys.stdout.write("FAIL no GPU is visible to torch; nothing was checked\n")
        return 3
    checks.say("device", torch.cuda.get_device_name(0))
    run = resolve(read_tier("full"), condition="C2", arm="paired", seed=0)
    model = model_checks(checks, run)
    sync_checks(checks, model)
    if "--no-engine" not in sys.argv:
        engine_checks(checks, run, model)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
