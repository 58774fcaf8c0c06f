"""The command `study`: one file per verb, each imported when it is called.

`prereg_kit.cli.study_command` starts it, after it made sure that this package is the one that runs.
"""

from __future__ import annotations

import click

from prereg_kit import __version__
from prereg_kit.cli.lazy import LazyGroup
from prereg_kit.cli.study_command import main

__all__ = ["VERBS", "cli", "main"]

VERBS = {
    "play": ("study.cli.play", "Show one episode so that a person can follow it."),
    "compare": ("study.cli.compare", "Put two episodes of a task side by side."),
    "certify": ("study.cli.certify", "Say which tasks a schedule leaves solvable, with a witness each."),
    "evaluate": ("study.cli.evaluate", "Play a policy on a task pool and write registers."),
    "train": ("study.cli.train", "Train one run of one arm."),
    "status": ("study.cli.status", "Show the state of a matrix of runs."),
    "bandit": ("study.cli.bandit", "Print the numbers of the paper's aligned-scalar bandit."),
    "probe": ("study.cli.probe", "Measure whether pairing shrinks a checkpoint's gradient covariance."),
    "theory": ("study.cli.theory", "Draw where pairing helps and where it hurts."),
}


@click.group(
    cls=LazyGroup,
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="study")
def cli() -> None:
    """When do paired rollouts help group-relative RL of LLM agents?"""
