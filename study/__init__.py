"""The first experiment that prereg_kit serves: when do paired rollouts help group-relative RL of LLM agents?

Importing this package loads none of its rooms. `DISTRIBUTION` and `CONTENTS` are read, not executed, by
`prereg_kit.cli.study_command`, which starts the command `study` and refuses any other package of this name.
"""

DISTRIBUTION = "prereg-kit"
CONTENTS = (
    "__init__.py",
    "__main__.py",
    "backoffice",
    "cli",
    "closed_sets.py",
    "config",
    "errors.py",
    "evaluation",
    "figures",
    "policies",
    "probe",
    "published",
    "py.typed",
    "runs",
    "theory",
    "trained",
    "training",
)
