"""The picture of docs/architecture.md, drawn from the floors that tests/test_architecture.py holds.

`python docs/remake_architecture.py` writes docs/architecture.svg. Each row is a floor; a room imports only from
rows below its own.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
PICTURE = HERE / "architecture.svg"
ROW, BOX, GAP, LEFT, TOP = 44, 30, 8, 14, 46
COLUMN = 400


def floors() -> dict[str, dict[str, int]]:
    """The tables of the architecture test."""
    spec = importlib.util.spec_from_file_location(
        "architecture", HERE.parent / "tests" / "test_architecture.py"
    )
    if spec is None or spec.loader is None:
        raise FileNotFoundError("tests/test_architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, dict[str, int]] = module.FLOORS
    return found


def picture() -> str:
    """The SVG's text."""
    tables = floors()
    rows = {name: _rows(tables[name]) for name in ("prereg_kit", "study")}
    height = TOP + ROW * max(len(each) for each in rows.values()) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * COLUMN} {height}" role="img" '
        'aria-label="The rooms of both packages, one row per floor" font-family="system-ui, sans-serif" '
        'font-size="13">',
        f'<rect width="{2 * COLUMN}" height="{height}" fill="#ffffff"/>',
    ]
    for column, (package, levels) in enumerate(rows.items()):
        left = column * COLUMN + LEFT
        parts.append(f'<text x="{left}" y="26" font-size="17" font-weight="600">{package}</text>')
        bottom = TOP + ROW * (len(levels) - 1)
        for place, rooms in enumerate(levels):
            y = bottom - ROW * place
            parts.append(f'<text x="{left}" y="{y + 20}" fill="#68707c">{place}</text>')
            x = left + 22
            for room in rooms:
                width = 7.4 * len(room) + 20
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{width:.0f}" height="{BOX}" rx="6" fill="#eef3fb" stroke="#6f8fc0"/>'
                    f'<text x="{x + 9}" y="{y + 20}" fill="#16243a">{escape(room)}</text>'
                )
                x += round(width) + GAP
    return "\n".join([*parts, "</svg>"]) + "\n"


def _rows(table: dict[str, int]) -> list[list[str]]:
    """Rooms by floor, lowest first; the package's own entry points are left out."""
    levels: dict[int, list[str]] = {}
    for room, floor in table.items():
        if not room.startswith("__"):
            levels.setdefault(floor, []).append(room)
    return [levels[floor] for floor in sorted(levels)]


if __name__ == "__main__":
    PICTURE.write_text(picture())
