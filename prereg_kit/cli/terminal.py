"""A terminal as the verbs print to it: text that cannot command it, tables that fit or give way to lines.

rich honours NO_COLOR and writes no colour to a pipe. Text is passed as `rich.text.Text`, never as markup, and
hostile characters are written out, so that a name like `[red]` or an escape sequence is shown and not obeyed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prereg_kit.foundation.visible import as_encodable, one_line, visible

LEAST_GIVING = 12
"""A column that gives way keeps at least so many cells, or the table is printed as lines."""
CUT = "\\"
"""Stands at the end of a line where a word was cut because it is longer than the line."""


def console() -> Console:
    """Stdout as rich sees it: no colour if it is not a terminal or NO_COLOR is set; COLUMNS sets the width."""
    return Console(highlight=False, emoji=False, markup=False)


class Terminal:
    """Where a report is printed, with the encoding that it can show."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.width = out.width

    def text(self, words: str, style: str = "") -> Text:
        """One line of safe text in characters that this terminal has."""
        return Text(as_encodable(one_line(visible(words)), self.out.encoding), style=style)

    def lines(self, parts: Iterable[str]) -> Text:
        """One cell of several lines."""
        return Text("\n").join(self.text(part) for part in parts)

    def blank(self) -> None:
        """An empty line."""
        self.out.print()

    def line(self, words: str, style: str = "", indent: int = 0) -> None:
        """A paragraph, wrapped between words and indented; a word longer than a line is cut with a mark."""
        room = max(8, self.width - indent)
        text = self.text(words, style)
        marked = Text(" ").join(_cut(word, room) for word in text.split(" ")) if text else text
        for part in marked.wrap(self.out, room):
            part.rstrip()
            self.out.print(Text(" " * indent) + part, overflow="fold", soft_wrap=True)

    def whole(self, words: str) -> None:
        """A line that is never broken by us, so that a digest can be copied; the terminal may wrap it."""
        self.out.print(self.text(words), soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[Text]], whole: Sequence[str]) -> None:
        """A table whose columns named in `whole` keep their lines unbroken while the others give way.

        Where the terminal is too narrow for that, each row becomes a block: the first cell as its heading, the others
        under it with their column's name.
        """
        gap = 2 if self.width >= 130 else 1
        needs = [
            max(_widest(heading), *(_widest(row[i].plain) for row in rows)) if rows else _widest(heading)
            for i, heading in enumerate(headings)
        ]
        least = [
            need if heading in whole else min(need, LEAST_GIVING)
            for need, heading in zip(needs, headings, strict=True)
        ]
        if sum(least) + gap * (len(headings) - 1) > self.width:
            self._blocks(headings, rows)
            return
        table = Table(
            box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, gap, 0, 0)
        )
        for heading in headings:
            table.add_column(heading, overflow="fold", vertical="top", no_wrap=heading in whole)
        for row in rows:
            table.add_row(*row)
        self.out.print(table)

    def _blocks(self, headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
        for row in rows:
            self.line(row[0].plain, "bold")
            for heading, cell in zip(headings[1:], row[1:], strict=True):
                if cell.plain not in ("", "-"):
                    shown = ", ".join(part.strip() for part in cell.plain.split("\n"))
                    self.line(f"{heading}: {shown}", indent=2)


def _widest(text: str) -> int:
    return max((cell_len(line) for line in text.split("\n")), default=0)


def _cut(word: Text, room: int) -> Text:
    """`word` in pieces of at most `room` cells, each but the last with a mark at its end."""
    if cell_len(word.plain) <= room:
        return word
    pieces: list[str] = [""]
    for c in word.plain:
        if cell_len(pieces[-1]) + cell_len(c) > room - 1:
            pieces.append("")
        pieces[-1] += c
    return Text(f"{CUT} ".join(pieces), style=word.style)
