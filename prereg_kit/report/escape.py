"""Text from a plan or a register, made safe for one output format and still readable as the same text.

Everything that a verdicts file carries is treated as hostile: names, rules, reasons, paths, units. A format's
escaper is applied to every printed expression by the template environment, never by hand (see `environment`).
HTML uses markupsafe through jinja2's automatic escaping; the others are here.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from prereg_kit.foundation.visible import one_line, visible

Format = Literal["md", "html", "latex", "csv"]
FORMATS: tuple[Format, ...] = ("md", "html", "latex", "csv")


def html_text(text: str) -> str:
    """`text` for jinja2's automatic escaping: control characters, which HTML forbids, are written out.

    Direction marks stay, so that a name is the text it was; the page isolates names and lists the marks.
    """
    return "".join(
        f"[U+{ord(c):04X}]" if c not in "\t\n\r" and unicodedata.category(c) in {"Cc", "Cs"} else c
        for c in text
    )


_MD_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "|": "\\|", "$": "&#36;", "@": "&#64;", "\\": "\\\\"}
    | {c: "\\" + c for c in "`~"}
)
_MD_FLANKING = re.compile(r"\*(?=\S)|(?<=\S)\*")
_MD_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_MD_BRACKET = re.compile(r"^\[|\](?=[\[(:])")
_MD_LINKS = re.compile(r":(?=//)|:(?=(?:[a-z+-][\w+-]*|100|1234):)|(?<=\bwww)\.", re.IGNORECASE)
_MD_BLOCK = re.compile(r"^(?:((?:#+|[-+=]+)(?=\s)|>)|(\d+)([.)])(?=\s))")


def _md_block(match: re.Match[str]) -> str:
    return "\\" + match[1] if match[1] else f"{match[2]}\\{match[3]}"


def markdown(text: str) -> str:
    """`text` as inline CommonMark with GitHub's extensions: no markup, link, mention, formula or row break.

    A `*` between blanks, a `_` inside a word and brackets that no link can start from are left as they are, so
    that `{{ 7 * 7 }}` and `[-0.0039, +0.0779]` stay.
    """
    line = one_line(visible(text)).translate(_MD_ENTITIES)
    line = _MD_FLANKING.sub(r"\\*", line)
    line = _MD_UNDERSCORE.sub(r"\\_", line)
    line = _MD_BRACKET.sub(r"\\\g<0>", line)
    line = _MD_LINKS.sub(lambda m: f"&#{ord(m[0])};", line)
    return _MD_BLOCK.sub(_md_block, line)


_TEX_SPECIAL = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after \\ a bracket would be read as an optional argument
    "]": "{]}",
    "*": "{*}",  # and a star as part of the command
}
_TEX_SIGNS = {
    "≥": r"$\geq$", "≤": r"$\leq$", "−": r"$-$", "±": r"$\pm$", "∓": r"$\mp$", "×": r"$\times$", "·": r"$\cdot$",
    "÷": r"$\div$", "≈": r"$\approx$", "≠": r"$\neq$", "∞": r"$\infty$", "∈": r"$\in$", "∑": r"$\sum$",
    "√": r"$\surd$", "→": r"$\rightarrow$", "←": r"$\leftarrow$", "⇒": r"$\Rightarrow$", "∧": r"$\wedge$",
    "∨": r"$\vee$", "¬": r"$\neg$", "∅": r"$\emptyset$", "°": r"\textdegree{}", "µ": r"\textmu{}",
    "μ": r"$\mu$", "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}", "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}", "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "€": r"\texteuro{}",
    "²": r"\textsuperscript{2}", "³": r"\textsuperscript{3}", "¹": r"\textsuperscript{1}", "‑": "-", "‐": "-",
    "§": r"\S{}", "¶": r"\P{}", "†": r"\dag{}", "‡": r"\ddag{}", "•": r"\textbullet{}", "½": r"$\frac12$",
    "\u00a0": " ", "\u202f": " ", "\u2009": " ",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "δ": r"$\delta$", "ε": r"$\epsilon$", "θ": r"$\theta$",
    "λ": r"$\lambda$", "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "τ": r"$\tau$", "φ": r"$\phi$",
    "χ": r"$\chi$", "ω": r"$\omega$", "Δ": r"$\Delta$", "Σ": r"$\Sigma$", "Ω": r"$\Omega$", "η": r"$\eta$",
}  # fmt: skip
_TEX_NUMBER = re.compile(r"(?<![\w.])([+-])(\d[\d.]*)")
_TEX_LIGATURE = re.compile(r"(?<=([-,]))(?=\1)")
_TEX_LONG = re.compile(r"[0-9A-Za-z]{26,}")


def _tex_letter(c: str) -> str:
    if c.isascii():
        return _TEX_SPECIAL.get(c, c)
    if c in _TEX_SIGNS:
        return _TEX_SIGNS[c]
    # T1 covers the Latin letters up to U+017F; anything else has no glyph in the default fonts.
    if c.isalpha() and ord(c) < 0x0180 and unicodedata.name(c, "").startswith("LATIN"):
        return c
    return "{[}U+" + f"{ord(c):04X}" + "{]}"


def latex(text: str) -> str:
    r"""`text` for a table cell or a paragraph under pdflatex, xelatex and lualatex, escaped once.

    Line breaks become blanks. A character that the default fonts lack is written as `[U+4E2D]`. Unbroken runs of
    26 letters or digits go through `\preregsplit`, which the document defines, so that they can break.
    """
    line = unicodedata.normalize("NFC", one_line(visible(text)))
    parts: list[str] = []
    position = 0
    for match in _TEX_NUMBER.finditer(line):
        parts += [_tex_words(line[position : match.start()]), f"${match[1]}{match[2]}$"]
        position = match.end()
    return "".join([*parts, _tex_words(line[position:])])


def _tex_words(text: str) -> str:
    parts: list[str] = []
    position = 0
    for match in _TEX_LONG.finditer(text):
        parts += [_tex_plain(text[position : match.start()]), "\\preregsplit{" + match[0] + "}"]
        position = match.end()
    return "".join([*parts, _tex_plain(text[position:])])


def _tex_plain(text: str) -> str:
    return "".join(map(_tex_letter, _TEX_LIGATURE.sub("\0", text))).replace("\0", "{}")


_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)


def csv_text(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, written so that its text can still be read.

    A leading `=`, `+`, `-`, `@`, tab or line break, also after blanks and also full-width, gets an apostrophe
    before it. A cell that is a number and nothing else is left alone.
    """
    shown = visible(text)
    if _NUMBER.fullmatch(shown):
        return shown
    return "'" + shown if shown.lstrip(" \u00a0")[:1] in _FORMULA and shown.strip() else shown


def csv_field(text: str) -> str:
    """`csv_text` as one RFC 4180 field: always quoted, quotes doubled."""
    return '"' + csv_text(text).replace('"', '""') + '"'
