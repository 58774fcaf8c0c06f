"""docs/theory.md runs from top to bottom as one program; a block that fails names its line."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"


def test_the_page_runs():
    text = PAGE.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "docs_theory"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 12
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block.group(1), str(PAGE), "exec"), namespace)


def test_every_section_but_the_conditions_shows_code():
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [s.splitlines()[0] for s in sections if "```python" not in s] == ["Conditions"]
