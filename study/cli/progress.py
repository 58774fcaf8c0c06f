"""A progress bar on stderr that appears only if the work takes more than two seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 2.0


class Bar:
    """Use as a context; give `update` to the work.

    Args:
        unit: what is counted, for the label.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._started = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def update(self, done: int, total: int) -> None:
        """Show `done` of `total`."""
        if self._shown is None:
            if time.monotonic() - self._started < PATIENCE_S:
                return
            self._shown = self._show(total)
        progress, task = self._shown
        progress.update(task, completed=done, total=total)

    def _show(self, total: int) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        progress.start()
        return progress, progress.add_task(self._unit, total=total)
