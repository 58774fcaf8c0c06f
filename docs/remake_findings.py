"""The table of findings in docs/auditing.md: `python docs/remake_findings.py` makes it from `audit.findings`."""

from __future__ import annotations

from pathlib import Path

from prereg_kit.audit.findings import CODES

PAGE = Path(__file__).parent / "auditing.md"
BEGIN, END = "<!-- findings: made by docs/remake_findings.py -->", "<!-- end of findings -->"


def made(page: str) -> str:
    """The page with its table written anew."""
    rows = "".join(f"| `{code}` | {kind.severity} | {kind.innocent} |\n" for code, kind in CODES.items())
    table = f"\n| finding | severity | an innocent explanation would have to show |\n|---|---|---|\n{rows}"
    head, rest = page.split(BEGIN)
    return head + BEGIN + table + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
