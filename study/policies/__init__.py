"""Policies: what answers a task with calls."""
