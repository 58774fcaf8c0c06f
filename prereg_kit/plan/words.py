"""The rule of a hypothesis in English: the sentence that stands beside every verdict."""

from __future__ import annotations

from prereg_kit.plan.hypothesis import Hypothesis


def rule_words(hypothesis: Hypothesis) -> str:
    """The whole rule of a hypothesis."""
    if hypothesis.outcomes is not None:
        parts = [f"{name} if {rule.words()}" for name, rule in hypothesis.outcomes.items()]
    else:
        assert hypothesis.passes_if is not None
        parts = [f"passes if {hypothesis.passes_if.words()}"]
        if hypothesis.fails_if is not None:
            parts.append(f"fails if {hypothesis.fails_if.words()}")
    parts += [f"void unless {name}: {rule.words()}" for name, rule in hypothesis.requires.items()]
    return "; ".join(parts)
