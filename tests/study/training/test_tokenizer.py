import random

import pytest
from trl.chat_template_utils import is_chat_template_prefix_preserving, parse_response, supports_tool_calling

from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT
from study.backoffice.regimes import REGIMES
from study.backoffice.toolset import toolset
from study.errors import SimulatorError
from study.training.tokenizer import CompactWire

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def wire():
    return CompactWire(COMPACT)


def conversation(name, arguments, reply):
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "user", "content": "refund P2 of O1"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": name, "content": reply},
    ]


def test_trl_accepts_the_template(wire):
    assert supports_tool_calling(wire.tokenizer)
    assert is_chat_template_prefix_preserving(wire.tokenizer)


@pytest.mark.parametrize(
    ("name", "arguments", "reply"),
    [
        ("get_order", {"order_id": "O1"}, "C5 paid P2 20 2 A5"),
        ("issue_refund", {"order_id": "O1", "reason": "P2", "amount": "20"}, "ok"),
        ("search_customers", {"query": "N4"}, ""),
        ("finish", {}, "ok"),
    ],
)
def test_our_tokens_are_those_of_the_template(wire, name, arguments, reply):
    messages = conversation(name, arguments, reply)
    rendered = wire.tokenizer.apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=False
    )
    ours = wire.prompt("refund P2 of O1") + wire.written(name, arguments) + wire.results([reply])
    assert rendered == ours


def test_trls_suffix_is_our_result(wire):
    from types import SimpleNamespace

    from trl import GRPOTrainer

    host = SimpleNamespace(
        _is_vlm=False,
        processing_class=wire.tokenizer,
        _tokenizer=wire.tokenizer,
        chat_template=None,
        chat_template_kwargs={},
    )
    message = {"role": "tool", "name": "get_order", "content": "C5 paid P2 20 2 A5"}
    assert GRPOTrainer._get_tool_suffix_ids(host, [message]) == wire.results(["C5 paid P2 20 2 A5"])


def test_the_round_trip_is_exact(wire):
    for index in range(50):
        request = generate(COMPACT, "train", index).request
        assert wire.decode(wire.encode(request)) == request


def test_every_planned_call_is_written_and_read_back(wire):
    for index in range(100):
        for call in generate(COMPACT, "train", index).plan:
            ((name, arguments),) = wire.call(wire.written(call.name, dict(call.arguments)))
            assert name == call.name
            assert arguments == {key: str(value) for key, value in call.arguments.items()}


def test_only_a_whole_call_is_a_call(wire):
    good = wire.written("issue_refund", {"order_id": "O1", "reason": "P2", "amount": "20"})
    assert wire.call(good)
    for cut in range(len(good)):
        assert wire.call(good[:cut]) == []  # upstream's parser runs a cut call
    for strange in (good[1:], good + good, [good[0], good[0], *good[1:]], [wire.pad, *good], good[::-1]):
        assert wire.call(strange) == []
    for strange in (
        "issue_refund(order_id= O1 amount= 20 amount= 30 )",
        "issue_refund(order_id= O1 P2 20 30 )",
        "issue_refund(order_id= )",
        "get_order(order_id= O1 O2 )",
        "finish( P1 )",
    ):
        assert wire.call(wire.encode(strange)) == []
    assert wire.call(wire.encode("issue_refund(order_id= O1 amount= 20 )")) == [
        ("issue_refund", {"order_id": "O1", "amount": "20"})
    ]
    assert wire.call(wire.encode("list_orders(customer_id= C1 offset= 3 )")) == [
        ("list_orders", {"customer_id": "C1", "offset": "3"})
    ]


def test_a_cut_call_runs_upstream(wire):
    cut = wire.written("cancel_order", {"order_id": "O1"})[:-1]
    parsed = parse_response(wire.tokenizer, cut, prefix=wire.prompt("cancel O1"))
    assert parsed.get("tool_calls") and wire.call(cut) == []


def test_values_stay_text_and_upstream_makes_numbers_of_them():
    tokens = CompactWire(COMPACT).encode("wait(seconds= 10 )")
    assert CompactWire(COMPACT).call(tokens) == [("wait", {"seconds": "10"})]
    assert CompactWire(COMPACT, "paper").call(tokens) == [("wait", {"seconds": 10})]


def test_the_vocabulary_is_closed_under_whatever_a_policy_does(wire):
    """Random calls of random tokens under every regime: each reply can be read."""
    rng = random.Random(7)
    vocabulary = [word for word in wire.tokenizer.get_vocab() if word not in ("<pad>", "<unk>")]
    values = [word for word in vocabulary if "=" not in word and "(" not in word]
    tools = toolset(COMPACT)
    laws = [compile_law(law) for law in REGIMES.values()]
    for number in range(300):
        episode = Episode(generate(COMPACT, "train", number % 60), laws[number % len(laws)], f"{number:032x}")
        for _ in range(25):
            tool = tools[rng.choice(list(tools))]
            arguments = {
                param.name: " ".join(rng.choices(values, k=rng.choice((1, 1, 1, 0, 2))))
                for param in tool.params
                if rng.random() < 0.8
            }
            if rng.random() < 0.4 and episode.task.plan:
                planned = rng.choice(episode.task.plan)
                tool, arguments = (
                    tools[planned.name],
                    dict(planned.arguments)
                    | ({"amount": str(rng.randrange(1, 40))} if planned.name == "issue_refund" else {}),
                )
            if tool.name != "finish":
                wire.results([episode.step(tool.name, arguments).text])


def test_a_foreign_word_is_raised_and_never_mapped(wire):
    with pytest.raises(SimulatorError, match="vocabulary"):
        wire.encode("move O99 home")
