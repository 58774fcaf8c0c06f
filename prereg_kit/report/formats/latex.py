"""LaTeX: a document that compiles with pdflatex, xelatex and lualatex."""

from __future__ import annotations

import re
import unicodedata

from prereg_kit.foundation.visible import one_line, visible
from prereg_kit.report import tables
from prereg_kit.report.formats.format import ReportFormat
from prereg_kit.report.page import Page

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


def _context(page: Page, _table: str) -> dict[str, object]:
    return {"page": page, "tables": tables.all_tables(page)}


FORMAT = ReportFormat(("latex", "tex"), "page.tex.j2", latex, _context)
