"""docs/registers.md: its code runs, and its tables of formats are those of the code.

`python tests/prereg_kit/registers/test_registers_doc.py` writes the tables anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prereg_kit.registers.formats import FORMATS

PAGE = Path(__file__).parents[3] / "docs" / "registers.md"
BEGIN, END = "<!-- formats: from prereg_kit/registers/formats.py -->", "<!-- end of formats -->"


def tables() -> str:
    lines = []
    for known in FORMATS.values():
        lines += [
            "",
            f"### {known.name}",
            "",
            known.doc,
            "",
            "| column | type | role | |",
            "|---|---|---|---|",
        ]
        for column in known.columns:
            may = (
                ", may be absent" if not column.required else ", may lack a value" if column.nullable else ""
            )
            lines.append(f"| `{column.name}` | {column.type} | {column.role} | {column.doc}{may} |")
    return "\n".join([BEGIN, *lines, "", END])


def test_the_tables_are_those_of_the_code():
    assert tables() in PAGE.read_text(encoding="utf-8"), (
        f"run `python {Path(__file__).name}` to write them anew"
    )


@pytest.mark.parametrize(
    "block", re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
)
def test_the_code_runs(block):
    exec(compile(block, str(PAGE), "exec"), {})


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    PAGE.write_text(text[:start] + tables() + text[stop:], encoding="utf-8")
