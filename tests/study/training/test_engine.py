"""The vllm path against an engine with the same interface: a real (tiny, random) model that samples by seed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.decoders import ByteLevel
from transformers import PreTrainedTokenizerFast

from study.backoffice.episode import Episode
from study.backoffice.generate import generate
from study.backoffice.profiles import NATURAL
from study.backoffice.toolset import schemas
from study.config.file import read_tier, resolve
from study.errors import CannotStartError, StudyError
from study.training import engine, natural, seeds
from study.training.environment import LiveEpisode, law_of
from study.training.rollout import Limits, Rollout

pytestmark = pytest.mark.torch
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
         "<tool_response>", "</tool_response>"]  # fmt: skip


@pytest.fixture(scope="module")
def wire():
    """Qwen's marks over plain bytes: the real tokenizer's structure without its merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: n for n, letter in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token=MARKS[0], eos_token=MARKS[2])
    tokenizer.add_special_tokens({"additional_special_tokens": MARKS[1:]})
    tokenizer.chat_template = natural.TEMPLATE
    return natural.NaturalWire(tokenizer, NATURAL)


def said(wire, name, arguments):
    body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return wire._tokens(f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>{natural.END}")


class FakeEngine:
    """vllm's `LLM.generate` for scripted texts; a request's seed picks among several."""

    def __init__(self, texts):
        self.texts = texts  # prompt length in turns -> token lists to choose from
        self.requests = []

    def generate(self, prompts, sampling_params, use_tqdm):
        assert use_tqdm is False and isinstance(sampling_params, list)
        outputs = []
        for prompt, params in zip(prompts, sampling_params, strict=True):
            self.requests.append(params)
            options = self.texts(prompt["prompt_token_ids"])
            seed = getattr(params, "seed", None)
            generator = torch.Generator().manual_seed(0 if seed is None else seed)
            tokens = options[int(torch.randint(len(options), (), generator=generator))][: params.max_tokens]
            logprobs = [{token: SimpleNamespace(logprob=-0.5, rank=1)} for token in tokens]
            outputs.append(SimpleNamespace(outputs=[SimpleNamespace(token_ids=tokens, logprobs=logprobs)]))
        return outputs


def rollout(wire, slot=0, index=0, limits=None, secret=None):
    limits = limits or Limits(6144, 6144, 24)
    task = generate(NATURAL, "train", index)
    live = LiveEpisode(Episode(task, law_of("C0"), "0" * 32))
    secret = secret or (lambda turn: seeds.key("sample", 0, 0, 0, slot, turn))
    return Rollout(live, wire, task.request, limits, secret)


def sampler(fake, wire, **options):
    settings = read_tier("full").rollouts
    return engine.TurnSampler(fake, settings, wire.stop, params=SimpleNamespace, **options)


def planned(wire, index=0):
    """Says the plan's calls in order, told from how many replies the prompt holds."""
    task = generate(NATURAL, "train", index)
    calls = [(call.name, dict(call.arguments)) for call in task.plan] + [("finish", {})]

    def texts(tokens):
        done = wire.tokenizer.decode(tokens).count("</tool_response>")
        return [said(wire, *calls[done])]

    return texts


def test_an_oracle_through_the_engine_succeeds(wire):
    one = rollout(wire)
    sampler(FakeEngine(planned(wire)), wire).play([one])
    assert one.environment.outcome().true_success
    assert one.environment.episode.ended_by == "finish"
    own = [token for token, mask in zip(one.ids, one.mask, strict=True) if mask]
    assert wire.tokenizer.decode(own).count("<tool_call>") == one.turns
    assert set(one.logps) == {0.0, -0.5}


def test_every_request_carries_the_papers_settings_and_its_own_seed(wire):
    fake = FakeEngine(planned(wire))
    sampler(fake, wire).play([rollout(wire, slot) for slot in range(8)])
    first = fake.requests[:8]
    assert {(one.temperature, one.top_p, one.top_k, one.n) for one in first} == {(1.0, 1.0, 0, 1)}
    assert {one.max_tokens for one in first} == {6144}
    assert len({one.seed for one in fake.requests}) == len(fake.requests)  # siblings and turns
    assert all(0 <= one.seed < 2**62 for one in fake.requests)
    assert first[3].seed == seeds.integer("sample", 0, 0, 0, 3, 0, bits=62)


def test_the_trap_one_seed_for_a_batch_makes_siblings_identical(wire):
    def texts(tokens):
        return [said(wire, "get_order", {"order_id": f"O-{n}"}) for n in range(50)]

    def played(make):
        rollouts = [make(slot) for slot in range(8)]
        sampler(FakeEngine(texts), wire).play(rollouts)
        return len({tuple(one.ids[:60]) for one in rollouts})

    short = Limits(600, 6144, 1)
    assert played(lambda slot: rollout(wire, limits=short, secret=lambda turn: seeds.key("one", turn))) == 1
    assert played(lambda slot: rollout(wire, slot, limits=short)) > 4


def test_without_seeds_the_engine_draws_for_itself(wire):
    fake = FakeEngine(planned(wire))
    sampler(fake, wire, seeded=False).play([rollout(wire)])
    assert not any(hasattr(one, "seed") for one in fake.requests)


def test_an_engine_that_loses_a_request_or_its_probabilities_is_refused(wire):
    class Lossy(FakeEngine):
        def generate(self, prompts, sampling_params, use_tqdm):
            return super().generate(prompts, sampling_params, use_tqdm)[:-1]

    with pytest.raises(StudyError, match="lost a request"):
        sampler(Lossy(planned(wire)), wire).play([rollout(wire), rollout(wire, 1)])

    class Silent(FakeEngine):
        def generate(self, prompts, sampling_params, use_tqdm):
            outputs = super().generate(prompts, sampling_params, use_tqdm)
            outputs[0].outputs[0].logprobs = None
            return outputs

    with pytest.raises(StudyError, match="log-probability"):
        sampler(Silent(planned(wire)), wire).play([rollout(wire)])


def test_prompt_and_results_are_those_of_the_template(wire):
    request = generate(NATURAL, "train", 0).request
    call = {"type": "function", "function": {"name": "get_order", "arguments": {"order_id": "O-1"}}}
    messages = [*wire.messages(request), {"role": "assistant", "content": "", "tool_calls": [call]}]
    tool = {"role": "tool", "name": "get_order", "content": '{"a":1}'}
    assert wire.text(request) == natural.render(messages[:2], schemas(NATURAL), generation=True)
    whole = natural.render([*messages, tool], schemas(NATURAL), generation=True)
    until = whole.rindex(natural.END + "\n<|im_start|>user\n<tool_response>") + len(natural.END)
    assert wire.results(['{"a":1}']) == wire._tokens(whole[until:])
    assert wire.tokenizer.decode(wire.prompt(request)) == wire.text(request)


CALLS = [
    ("get_order", {"order_id": "O-1"}, '{"a":1}'),
    ("get_customer", {"customer_id": "C-2"}, " two\nlines\n"),
    ("get_order", {"order_id": "O-3"}, "{}"),
]


class Replies:
    """An episode that answers from a list and never ends."""

    over = False

    def __init__(self, texts):
        self.texts = iter(texts)

    def act(self, name, arguments):
        return next(self.texts)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_turn_of_several_calls_is_the_templates_own_conversation(wire, count):
    """What a rollout has read and said, token for token, against the template over the same messages."""
    calls = CALLS[:count]
    one = Rollout(
        Replies([text for _, _, text in calls]), wire, "do", Limits(6144, 6144, 24), lambda turn: bytes(32)
    )
    said_parts = [
        wire.tokenizer.decode(said(wire, name, arguments)).removesuffix(natural.END)
        for name, arguments, _ in calls
    ]
    turn = wire._tokens("\n".join(said_parts) + natural.END)
    one.turn_of(turn, [-0.5] * len(turn))
    asked = [{"type": "function", "function": {"name": n, "arguments": a}} for n, a, _ in calls]
    messages = [
        *wire.messages("do"),
        {"role": "assistant", "content": "", "tool_calls": asked},
        *({"role": "tool", "name": name, "content": text} for name, _, text in calls),
    ]
    assert wire.tokenizer.decode(one.tokens) == natural.render(messages, schemas(NATURAL), generation=True)
    assert one.mask.count(1) == len(turn) and not one.done


def test_calls_are_read_strictly_and_values_stay_text(wire):
    tokens = said(
        wire, "update_shipping_address", {"order_id": "O-1", "postal_code": "02139", "street": "1e3"}
    )
    assert wire.call(tokens) == [
        ("update_shipping_address", {"order_id": "O-1", "postal_code": "02139", "street": "1e3"})
    ]
    paper = natural.NaturalWire(wire.tokenizer, NATURAL, "paper")
    values = paper.call(said(wire, "x", {"postal_code": "60601", "street": "1e3", "city": "null"}))[0][1]
    assert values == {"postal_code": 60601, "street": 1000.0, "city": None}  # the trap
    assert wire.call(tokens[:-12]) == []  # cut before it is closed: no call
    both = said(wire, "a", {})[:-1] + said(wire, "b", {})
    assert [name for name, _ in wire.call(both)] == ["a", "b"]  # several in list order


def test_starting_without_vllm_says_what_to_install():
    if engine_available():
        pytest.skip("vllm is installed here")
    with pytest.raises(CannotStartError, match="not installed"):
        engine.start("somewhere", read_tier("full").rollouts, 8)


def engine_available():
    import importlib.util

    return importlib.util.find_spec("vllm") is not None


def test_the_full_tier_is_the_papers():
    from pathlib import Path

    from study.training.settings import trl_arguments

    run = resolve(read_tier("full"), condition="C2", arm="paired", seed=0)
    arguments = trl_arguments(run, Path("DIR"))
    wanted = {
        "max_steps": 100,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 96,
        "steps_per_generation": 96,
        "num_generations": 8,
        "learning_rate": 1e-5,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "beta": 0.0,
        "loss_type": "dapo",
        "scale_rewards": "group",
        "max_completion_length": 6144,
        "max_tool_calling_iterations": 24,
        "save_steps": 20,
        "bf16": True,
    }
    assert {name: arguments[name] for name in wanted} == wanted
    assert run.tier.rollouts.prompts * run.tier.rollouts.group_size == 192
    assert (run.tier.rollouts.context, run.tier.rollouts.gpu_memory_share) == (12288, 0.35)
    assert (run.tier.lora.rank, run.tier.lora.alpha, run.tier.lora.dropout) == (32, 64, 0.0)
    assert (run.tier.importance.mode, run.tier.importance.cap) == ("sequence_mask", 3.0)


class Qwen3_5ForCausalLM:
    """The engine's model as far as training touches it: its class has a name, and it loads weights."""

    def __init__(self, loaded):
        self.loaded = loaded

    def load_weights(self, pairs):
        self.loaded.append(dict(pairs))


class ColocatedEngine(FakeEngine):
    """The parts of vllm's `LLM` that training touches: `generate`, `load_weights` far inside, the prefix cache."""

    def __init__(self, texts):
        super().__init__(texts)
        self.loaded, self.resets = [], 0
        model = Qwen3_5ForCausalLM(self.loaded)
        worker = SimpleNamespace(model_runner=SimpleNamespace(model=model))
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=worker))

    def reset_prefix_cache(self):
        self.resets += 1


def test_two_steps_of_the_full_tier_on_a_tiny_model_through_a_fake_engine(wire, tmp_path):
    """The whole path of the full tier but for size, weights and vllm: TRL, adapters, sync, seeds, registers."""
    from study.config.run_config import Tier
    from study.runs.log import Log, merged
    from study.training import model as tiny
    from study.training.progress import Progress
    from study.training.settings import trl_arguments
    from study.training.train import assemble, engine_parts, train

    table = read_tier("full").model_dump()
    table["rollouts"] |= {"prompts": 2, "group_size": 2}
    table["optimisation"] |= {"steps": 2}
    table["lora"] |= {"rank": 2, "alpha": 4}
    table["checkpoint_every"] = 2
    table["evaluation"] |= {
        "every": 2,
        "validation_tasks": 1,
        "challenge_tasks": 1,
        "validation_schedules": 1,
    }
    table["evaluation"] |= {"test_tasks": 1, "test_schedules": 1}
    run = resolve(Tier.model_validate(table), condition="C2", arm="independent", seed=0)

    config = tiny.TextConfig(
        vocab_size=len(wire.tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        full_attention_interval=2,
        tie_word_embeddings=True,
        pad_token_id=wire.tokenizer.pad_token_id,
        eos_token_id=wire.tokenizer.eos_token_id,
    )
    torch.manual_seed(0)
    model = tiny.adapt(tiny.CausalLM(config), run.tier.lora, run.seed)

    def texts(tokens):
        request = wire.tokenizer.decode(tokens)
        done = request.count("</tool_response>")
        task = next(one for one in tasks if one.request in request)
        calls = [(call.name, dict(call.arguments)) for call in task.plan] + [("finish", {})]
        return [said(wire, *calls[min(done, len(calls) - 1)]), said(wire, "finish", {})]

    fake = ColocatedEngine(texts)
    parts = engine_parts(run, model, wire, fake, params=SimpleNamespace)
    arguments = trl_arguments(run, tmp_path / "checkpoints")
    arguments |= {"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
    progress = Progress(0, 2)
    assembly = assemble(
        run, parts, tmp_path, Log.begin(tmp_path, None), progress, lambda _: None, arguments=arguments
    )
    tasks = [assembly.tasks.at("train", n) for n in range(2000)]
    tasks += [assembly.tasks.at(split, 0) for split in ("validation", "test")]
    assert train(assembly, None) == 2
    rows = merged(tmp_path, "groups")
    assert [len(set(row["schedule_seeds"])) for row in rows] == [2] * 4
    assert [row["row"] for row in rows] == [0, 1, 2, 3]
    assert len(fake.loaded) == fake.resets == 3  # before step 0, after each of two updates
    assert set(fake.loaded[0]) == set(tiny.CausalLM(config).state_dict())
    assert len({one.seed for one in fake.requests}) == len(fake.requests)
    assert {row["regime"] for row in merged(tmp_path, "episodes")} >= {
        "clean",
        "faults_p25",
        "challenge",
        "heldout_p25",
    }
    assert (tmp_path / "checkpoints" / "checkpoint-2" / "complete.json").exists()
