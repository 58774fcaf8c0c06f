"""A small laboratory whose repository can be driven through time: freeze, run, amend, decide, commit, at given hours.

Everything is keyed by names, so the same script gives the same repository, apart from keys and signatures of the
throw-away authority.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from cryptography.hazmat.primitives import serialization

from prereg_kit import report
from prereg_kit.evidence import archive, authority, deviations, trust
from prereg_kit.evidence.archive.build import update
from prereg_kit.evidence.archive.record import FreezeRecord, Kind, NewStamp, Stamps, rfc3339
from prereg_kit.evidence.tsa import build_query
from prereg_kit.operations import decide as deciding
from prereg_kit.registers.file import open_register, write_register
from prereg_kit.registers.file.index import read_runs, sibling_of, write_runs
from prereg_kit.registers.formats import RunRow

START = datetime(2026, 1, 5, 10, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TASKS = 6
SCHEDULES = 4

PLAN = """\
format: prereg.plan/1
id: {id}
title: Does the treatment help?
authors: [A. Researcher]
arms: {{treatment: t, reference: r}}
timestamps: {{quorum: 1}}
resampling: {{engine: exact, level: 0.95}}
runs:
  planned:
    - {{condition: C1, arm: [t, r], seed: [0, 1, 2, 3]}}
  exclusions:
    - {{id: hardware, text: the machine failed and the run cannot be resumed}}
  missing: {missing}
{disclosures}endpoints:
  success: {{register: episodes, where: {{split: {split}}}, value: true_success}}
  control: {{register: episodes, where: {{split: control}}, value: true_success}}
hypotheses:
  C0:
    statement: The control set is not made worse.
    passes_if: {{difference: {{endpoint: control, at_least: -0.5}}}}
  H1:
    statement: The treatment raises success.
    requires: {{control: {{difference: {{endpoint: control, at_least: -0.5}}}}}}
    passes_if: {{difference: {{endpoint: success, at_least: {margin}}}}}
  H2:
    statement: Every seed gains.
    passes_if: {{every_seed: {{endpoint: success, above: 0}}}}
predictions:
  P1: {{hypothesis: H1, expects: {{difference: {{endpoint: success, above: 0}}}}, confidence: 0.7}}
"""


def plan_text(
    id: str = "trial",
    margin: str = "0.2",
    split: str = "test",
    missing: str = "refuse",
    disclosures: str = "",
) -> str:
    """The plan; H1 holds at 0.2 with the gain that `Lab.run` gives by default."""
    return PLAN.format(id=id, margin=margin, split=split, missing=missing, disclosures=disclosures)


@dataclass
class Lab:
    """A repository and its clock."""

    root: Path
    git: bool = True
    now: datetime = START
    runs: dict[tuple[str, int], RunRow] = field(default_factory=dict)
    trusted: Path = Path()

    def __post_init__(self) -> None:
        self.trusted = self.root.parent / f"{self.root.name}-trust"
        self.root.mkdir(parents=True)
        (self.root / "registers").mkdir()
        (self.root / ".gitattributes").write_text("frozen/** -text\namendments/** -text\n*.parquet binary\n")
        if self.git:
            self._git("init", "-q", "-b", "main")
            self._git("config", "core.autocrlf", "false")

    # time and git

    def wait(self, amount: timedelta) -> Lab:
        """Let time pass."""
        self.now += amount
        return self

    def commit(self, text: str = "work", **environment: str) -> Lab:
        """Commit everything at the present hour; waits a quarter of an hour before."""
        self.wait(timedelta(minutes=15))
        if self.git:
            self._git("add", "-A")
            self._git("commit", "-q", "--allow-empty", "-m", text, **environment)
        return self

    def _git(self, *arguments: str, **environment: str) -> None:
        at = self.now.isoformat()
        subprocess.run(
            ["git", "-c", "user.name=Lab", "-c", "user.email=lab@example.org", *arguments], cwd=self.root, check=True,
            capture_output=True,
            env={**os.environ, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, **environment},
        )  # fmt: skip

    # documents

    def stamps(self, digest: str, *, demo: bool = False, when: datetime | None = None) -> Stamps:
        """One authority's answer at the present hour."""
        at = when or self.now
        name = "demo" if demo else "corpus"
        other = {"DEMO_SUBJECT": "Corpus TSA", "DEMO_POLICY_OID": "1.3.6.1.4.1.99999.7.9"}
        query = build_query(digest)
        with (
            nullcontext() if demo else mock.patch.multiple(authority, **other)
        ):  # the same code, under its own name
            made = authority.DemoAuthority.create(lambda: at)
            response = made.answer(query)
        pem = made.signer.public_bytes(serialization.Encoding.PEM)
        operator = name if demo else f"corpus-{len(list(self.trusted.glob('*')))}"
        url = f"http://127.0.0.1:9/{operator}"
        if not demo:
            self.trusted.mkdir(exist_ok=True)
            trust.add(operator, [made.root_pem], self.trusted, url=url)
        return Stamps((NewStamp(
            operator, url, query, response, demo=demo, chain=pem + made.root_pem, anchor=made.root_pem,
            anchor_sha256=(made.root_sha256,), sent_at=at, received_at=at, gen_time=at,
        ),))  # fmt: skip

    def freeze(
        self, text: str, *, demo: bool = False, stamped: bool = True, folder: str | None = None
    ) -> str:
        """Freeze a plan now; its digest."""
        name = folder or next(line.split()[1] for line in text.splitlines() if line.startswith("id:"))
        return self._freeze(
            text, "plan.yaml", self.root / "frozen" / name, "plan", demo=demo, stamped=stamped
        )

    def amend(self, id: str, known: str, *changes: str, parent: str, reason: str = "a better rule", plan: str = "trial",
              stamped: bool = True, detail: str = "") -> str:  # fmt: skip
        """Freeze an amendment now; its digest."""
        text = (
            f"format: prereg.amendment/1\nid: {id}\nplan: {plan}\namends: {parent}\n"
            f"written: {self.now:%Y-%m-%dT%H:%M:%SZ}\nreason: {reason}\nknown: {known}\n"
            + (f"known_detail: {detail}\n" if detail else "")
            + "changes:\n" + "".join(f"  - {change}\n" for change in changes)
        )  # fmt: skip
        target = self.root / "amendments" / f"{plan}-{id}"
        return self._freeze(text, f"{id}.yaml", target, "amendment", stamped=stamped)

    def _freeze(self, text: str, name: str, target: Path, kind: Kind, *, demo: bool = False,
                stamped: bool = True) -> str:  # fmt: skip
        stamper = (lambda digest: self.stamps(digest, demo=demo)) if stamped else None
        frozen = archive.freeze(text.encode(), name, target, stamper, kind=kind, quorum=1).document
        update(target, replace_record(frozen.record, frozen_at=rfc3339(self.now)), {})
        self.wait(timedelta(minutes=5))
        return frozen.digest

    def log(self, kind: str, plan: str = "trial", **fields: object) -> None:
        """Enter something in the log of deviations now."""
        folder = self.root / "frozen" / plan
        deviations.append(
            folder, archive.load_frozen(folder).digest,
            {"kind": kind, "written_at": f"{self.now:%Y-%m-%dT%H:%M:%SZ}", "authors": ["A. Researcher"], **fields},
        )  # fmt: skip

    def deviation(self, *subjects: str, timing: str = "during-data", **fields: object) -> None:
        """A deviation with plain words."""
        self.log("deviation", **{
            "subjects": list(subjects), "occasion": "unforeseen-event", "planned": "as planned", "done": "otherwise",
            "reason": "it could not be done", "timing": timing, "severity": "unchanged", "validity": "unchanged", **fields,
        })  # fmt: skip

    # runs

    def run(self, digest: str, arm: str, seed: int, *, id: str | None = None, gain: float = 0.5, status: str = "completed",
            attempt: int = 1, rows_from: str | None = None, split: str = "test", **fields: object) -> RunRow:  # fmt: skip
        """Make one run now; it takes an hour. Its register lies under registers/, the index is written by `index`."""
        name = id or f"c1-{arm}-{seed}"
        started = self.now
        self.wait(HOUR)
        path = self.root / "registers" / f"{name}-{attempt}.parquet"
        write_register(
            path, "episodes", episodes(name, arm, seed, gain if arm == "t" else 0.0, rows_from, split)
        )
        row = RunRow(
            run_id=name, study="trial", plan_digest=digest, condition="C1", arm=arm, seed=seed, attempt=attempt,
            status=status, started_at=f"{started:%Y-%m-%dT%H:%M:%SZ}", finished_at=f"{self.now:%Y-%m-%dT%H:%M:%SZ}",
            accelerator="A100", stack="torch 2.13.0", code_commit="c0ffee", config_digest=None,
            registers=(sibling_of(self.index_path, "episodes", path),),
        )  # fmt: skip
        row = replace(row, **fields)
        self.runs[f"{name}", attempt] = row
        return row

    def all_runs(self, digest: str, *, seeds: range = range(4), gain: float = 0.5) -> None:
        """All planned runs, one after the other."""
        for seed in seeds:
            for arm in ("t", "r"):
                self.run(digest, arm, seed, gain=gain)

    @property
    def index_path(self) -> Path:
        """The index."""
        return self.root / "registers" / "runs.parquet"

    def index(self) -> Lab:
        """Write the index anew from the runs that the lab holds."""
        self.index_path.unlink(missing_ok=True)
        write_runs(self.index_path, list(self.runs.values()))
        return self

    def indexed(self) -> tuple[RunRow, ...]:
        """What the index says."""
        return read_runs(self.index_path)

    # decisions

    def decide(self, plan: str = "trial", folder: str = "reports", *, render: bool = True) -> Path:
        """Decide now and write the result, with a Markdown report beside it."""
        frozen = self.root / "frozen" / plan
        result = deciding.decide_files([self.index_path], plan=frozen, root=self.root)
        out = self.root / folder
        deciding.write(result, out)
        if render:
            (out / "outcomes.md").write_bytes(report.render(result.verdicts, "md").encode())
        self.wait(timedelta(minutes=10))
        return out / "verdicts.json"


def replace_record(record: FreezeRecord, **fields: object) -> FreezeRecord:
    """The record with other fields, as an author with an editor would make it."""
    return record.model_copy(update=fields)


def chance(*key: object) -> float:
    """A number in [0, 1) that depends on its key alone."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "little") / 2**64


def episodes(
    name: str, arm: str, seed: int, gain: float, rows_from: str | None, split: str
) -> dict[str, list[object]]:
    """Rows of one run: a base rate of .3 plus the gain on the test set; the control set has no gain."""
    source = rows_from or name
    rows: dict[str, list[object]] = {key: [] for key in (
        "run_id", "condition", "arm", "seed", "step", "split", "regime", "task", "schedule", "true_success",
        "schedule_seed",
    )}  # fmt: skip
    for part in (split, "control"):
        for task in range(TASKS):
            for schedule in range(SCHEDULES):
                level = 0.3 + (gain if part != "control" else 0.0)
                values = (name, "C1", arm, seed, 100, part, "clean", f"task-{task}", schedule,
                          chance(source, part, task, schedule) < level,
                          hashlib.sha256(f"{part}/{task}/{schedule}".encode()).hexdigest()[:32])  # fmt: skip
                for key, value in zip(rows, values, strict=True):
                    rows[key].append(value)
    return rows


__all__ = [
    "DAY",
    "HOUR",
    "START",
    "Lab",
    "chance",
    "episodes",
    "open_register",
    "plan_text",
    "replace_record",
]
