"""The fixed sentences of replies that no tool wrote; short, and the same for every task."""

from __future__ import annotations

from study.backoffice.tools import TOOL_NAMES

MESSAGES = {
    "temporary_error": "The service failed temporarily.",
    "rate_limited": "Too many requests.",
    "service_unavailable": "The service is unavailable for this request.",
    "timeout": "The request timed out.",
    "budget_exhausted": "The call budget is used up; the episode is over.",
    "episode_ended": "The episode is over.",
}
TOOL_LIST = "Available tools: " + ", ".join(TOOL_NAMES) + "."
