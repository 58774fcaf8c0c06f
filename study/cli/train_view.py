"""What `study train` shows on stderr: a bar on a terminal, a line a step elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from study.config.run_config import RunConfig
from study.training.progress import Progress

_EVERY_S = 10.0


class View:
    """Shows a run in progress.

    Args:
        run: the resolved config.
        stop: last step of this call.
    """

    def __init__(self, run: RunConfig, stop: int) -> None:
        self._run = run
        self._stop = stop
        self._console = Console(stderr=True)
        self._bar: Bar | None = None
        self._task: Any = None
        self._evaluated = 0
        self._spoke = 0.0
        self._first: tuple[int, float] | None = None

    def __enter__(self) -> View:
        if self._console.is_terminal:
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[figures]}"),
                console=self._console,
            )
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, what: str, done: int, total: int, figures: str) -> None:
        if self._bar is not None:
            if self._task is None or self._bar.tasks[self._task].description != what:
                self._task = self._bar.add_task(what, total=total, figures=figures)
            self._bar.update(self._task, completed=done, total=total, figures=figures)
        elif time.monotonic() - self._spoke > _EVERY_S or done == total:
            self._spoke = time.monotonic()
            click.echo(f"{what} {done}/{total} {figures}".rstrip(), err=True)

    def warm(self, step: int, steps: int, loss: float) -> None:
        """Show the warm start."""
        self._show("warm start", step, steps, f"loss {loss:.3f}")

    def _left(self, progress: Progress) -> str:
        """Seconds left at the pace since the first step of this call, evaluations included."""
        if self._first is None:
            self._first = (progress.step, time.monotonic())
        step, begun = self._first
        if progress.step <= step:
            return ""
        pace = (time.monotonic() - begun) / (progress.step - step)
        return f" {pace * (self._stop - progress.step):.0f} s left"

    def tell(self, progress: Progress) -> None:
        """Show the run."""
        figures = progress.note or (
            f"reward {progress.reward:.2f} success {progress.success:.2f} zero-variance {progress.flat:.2f}"
            f"{self._left(progress)}"
        )
        self._show(self._run.run_id, progress.step, self._stop, figures)
        for step, shown in progress.evaluated[self._evaluated :]:
            words = ", ".join(f"{name} {value:.3f}" for name, value in shown.items())
            line = f"step {step}: {words}"
            if self._bar is not None:
                self._bar.console.print(line, markup=False, highlight=False)
            else:
                click.echo(line, err=True)
        self._evaluated = len(progress.evaluated)
