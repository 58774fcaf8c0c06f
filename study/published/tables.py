"""The figures that the paper prints, as they are printed; tables 1, 5, 8, 9, 10 and the texts of 2 and 6.

A printed proportion stands for a count: periodic evaluations are 128 episodes (64 tasks x 2 schedules), 64 on the
challenge set; final ones 800 (200 tasks x 4), 200 on the challenge set. `counts` recovers the only count that
rounds to the printed figure and refuses a figure that fits none or several.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from study.errors import StudyError

STEPS = (0, 20, 40, 60, 80, 100)


@dataclass(frozen=True)
class PublishedRun:
    """A row of Table 1; `noise` is the regime of "at-training noise" for the run's condition."""

    run_id: str
    condition: str
    arm: str
    seed: int
    accelerator: str
    provider: str
    commit: str
    noise: str


RUNS = (
    PublishedRun("gate1-c2-paired-s0", "C2", "paired", 0, "H100", "Modal", "62caa40e", "faults_p25"),
    PublishedRun("t1-c2-independent-s0", "C2", "independent", 0, "H100", "Modal", "c84a890a", "faults_p25"),
    PublishedRun("t1-c2-paired-s1", "C2", "paired", 1, "H100", "Modal", "c9a2c4b9", "faults_p25"),
    PublishedRun("t1-c2-independent-s1", "C2", "independent", 1, "H100", "Modal", "c9a2c4b9", "faults_p25"),
    PublishedRun("t1-c2-paired-s2", "C2", "paired", 2, "H100", "Modal", "c9a2c4b9", "faults_p25"),
    PublishedRun("t1-c2-independent-s2", "C2", "independent", 2, "H100", "Modal", "c9a2c4b9", "faults_p25"),
    PublishedRun("t1-c4-paired-s0", "C4", "paired", 0, "MI300X", "DigitalOcean", "2b67d2ce", "grader_flips"),
    PublishedRun(
        "t1-c4-independent-s0", "C4", "independent", 0, "MI300X", "DigitalOcean", "f3db125d", "grader_flips"
    ),
    PublishedRun("t1-c4-paired-s1-h100", "C4", "paired", 1, "H100", "Modal", "6f0ea2e3", "grader_flips"),
    PublishedRun("t1-c4-independent-s1", "C4", "independent", 1, "H100", "Modal", "6f0ea2e3", "grader_flips"),
    PublishedRun("t1-c4-paired-s2", "C4", "paired", 2, "H100", "RunPod", "710fe8f2", "grader_flips"),
    PublishedRun(
        "t1-c4-independent-s2", "C4", "independent", 2, "H100", "RunPod", "299cf9ac", "grader_flips"
    ),
    PublishedRun("t1-c0-clean-s0", "C0", "clean", 0, "H100", "RunPod", "24289533", "faults_p25"),
    PublishedRun("t1-c0-clean-s1-h100", "C0", "clean", 1, "H100", "RunPod", "24289533", "faults_p25"),
)
UNCOUNTED = PublishedRun("t1-c4-paired-s1", "C4", "paired", 1, "MI300X", "DigitalOcean", "", "grader_flips")
"""The completed second run of a cell on another stack (Table 11): reported, not counted."""

# Table 9: per run the curves at-training noise, clean, challenge at STEPS.
CURVES: dict[str, tuple[str, str, str]] = {
    "gate1-c2-paired-s0": (
        ".570 .648 .633 .664 .641 .664", ".781 .859 .875 .859 .859 .906", ".547 .547 .719 .688 .781 .703"),
    "t1-c2-independent-s0": (
        ".500 .508 .562 .594 .680 .680", ".797 .852 .836 .867 .883 .828", ".562 .609 .672 .625 .672 .703"),
    "t1-c2-paired-s1": (
        ".531 .578 .578 .703 .656 .648", ".828 .812 .828 .875 .859 .820", ".531 .562 .594 .672 .750 .781"),
    "t1-c2-independent-s1": (
        ".531 .625 .602 .633 .664 .648", ".828 .812 .867 .820 .844 .852", ".531 .703 .656 .656 .656 .688"),
    "t1-c2-paired-s2": (
        ".531 .586 .609 .664 .641 .727", ".797 .836 .805 .836 .828 .852", ".594 .641 .719 .797 .766 .812"),
    "t1-c2-independent-s2": (
        ".531 .547 .555 .539 .641 .578", ".797 .766 .781 .820 .836 .812", ".594 .609 .609 .734 .719 .703"),
    "t1-c4-paired-s0": (
        ".812 .844 .922 .938 .891 .945", ".828 .828 .875 .922 .945 .938", ".516 .594 .609 .625 .641 .609"),
    "t1-c4-independent-s0": (
        ".812 .836 .875 .891 .922 .922", ".828 .875 .875 .891 .930 .930", ".516 .594 .578 .516 .594 .562"),
    "t1-c4-paired-s1-h100": (
        ".773 .891 .867 .906 .914 .875", ".828 .836 .859 .852 .867 .867", ".562 .641 .609 .609 .578 .547"),
    "t1-c4-independent-s1": (
        ".773 .805 .828 .859 .852 .867", ".828 .781 .820 .836 .891 .836", ".562 .641 .641 .641 .562 .594"),
    "t1-c4-paired-s2": (
        ".750 .859 .898 .836 .906 .914", ".797 .812 .859 .852 .883 .891", ".625 .594 .594 .656 .594 .672"),
    "t1-c4-independent-s2": (
        ".750 .844 .875 .867 .875 .852", ".797 .852 .906 .852 .875 .867", ".625 .594 .609 .594 .578 .609"),
    "t1-c0-clean-s0": (
        ".500 .562 .562 .586 .570 .570", ".797 .820 .859 .945 .859 .859", ".562 .562 .594 .531 .594 .594"),
    "t1-c0-clean-s1-h100": (
        ".531 .555 .539 .562 .547 .562", ".828 .812 .906 .906 .961 .930", ".531 .516 .547 .609 .578 .562"),
}  # fmt: skip

# Table 8, percent: clean, p = 0.10, p = 0.25, held-out types, challenge, at-training (C4: true success under flips).
FINALS: dict[str, str] = {
    "gate1-c2-paired-s0": "89.5 81.9 65.4 79.8 78.0",
    "t1-c2-independent-s0": "87.0 79.8 61.4 79.1 70.5",
    "t1-c2-paired-s1": "87.4 81.2 64.1 77.5 62.5",
    "t1-c2-independent-s1": "88.2 79.8 63.1 76.5 72.0",
    "t1-c2-paired-s2": "86.4 83.2 71.0 81.1 76.0",
    "t1-c2-independent-s2": "84.1 79.1 60.8 75.9 63.5",
    "t1-c4-paired-s0": "90.5 80.9 60.1 79.8 61.0 91.6",
    "t1-c4-independent-s0": "90.2 79.6 57.0 75.2 52.5 91.8",
    "t1-c4-paired-s1-h100": "88.5 80.5 55.0 75.0 54.0 89.2",
    "t1-c4-independent-s1": "85.8 76.8 55.2 76.1 58.5 86.5",
    "t1-c4-paired-s2": "89.1 80.5 58.8 78.9 61.5 89.0",
    "t1-c4-independent-s2": "87.9 77.9 57.6 77.8 56.0 87.1",
    "t1-c0-clean-s0": "90.0 77.9 58.2 76.4 56.0",
    "t1-c0-clean-s1-h100": "89.8 82.8 54.6 77.6 57.5",
}
FINAL_REGIMES = ("clean", "faults_p10", "faults_p25", "heldout_p25", "challenge", "grader_flips")
UNCOUNTED_FINALS = "91.4 81.1 57.9 77.2 56.0 91.6"  # Table 11

# Table 10: all-correct training groups and the spurious ones among them, of 2,400 groups a run.
GROUPS: dict[str, tuple[int, int]] = {
    "gate1-c2-paired-s0": (726, 0),
    "t1-c2-independent-s0": (206, 0),
    "t1-c2-paired-s1": (705, 0),
    "t1-c2-independent-s1": (231, 0),
    "t1-c2-paired-s2": (791, 0),
    "t1-c2-independent-s2": (201, 0),
    "t1-c4-paired-s0": (1387, 0),
    "t1-c4-independent-s0": (1355, 778),
    "t1-c4-paired-s1-h100": (1245, 0),
    "t1-c4-independent-s1": (1158, 664),
    "t1-c4-paired-s2": (1357, 0),
    "t1-c4-independent-s2": (1213, 638),
    "t1-c0-clean-s0": (1323, 0),
    "t1-c0-clean-s1-h100": (1410, 0),
}
GROUPS_PER_RUN = 2400

# Table 2, H1a luck share: step-0 estimates of the six C2 runs in the order of Table 1, and the lowest lower bound.
LUCK_AT_BASE = ("0.347", "0.352", "0.380", "0.380", "0.332", "0.332")
LOWEST_LUCK_BOUND = "0.208"
# Table 6, P12: the zero-shot luck share under the three environment versions.
LUCK_BY_ENVIRONMENT = {"env1": "0.030", "env2": "0.222", "env3": "0.347"}

# Table 2: (endpoint, level, lower, upper) as proportions; printed in points where the source says pp.
INTERVALS = (
    ("c2_auc", "0.95", "-0.0039", "0.0779", "Table 2, H2a"),
    ("c4_auc", "0.95", "-0.0286", "0.0326", "Table 2, H2b"),
    ("c2_challenge_40_80", "0.95", "-0.0104", "0.1215", "Table 2, H3 (pp)"),
    ("c2_heldout", "0.90", "-0.0037", "0.0525", "Table 2, H5 (pp)"),
)

# Table 5: trajectory, checkpoint, L/R, outcome MC, transition MC, transition MC stratified. Step 0 belongs to both.
PROBE = (
    ("B", 0, "0.275", "0.789", "0.601", "0.552"),
    ("B", 20, "0.243", "0.759", "0.517", "0.464"),
    ("B", 40, "0.196", "0.706", "0.421", "0.389"),
    ("B", 60, "0.220", "0.736", "0.387", "0.343"),
    ("B", 80, "0.206", "0.719", "0.384", "0.340"),
    ("B", 100, "0.197", "0.707", "0.370", "0.332"),
    ("A", 0, "0.275", "0.789", "0.601", "0.552"),
    ("A", 80, "0.189", "0.697", "0.388", "0.347"),
    ("A", 100, "0.216", "0.731", "0.385", "0.354"),
)


def counts(printed: str, episodes: int, places: int) -> int:
    """The number of successes out of `episodes` whose share, rounded to `places` decimals, is the printed text.

    Halves were printed both ways (60.75 as 60.8, 60.25 as 60.2), so both roundings are admitted.

    Raises:
        StudyError: no count, or more than one, fits the printed figure.
    """
    shown = Fraction(printed)
    half = Fraction(1, 2 * 10**places)
    fitting = [count for count in range(episodes + 1) if abs(Fraction(count, episodes) - shown) <= half]
    if len(fitting) != 1:
        raise StudyError(
            "a printed figure does not stand for one count",
            expected=f"one count out of {episodes}",
            found=f"{printed}: {fitting}",
        )
    return fitting[0]
