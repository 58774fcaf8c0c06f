"""`prereg withdraw`."""

from prereg_kit.cli.deviate import withdraw as command

__all__ = ["command"]
