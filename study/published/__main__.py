"""Write the published study's registers: `python -m study.published REGISTERS_FOLDER --plan-digest SHA256`."""

from __future__ import annotations

import argparse
from pathlib import Path

from study.published.make import write_registers


def main() -> None:
    """Parse the two arguments and write."""
    parser = argparse.ArgumentParser(prog="python -m study.published", description=__doc__)
    parser.add_argument("folder", type=Path, help="where runs.parquet stands or will stand")
    parser.add_argument("--plan-digest", required=True, help="SHA-256 of frozen/paired-rollouts/plan.yaml")
    arguments = parser.parse_args()
    for line in write_registers(arguments.folder, arguments.plan_digest):
        print(line)


main()
