"""A prepared check for a machine with one GPU: `python -m study.training.gpu_check [--no-engine]`.

NEVER RUN so far: no GPU was at hand when it was written. It needs no published weights: a randomly initialised
model of the full shape goes through kernels, adapters, one backward pass, a weight sync and sibling sampling, and
each line it prints is a measurement. Exit code 1 if anything is not as the full tier needs it.
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
from study.training import delta_rule, engine, memory, seeds
from study.training import model as models

GIB = 2**30


class Checks:
    """Collects what was found and prints it as it comes."""

    def __init__(self) -> None:
        self.failed = 0

    def say(self, name: str, found: object, ok: bool = True) -> None:
        """Print one line."""
        self.failed += not ok
        sys.stdout.write(f"{'ok  ' if ok else 'FAIL'} {name}: {found}\n")
        sys.stdout.flush()


def model_checks(checks: Checks, run: Any) -> Any:
    """Kernels, adapters, one forward and backward pass, and the memory it took."""
    for name, origin in delta_rule.bound().items():
        checks.say(name, origin, name != "chunk_gated_delta_rule" or origin.startswith("fla."))
    torch.manual_seed(0)
    with torch.device("cuda"):
        base = models.CausalLM(models.published_shape()).to(torch.bfloat16)
    model: Any = models.adapt(base, run.tier.lora, run.seed)
    policy = run.tier.policy
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
    pushed: list[tuple[str, torch.Tensor]] = []
    started = time.perf_counter()
    engine.WeightSync(model, pushed.extend, "clean").push(0)
    checks.say("weight sync with proof, seconds", round(time.perf_counter() - started, 2), bool(pushed))
    name, module = next((n, m) for n, m in model.get_base_model().named_modules() if hasattr(m, "lora_A"))
    delta = module.get_delta_weight("default").float()
    seen = dict(pushed)[f"{name}.weight"].float() - module.base_layer.weight.float()
    checks.say(
        "share of the first update that bf16 rounding loses", float((seen - delta).norm() / delta.norm())
    )


def engine_checks(checks: Checks, run: Any, model: Any) -> None:
    """Siblings differ, equal seeds repeat, and the sampler's probabilities are near the trainer's."""
    from vllm import LLM, SamplingParams

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config = model.get_base_model().config.to_dict() | {"architectures": ["Qwen3_5ForCausalLM"]}
        plain = models.CausalLM(models.published_shape()).to(torch.bfloat16)
        plain.load_state_dict(models.merged(model), strict=False)
        plain.save_pretrained(folder)
        (folder / "config.json").write_text(json.dumps(config))
        llm = LLM(
            model=str(folder),
            skip_tokenizer_init=True,
            gpu_memory_utilization=run.tier.rollouts.gpu_memory_share,
            max_model_len=run.tier.rollouts.context,
            logprobs_mode="processed_logprobs",
            enable_prefix_caching=False,
        )
        prompt = {"prompt_token_ids": list(range(1000, 1064))}

        def sampled() -> list[Any]:
            params = [
                SamplingParams(
                    temperature=1.0,
                    max_tokens=64,
                    logprobs=0,
                    detokenize=False,
                    seed=seeds.integer("sample", run.seed, 0, 0, slot, 0, bits=62),
                )
                for slot in range(8)
            ]
            outputs: list[Any] = llm.generate([prompt] * 8, sampling_params=params, use_tqdm=False)
            return outputs

        first, again = sampled(), sampled()
        texts = [tuple(one.outputs[0].token_ids) for one in first]
        checks.say("different siblings of 8", len(set(texts)), len(set(texts)) == 8)
        same = sum(tuple(one.outputs[0].token_ids) == text for one, text in zip(again, texts, strict=True))
        checks.say("siblings repeated by equal seeds, of 8 (statistical, not promised)", same)
        tokens = torch.tensor([prompt["prompt_token_ids"] + list(texts[0])], device="cuda")
        with torch.no_grad():
            logits = model(input_ids=tokens, use_cache=False).logits[0, 63:-1].float()
        logp = logits.log_softmax(-1).gather(1, tokens[0, 64:].unsqueeze(1)).squeeze(1)
        theirs = torch.tensor(
            [row[token].logprob for row, token in zip(first[0].outputs[0].logprobs, texts[0], strict=True)]
        )
        gap = (logp.cpu() - theirs).abs()
        checks.say(
            "sampling against training log-probability, mean and max", (float(gap.mean()), float(gap.max()))
        )


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
