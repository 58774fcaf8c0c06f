"""Plans and evidence that several tests share."""

from __future__ import annotations

SMALL = """\
format: prereg.plan/1
id: small
arms: {treatment: t, reference: r}
resampling: {engine: auto}
endpoints:
  success: {register: episodes, value: true_success}
hypotheses:
  H1:
    passes_if: {difference: {endpoint: success, at_least: 0.03}}
"""
"""A plan of one endpoint and one rule."""


def small(rule: str, more: str = "", endpoints: str = "", head: str = "") -> str:
    """The small plan with another rule, further lines under H1, further endpoints, and head fields."""
    text = SMALL.replace("{difference: {endpoint: success, at_least: 0.03}}", rule, 1)
    text = text.replace("endpoints:\n", f"endpoints:\n{endpoints}", 1)
    text = text.replace("resampling: {engine: auto}\n", f"resampling: {{engine: auto}}\n{head}", 1)
    return text + more
