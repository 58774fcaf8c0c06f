"""The command `prereg`: one file per verb, each imported when it is called."""

from __future__ import annotations

import click

from prereg_kit import __version__
from prereg_kit.cli.lazy import LazyGroup, run

VERBS = {
    "new": ("prereg_kit.cli.new", "Write a commented starting plan."),
    "import": ("prereg_kit.cli.import_", "Convert a CSV table to a register, every step on record."),
    "show": ("prereg_kit.cli.show", "Print a plan, with its amendments, for a reader."),
    "check": ("prereg_kit.cli.check", "Examine a plan's rules before the freeze."),
    "freeze": ("prereg_kit.cli.freeze", "Freeze documents byte for byte and have them timestamped."),
    "stamp": ("prereg_kit.cli.stamp", "Add missing timestamps to a frozen document."),
    "renew": ("prereg_kit.cli.renew", "Stamp earlier evidence again before it lapses."),
    "amend": ("prereg_kit.cli.amend", "Freeze and stamp an amendment to a frozen plan."),
    "deviate": ("prereg_kit.cli.deviate", "Log a deviation from a frozen plan."),
    "disclose": ("prereg_kit.cli.disclose", "Log that somebody saw data, and when."),
    "withdraw": ("prereg_kit.cli.withdraw", "Take back an entry of the log, or the study."),
    "verify-timestamps": ("prereg_kit.cli.verify_timestamps", "Check digests and tokens offline."),
    "token": ("prereg_kit.cli.token", "Examine one RFC 3161 token strictly."),
    "trust": ("prereg_kit.cli.trust", "List, add and show timestamping authorities and their anchors."),
    "tsa": ("prereg_kit.cli.tsa", "Serve the embedded demo authority."),
    "decide": ("prereg_kit.cli.decide", "Evaluate a plan's frozen rules on registers of runs."),
    "replay": ("prereg_kit.cli.replay", "Decide under the plan as frozen and under each amendment."),
    "audit": ("prereg_kit.cli.audit", "Find what does not fit: who could have known what when."),
    "render": ("prereg_kit.cli.render", "Render verdicts as Markdown, HTML, LaTeX or CSV."),
}


@click.group(
    cls=LazyGroup,
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="prereg")
def cli() -> None:
    """Decide in advance, freeze it, and let anyone check the verdict.

    stdout carries results, stderr carries talk. Exit codes: 0 done, 1 checked and fails, 2 usage,
    3 not checked.
    """


def main() -> None:
    """Entry point of the console script and of `python -m prereg_kit`."""
    run(cli, "prereg")
