"""`prereg disclose`."""

from prereg_kit.cli.deviate import disclose as command

__all__ = ["command"]
