"""Add the configs in a folder to a plan's materials: `bind.py PLAN CONFIGS`, the plan with materials on stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from prereg_kit.foundation.digest import sha256_file


def main(plan: Path, configs: Path) -> None:
    """Print the plan with one material per config, in the order of their names."""
    lines = [plan.read_text(encoding="utf-8").rstrip(), "", "materials:"]
    for path in sorted(configs.glob("*.json")):
        lines.append(
            f"  - {{path: {configs.name}/{path.name}, sha256: {sha256_file(path)}, what: a resolved run}}"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
