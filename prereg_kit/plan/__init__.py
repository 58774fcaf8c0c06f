"""Typed, immutable plans: endpoints, criteria, hypotheses, predictions, gates, amendments."""

from prereg_kit.plan.amendment import Amendment
from prereg_kit.plan.plan import Plan

__all__ = ["Amendment", "Plan"]
