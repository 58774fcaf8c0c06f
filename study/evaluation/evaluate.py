"""Episodes of a pool under regimes: the same rows whatever the number of workers or the order of work.

Work is cut by task, with all of a task's schedules, and every episode is a function of its coordinates; the parts
are put back in order of (regime, task, schedule).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, TypeVar

from prereg_kit.errors import NotCheckedError
from study.backoffice.faults import compile_law
from study.backoffice.generate import generate
from study.backoffice.pools import load_pool
from study.backoffice.profiles import profile_named
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import evaluation_seed
from study.backoffice.tasks import Task
from study.evaluation.rollout import play
from study.evaluation.rows import episode_row
from study.evaluation.spec import EvaluationSpec
from study.policies.scripted import scripted_policy
from study.runs.rows import EpisodeRow

Progress = Callable[[int, int], None]
"""Called with (episodes done, episodes in all)."""

TASKS_PER_CHUNK = 10

Row = TypeVar("Row")
Work = TypeVar("Work")


class Chunk(NamedTuple):
    """A part of an evaluation: one regime and some tasks by position; `tasks` is empty if they are to be generated."""

    spec: EvaluationSpec
    regime: str
    positions: range
    tasks: tuple[Task, ...]


def evaluate(spec: EvaluationSpec, *, workers: int = 1, progress: Progress | None = None) -> list[EpisodeRow]:
    """Play every episode of a spec.

    Args:
        spec: what to play.
        workers: processes; 1 plays in this one.
        progress: told after every chunk.

    Returns:
        Rows in order of (regime as given, task, schedule).

    Raises:
        ConfigError: the pool does not come out as recorded.
        SimulatorError: a bug; never a zero reward.
    """
    chunks = chunks_of(spec, workers)
    return in_order(_play_chunk, chunks, spec.episodes, workers, progress)


def chunks_of(spec: EvaluationSpec, workers: int) -> list[Chunk]:
    """Cut an evaluation by regime and tasks, after its pool was held to the record.

    Other processes generate their tasks again: that is quicker than sending worlds to them.
    """
    tasks = load_pool(profile_named(spec.profile), spec.pool).tasks
    return [
        Chunk(spec, regime, positions, tasks[positions.start : positions.stop] if workers <= 1 else ())
        for regime in spec.regimes
        for positions in (
            range(first, min(first + TASKS_PER_CHUNK, spec.tasks))
            for first in range(0, spec.tasks, TASKS_PER_CHUNK)
        )
    ]


def in_order(
    work: Callable[[Work], list[Row]],
    chunks: Sequence[Work],
    total: int,
    workers: int,
    progress: Progress | None,
) -> list[Row]:
    """Do chunks in this process or in several, and join their rows in the order of the chunks.

    Args:
        work: a module-level function, as other processes import it.
        chunks: what to do.
        total: rows in all, for the progress.
        workers: processes.
        progress: told after every chunk.
    """
    rows: list[Row] = []
    for part in _parts(work, chunks, workers):
        rows += part
        if progress is not None:
            progress(len(rows), total)
    return rows


def _parts(work: Callable[[Work], list[Row]], chunks: Iterable[Work], workers: int) -> Iterator[list[Row]]:
    if workers <= 1:
        yield from map(work, chunks)
        return
    context = multiprocessing.get_context("spawn")  # a forked copy of a threaded parent may hang
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent) as pool:
        try:
            with _held_interrupts():
                parts = pool.map(work, chunks)
            yield from parts
        except BrokenProcessPool as error:
            raise NotCheckedError(
                "a worker process was killed",
                next_step="Start again, with fewer --workers if memory is short.",
            ) from error
        except BaseException:  # whoever stops waiting does not want what is being played either
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()
            raise


def _follow_parent() -> None:
    """End a worker whose parent has ended, however it did: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _held_interrupts() -> Iterator[None]:
    """Processes started here never hear Ctrl-C, from their first moment on: they inherit the blocked signal.

    The parent hears it when this ends, and not later: a signal that comes meanwhile waits and is not lost. Blocking
    holds for the calling thread alone: a signal may reach another thread of this process, and Python then calls the
    handler in the main thread all the same. So the handler only takes a note meanwhile.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    main = threading.current_thread() is threading.main_thread()  # only the main thread may set a handler
    handler = signal.signal(signal.SIGINT, note) if main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # a signal that waited is noted here
        if main:
            signal.signal(signal.SIGINT, handler)
            if came:
                signal.raise_signal(signal.SIGINT)


def tasks_of(chunk: Chunk) -> tuple[Task, ...]:
    """The tasks of a chunk, generated if they did not come with it."""
    profile = profile_named(chunk.spec.profile)
    return chunk.tasks or tuple(generate(profile, chunk.spec.pool, position) for position in chunk.positions)


def _play_chunk(chunk: Chunk) -> list[EpisodeRow]:
    spec = chunk.spec
    policy = scripted_policy(spec.policy)
    law = regime_named(chunk.regime)
    compiled = compile_law(law)
    label = spec.label()
    schedules = spec.schedules_of(chunk.regime)
    first = spec.seed * schedules
    return [
        episode_row(
            label,
            law,
            index,
            play(
                policy,
                task,
                compiled,
                evaluation_seed(spec.pool, task.task_id, index),
                f"{task.task_id}/{index}",
            ),
        )
        for task in tasks_of(chunk)
        for index in range(first, first + schedules)
    ]
