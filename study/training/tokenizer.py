"""The small policy's language: a closed word-level vocabulary made of the simulator's own words.

    <ask> refund P2 of O1 <act> get_order(order_id= O1 ) C5 paid P2 20 2 A5 <act> issue_refund(order_id= O1 P2 20 )

A call opens with one token that fuses the tool and its first parameter; the parameters that a plan gives follow by
place, one word each, others by name (`offset= 3`); `)` ends the turn. So a call is two to five tokens, and a product
stands directly before its amount, as it does in an order: a policy of this size copies what follows a word it just
said. Words are separated by single spaces, which makes the round trip exact. A word outside the vocabulary is a
defect of the simulator's closed world and is raised, never mapped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.profile import Profile
from study.backoffice.render import COMPACT_ERRORS
from study.backoffice.toolset import toolset
from study.backoffice.world import STATUSES
from study.errors import SimulatorError
from study.training.rollout import Call

PAD, UNKNOWN, ASK, ACT, STOP = "<pad>", "<unk>", "<ask>", "<act>", ")"
_MARKS = (PAD, UNKNOWN, ASK, ACT, STOP)
_WORDS = ("err", "ok", "none", "next", "held", "back", "open")

TEMPLATE = """\
{%- set placed = @PLACED@ -%}
{%- for message in messages -%}
{%- if message.role == 'user' -%}{{ '<ask> ' + message.content }}
{%- elif message.role == 'tool' -%}{{ ' ' + message.content if message.content else '' }}
{%- elif message.role == 'assistant' -%}{{ ' <act>' }}
{%- generation -%}
{%- for call in message.tool_calls or [] -%}
{%- set call = call.function if call.function is defined else call -%}
{{ ' ' + call.name + '(' }}
{%- for name, value in (call.arguments or {}).items() -%}
{%- if loop.first -%}{{ name + '= ' + (value | string) }}
{%- elif name in placed.get(call.name, []) -%}{{ ' ' + (value | string) }}
{%- else -%}{{ ' ' + name + '= ' + (value | string) }}
{%- endif -%}
{%- endfor -%}
{{ ' )' }}
{%- endfor -%}
{%- endgeneration -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ ' <act>' }}{%- endif -%}
"""

RESPONSE_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": " <act>",
    "fields": {
        "tool_calls": {
            "open_pattern": r"(?P<name>[a-z_]+)\(",
            "close_pattern": r"\)\s*",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"(?P<key>[a-z_]+)=\s*(?P<value>[^=]*?)\s*(?=[a-z_]+=|$)",
                "value_parser": {"name": "json", "args": {"allow_non_json": True}},
            },
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"content": "text"},
    },
}
"""TRL asks for a response template; it reads named arguments only. Our loop reads calls with `CompactWire.call`."""


def placed(profile: Profile) -> dict[str, list[str]]:
    """Parameters that follow by place, by tool: after the first, those that are required, and a refund's reason."""
    return {
        name: [param.name for param in tool.params[1:] if param.required or param.name == "reason"]
        for name, tool in toolset(profile).items()
    }


def template(profile: Profile) -> str:
    """The chat template of a profile."""
    return TEMPLATE.replace("@PLACED@", json.dumps(placed(profile), sort_keys=True))


def _ids(prefix: str, low: int, high: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(low, high + 1)]


def words_of(profile: Profile) -> list[str]:
    """Every word that a compact profile's requests, calls and results can hold, in a fixed order."""
    world = profile.world
    words: list[str] = list(_WORDS)
    for pool in (world.order_ids, world.customer_ids, world.product_ids):
        words += _ids(pool.prefix, pool.low, pool.high)
    words += [*world.first_names, *world.last_names, *world.streets]
    words += [*world.carriers, *world.topics, *world.levels, *STATUSES, *COMPACT_ERRORS.values()]
    for _, texts in profile.language.requests:
        for text in texts:
            words += [word for word in text.split() if not word.startswith("{")]
    for text in (*profile.language.openings, *profile.language.joiners, *profile.language.closings):
        words += text.split()
    most = 2 * max(world.line_amounts) // 100 * max(world.quantities)
    words += [str(number) for number in range(most + 1)]
    words += ["arguments"]
    for name, tool in toolset(profile).items():
        words.append(f"{name}(")
        for param in tool.params:
            words += [f"{name}({param.name}=", f"{param.name}=", param.name]
    return words


def build_tokenizer(profile: Profile, extra: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """The tokenizer of a compact profile, with its chat template.

    Args:
        profile: a profile whose results are compact and whose id pools are closed.
        extra: further words, for tests.
    """
    vocabulary = {
        word: number for number, word in enumerate(dict.fromkeys([*_MARKS, *words_of(profile), *extra]))
    }
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=STOP,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = template(profile)
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer


class CompactWire:
    """Text and tokens of a compact profile.

    Args:
        profile: the world's knobs and words.
        coercion: `paper` reads argument values as JSON where it can, as upstream's parser does (trl#5205);
            `clean` leaves them text and lets the tools coerce.
    """

    def __init__(self, profile: Profile, coercion: str = "clean") -> None:
        self.tokenizer = build_tokenizer(profile)
        self._profile = profile
        self._placed = placed(profile)
        self._coercion = coercion
        self._id_of: dict[str, int] = self.tokenizer.get_vocab()
        self._word_of = {number: word for word, number in self._id_of.items()}
        self._act = self._id_of[ACT]
        self._ask = self._id_of[ASK]
        self._stop = self._id_of[STOP]
        self._opens: dict[int, tuple[str, str | None]] = {}
        self._keys: dict[int, str] = {}
        for word, number in self._id_of.items():
            if "(" in word:
                name, first = word.split("(")
                self._opens[number] = (name, first.removesuffix("=") or None)
            elif word.endswith("=") and len(word) > 1:
                self._keys[number] = word.removesuffix("=")
        self._cache: dict[str, list[int]] = {}

    @property
    def stop(self) -> frozenset[int]:
        """The closing bracket."""
        return frozenset({self._stop})

    @property
    def size(self) -> int:
        """Words in the vocabulary."""
        return len(self._id_of)

    @property
    def pad(self) -> int:
        """The padding token."""
        return self._id_of[PAD]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over vocabulary and template: one object for warm start, training, evaluation and probe."""
        return sha256_bytes(canonical_json({"words": self._id_of, "template": template(self._profile)}))

    def encode(self, text: str) -> list[int]:
        """Tokens of a text.

        Raises:
            SimulatorError: a word outside the closed vocabulary.
        """
        known = self._cache.get(text)
        if known is None:
            try:
                known = [self._id_of[word] for word in text.split()]
            except KeyError as error:
                raise SimulatorError("a word outside the closed vocabulary", found=error.args[0]) from error
            if len(self._cache) < 100_000:
                self._cache[text] = known
        return known

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, words separated by single spaces."""
        return " ".join(self._word_of[token] for token in tokens)

    def prompt(self, request: str) -> list[int]:
        """`<ask>`, the request, `<act>`."""
        return [self._ask, *self.encode(request), self._act]

    def results(self, texts: Sequence[str]) -> list[int]:
        """The tool results of a turn and `<act>`."""
        return [*self.encode(" ".join(texts)), self._act]

    def written(self, name: str, arguments: dict[str, object]) -> list[int]:
        """Tokens of a call, as an expert writes it.

        Raises:
            SimulatorError: a value outside the closed vocabulary.
        """
        words = [f"{name}("]
        for index, (field, value) in enumerate(arguments.items()):
            if index == 0:
                words[0] += f"{field}="
            elif field not in self._placed.get(name, ()):
                words.append(f"{field}=")
            words.append(str(value))
        return self.encode(" ".join([*words, STOP]))

    def call(self, turn: Sequence[int]) -> list[Call]:
        """One call `name(first= value value... name= value )`, or nothing if the turn is anything else."""
        if len(turn) < 2 or turn[-1] != self._stop or turn[0] not in self._opens:
            return []
        name, field = self._opens[turn[0]]
        places = iter(self._placed.get(name, ()))
        values: dict[str, object] = {}
        for token in turn[1:-1]:
            if token in self._keys and field is None:
                field = self._keys[token]
                continue
            word = self._word_of[token]
            if token in self._keys or token in self._opens or word in _MARKS:
                return []
            if field is None:
                field = next((place for place in places if place not in values), None)
            if field is None or field in values:
                return []
            values[field] = self._value(word)
            field = None
        return [(name, values)] if field is None else []

    def _value(self, text: str) -> object:
        if self._coercion != "paper":
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text
