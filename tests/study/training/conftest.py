"""Small runs and their starts, shared with the other tests that need torch."""

from tests.study.small_runs import _one_thread, small_run, start

__all__ = ["_one_thread", "small_run", "start"]
