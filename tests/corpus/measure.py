"""Make every repository of the corpus, audit it, and count: `python -m tests.corpus.measure [NAME...]`.

A planted repository is found when one of its kind's codes stands as a violation or a warning. An honest one raises a
false alarm when any violation stands. The kinds are split in two halves by the digest of their names: the detectors
were written against the first half and measured on the second.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from prereg_kit.audit.examine import Audit, audit
from prereg_kit.evidence.folder import Examiner
from prereg_kit.evidence.trust import TrustStore
from tests.corpus.honest import HONEST
from tests.corpus.lab import Lab
from tests.corpus.planted import KINDS


@dataclass(frozen=True)
class Measured:
    """One repository: whether it came out as it should, and what was said."""

    name: str
    planted: bool
    right: bool
    said: tuple[str, ...]


def half(name: str) -> int:
    """1 or 2: which half of the corpus a kind belongs to."""
    return 1 + hashlib.sha256(name.encode()).digest()[0] % 2


def audited(lab: Lab) -> Audit:
    """The audit of a lab's repository, a week after its last act, with its authorities trusted."""
    folders = [lab.trusted] if lab.trusted.is_dir() else []
    store = TrustStore.load(folders, local=None)
    return audit(lab.root, Examiner(store, lab.now + timedelta(days=7)))


def measure(name: str) -> Measured:
    """Make one repository, named as in the tables, and audit it."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        lab = Lab(Path(folder, name), git=name not in ("no-git", "restamped-plan-without-history",
                                                       "decided-with-an-amendment-that-is-gone"))  # fmt: skip
        try:
            (KINDS[name].plant if name in KINDS else HONEST[name])(lab)
            found = audited(lab)
        except Exception as error:
            return Measured(
                name, name in KINDS, False, (f"not made or not audited: {type(error).__name__}: {error}",)
            )
    said = tuple(
        f"{f.severity} {f.code}: {f.message} {f.evidence}" for f in found.findings if f.severity != "note"
    )
    loud = {f.code for f in found.findings if f.severity != "note"}
    if name in KINDS:
        return Measured(name, True, bool(loud & set(KINDS[name].codes)), said)
    return Measured(name, False, found.count("violation") == 0, said)


def main(names: list[str]) -> int:
    """Print one line per repository that came out wrong, and the figures."""
    chosen = names or [*KINDS, *HONEST]
    with ProcessPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(measure, chosen))
    for result in results:
        if not result.right or names:
            print(
                f"{'planted' if result.planted else 'honest'} {result.name}: {'right' if result.right else 'WRONG'}"
            )
            for line in result.said or ("(nothing)",):
                print(f"    {line}")
    for number in (1, 2):
        print(f"half {number}: {_figures([r for r in results if half(r.name) == number])}")
    print(_figures(results))
    return 0 if all(result.right for result in results) else 1


def _figures(results: list[Measured]) -> str:
    planted = [r for r in results if r.planted]
    honest = [r for r in results if not r.planted]
    alarms = sum(not r.right for r in honest)
    return f"found {sum(r.right for r in planted)}/{len(planted)}, false alarms {alarms}/{len(honest)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
