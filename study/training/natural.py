"""The published policy's language: the model's own tokenizer with TRL's prefix-preserving Qwen3.5 template.

One template object serves training, evaluation and probe; its digest is recorded. Tool schemas come from the
simulator's table. A call is read strictly from its text, values stay text (trl#5205), and what TRL's lenient parser
would make of it is kept as the trap's `paper` side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from trl.chat_template_utils import qwen3_5_nothink_training_chat_template, qwen3_5_template

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.profile import Profile
from study.backoffice.toolset import schemas
from study.errors import StudyError
from study.training.rollout import Call

TEMPLATE: str = qwen3_5_nothink_training_chat_template
END = "<|im_end|>"
SYSTEM = (
    "You work in a back office. Use the tools to do exactly what is asked and nothing else, then call finish. "
    "Tools can fail: read each reply before you go on."
)

_KEPT = 10_000  # tokenised results: many episodes read the same orders
_CALL = re.compile(r"<tool_call>\s*<function=([^\n>]+)>\s*(.*?)\s*</function>\s*</tool_call>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^\n>]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


class NaturalWire:
    """Text and tokens of the published model.

    Args:
        tokenizer: the model's; any tokenizer that has Qwen's chat marks as tokens will do.
        profile: the world, for the tools' schemas.
        coercion: `paper` reads argument values as JSON where it can; `clean` leaves them text.
    """

    def __init__(self, tokenizer: Any, profile: Profile, coercion: str = "clean") -> None:
        tokenizer.chat_template = TEMPLATE  # TRL would swap the published one, which is not prefix-preserving
        tokenizer.response_template = qwen3_5_template
        self.tokenizer = tokenizer
        self._profile = profile
        self._coercion = coercion
        stop = tokenizer.convert_tokens_to_ids(END)
        if stop is None or stop == tokenizer.unk_token_id:
            raise StudyError(f"the tokenizer has no {END} token")
        self._stop = int(stop)
        self._known: dict[str, list[int]] = {}

    @property
    def stop(self) -> frozenset[int]:
        """The end-of-turn mark."""
        return frozenset({self._stop})

    @cached_property
    def digest(self) -> str:
        """SHA-256 over template, system text and schemas."""
        value = {"template": TEMPLATE, "system": SYSTEM, "tools": schemas(self._profile)}
        return sha256_bytes(canonical_json(value))

    def messages(self, request: str) -> list[dict[str, Any]]:
        """The conversation that a prompt renders."""
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": request}]

    def text(self, request: str) -> str:
        """A prompt as text."""
        return render(self.messages(request), schemas(self._profile), generation=True)

    def prompt(self, request: str) -> list[int]:
        """The prompt's tokens up to the policy's first own one."""
        return self._tokens(self.text(request))

    def results(self, texts: Sequence[str]) -> list[int]:
        """One turn's tool results after its end-of-turn mark, up to the policy's next own token."""
        replies = "".join(f"\n<tool_response>\n{text.strip()}\n</tool_response>" for text in texts)
        between = f"\n<|im_start|>user{replies}{END}\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
        known = self._known.get(between)
        if known is None:
            known = self._tokens(between)
            if len(self._known) < _KEPT:
                self._known[between] = known
        return known

    def call(self, turn: Sequence[int]) -> list[Call]:
        """The calls of a turn, in order; none if the text holds none."""
        text = self.tokenizer.decode(list(turn), skip_special_tokens=False)
        calls: list[Call] = []
        for name, body in _CALL.findall(text):
            arguments: dict[str, object] = {}
            for key, value in _PARAMETER.findall(body):
                arguments[key] = self._value(value)
            calls.append((name, arguments))
        return calls

    def _value(self, text: str) -> object:
        if self._coercion != "paper":
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text

    def _tokens(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


def render(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, *, generation: bool) -> str:
    """Render a conversation with the template, without any tokenizer.

    Args:
        messages: chat messages.
        tools: function schemas.
        generation: add the assistant's header.
    """
    from transformers.utils.chat_template_utils import render_jinja_template

    render_template: Any = render_jinja_template
    rendered, _ = render_template(
        conversations=[messages],
        tools=tools,
        chat_template=TEMPLATE,
        add_generation_prompt=generation,
        enable_thinking=False,
    )
    text: str = rendered[0]
    return text
