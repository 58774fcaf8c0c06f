"""The audit of a large study: 1,000 runs, 100 amendments, a git history; seconds and memory, in one process.

python benchmarks/audit.py [RUNS] [AMENDMENTS]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.corpus.lab import DAY, Lab, plan_text
from tests.corpus.measure import audited


def main() -> None:
    """Build the study, audit it twice, print a line each."""
    runs, amendments = (int(a) for a in (*sys.argv[1:], *("1000", "100")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder, "repo"))
        seeds = ", ".join(str(seed) for seed in range(runs // 2))
        digest = parent = lab.freeze(
            plan_text().replace("seed: [0, 1, 2, 3]", f"seed: [{seeds}]").replace("exact", "auto")
        )
        lab.commit("freeze").wait(DAY)
        for number in range(amendments):
            change = f"{{op: replace, field: title, value: title {number}}}"
            parent = lab.amend(f"A{number}", "nothing_run", change, parent=parent, stamped=False)
        lab.commit("amendments").wait(DAY)
        lab.all_runs(digest, seeds=range(runs // 2))
        lab.index().commit("runs")
        lab.decide(render=False)
        lab.commit("decision")
        for _ in range(2):
            start = time.process_time(), time.perf_counter()
            found = audited(lab)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{runs} runs, {amendments} amendments: {time.process_time() - start[0]:.2f} s CPU, "
                f"{time.perf_counter() - start[1]:.2f} s, peak {peak:.0f} MiB"
                f", {found.count('violation')} violations"
            )


if __name__ == "__main__":
    main()
