"""YAML 1.2 read strictly from bytes; the one owner of ruamel.yaml.

Every scalar stays the text in the file: the reader of a field decides what type it has, never the scalar's look,
so `no`, `1.10`, `2026-09-08` and `84e07311` cannot change type on the way. Refused, with file, line and field:
duplicate keys, tags, alias bombs, several documents, other YAML versions, non-UTF-8 bytes, control characters.
Reported, with the bytes kept: a byte-order mark, CRLF line ends, text that is not in Unicode form NFC.
"""

from __future__ import annotations

import codecs
import functools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from prereg_kit.errors import DocumentError, Where
from prereg_kit.foundation.text_bytes import read_text

Tree = dict[str, "Tree"] | list["Tree"] | str | None
Path = tuple[str | int, ...]

MAX_BYTES = 4 << 20
MAX_NODES = 200_000
MAX_DEPTH = 64


@dataclass(frozen=True)
class Document:
    """A parsed file: `value` holds text leaves only, `lines` maps a path to its 1-based line."""

    value: Tree
    lines: dict[Path, int]
    source: str
    notices: tuple[str, ...] = ()

    def line(self, path: Path) -> int | None:
        """The line of `path`, or of its nearest ancestor that has one."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


@dataclass
class _Node:
    """A composed node: `entries` for mappings, `items` for sequences, `text` for scalars."""

    kind: str
    line: int
    text: str | None = None
    items: list[_Node] = field(default_factory=list)
    entries: list[tuple[_Node, _Node]] = field(default_factory=list)


def decode(data: bytes, source: str) -> tuple[str, tuple[str, ...]]:
    """UTF-8 text of `data` and notices about what a reader may not see.

    Raises:
        DocumentError: too large, not UTF-8 (UTF-16 is named as such), or two byte-order marks.
    """
    if len(data) > MAX_BYTES:
        raise DocumentError(
            "the file is too large to be a plan",
            where=Where(file=source),
            expected="at most 4 MiB",
            found=len(data),
        )
    text = read_text(data, source)
    notices = []
    if data.startswith(codecs.BOM_UTF8):
        notices.append("the file starts with a byte-order mark; it is part of the frozen bytes")
    if "\r\n" in text:
        notices.append("lines end in CRLF; the digest is over these bytes")
    if not unicodedata.is_normalized("NFC", text):
        notices.append("some text is not in Unicode form NFC; the bytes are kept as they are")
    return text, tuple(notices)


@functools.lru_cache(maxsize=8)
def read(data: bytes, source: str) -> Document:
    """Parse one YAML document into text leaves with line numbers.

    The last few documents are remembered: a plan is read once for its id and once to be replayed. Nobody may change
    the value; `history` works on a copy.

    Args:
        data: the file's bytes.
        source: its name, for messages.

    Raises:
        DocumentError: anything listed in the module's docstring, or a syntax error.
    """
    text, notices = decode(data, source)
    root = _compose(text, source)
    lines: dict[Path, int] = {}
    value = _Builder(source, lines).build(root, ())
    return Document(value, lines, source, notices)


def plain(value: Tree) -> Any:  # noqa: ANN401 - a JSON value
    """The tree with `true`/`false` as booleans and everything else as text: for headers without a schema."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {"true": True, "false": False}.get(value, value) if value is not None else None


def _compose(text: str, source: str) -> _Node:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        events = iter(YAML(typ="safe", pure=True).parse(text))
        return _Composer(events, source).document()
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DocumentError(
            f"not YAML: {error.problem or error.context}",
            where=Where(file=source, line=line),
            next_step="Check indentation, colons and quotes on this line.",
        ) from error
    except YAMLError as error:
        raise DocumentError(f"not YAML: {str(error).splitlines()[0]}", where=Where(file=source)) from error


class _Composer:
    """Events to nodes; aliases share a node, and the builder bounds how often they are expanded."""

    def __init__(self, events: Iterator[Any], source: str) -> None:
        self._events = events
        self._source = source
        self._anchors: dict[str, _Node] = {}
        self._open: set[str] = set()

    def document(self) -> _Node:
        root: _Node | None = None
        for event in self._events:
            name = type(event).__name__
            if name == "DocumentStartEvent" and event.version not in (None, (1, 2)):
                self._refuse("another YAML version", event, "YAML 1.2", ".".join(map(str, event.version)))
            if name in ("StreamStartEvent", "DocumentStartEvent", "DocumentEndEvent", "StreamEndEvent"):
                continue
            if root is not None:
                self._refuse("a second document in one file", event, "one document", "another `---`")
            root = self._node(event, 0)
        if root is None:
            raise DocumentError(
                "the file is empty", where=Where(file=self._source), expected="a YAML mapping"
            )
        return root

    def _refuse(self, problem: str, event: Any, expected: str, found: object) -> None:  # noqa: ANN401
        raise DocumentError(
            problem,
            where=Where(file=self._source, line=event.start_mark.line + 1),
            expected=expected,
            found=found,
        )

    def _node(self, event: Any, depth: int) -> _Node:  # noqa: ANN401
        if depth > MAX_DEPTH:
            self._refuse("nested too deeply", event, f"at most {MAX_DEPTH} levels", "more")
        name = type(event).__name__
        line = event.start_mark.line + 1
        if name == "AliasEvent":
            if event.anchor in self._open:
                self._refuse("an alias inside its own anchor", event, "a finished anchor", event.anchor)
            if event.anchor not in self._anchors:
                self._refuse("an alias without an anchor", event, "an anchor defined above", event.anchor)
            return self._anchors[event.anchor]
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._refuse("a tag; documents carry data, never types or code", event, "no tag", str(tag))
        node = _Node(name.removesuffix("StartEvent").removesuffix("Event").lower(), line)
        if event.anchor:
            self._open.add(event.anchor)
        if node.kind == "scalar":
            quoted = event.style is not None
            node.text = (
                event.value if quoted or event.value not in ("", "~", "null", "Null", "NULL") else None
            )
        elif node.kind == "sequence":
            while type(inner := next(self._events)).__name__ != "SequenceEndEvent":
                node.items.append(self._node(inner, depth + 1))
        else:
            while type(inner := next(self._events)).__name__ != "MappingEndEvent":
                key = self._node(inner, depth + 1)
                node.entries.append((key, self._node(next(self._events), depth + 1)))
        if event.anchor:
            self._open.discard(event.anchor)
            self._anchors[event.anchor] = node
        return node


class _Builder:
    """Nodes to plain values, with duplicate keys refused and merge keys applied."""

    def __init__(self, source: str, lines: dict[Path, int]) -> None:
        self._source = source
        self._lines = lines
        self._budget = MAX_NODES

    def build(self, node: _Node, path: Path) -> Tree:
        self._spend(node, len(path))
        self._lines.setdefault(path, node.line)
        if node.kind == "scalar":
            return node.text
        if node.kind == "sequence":
            return [self.build(item, (*path, index)) for index, item in enumerate(node.items)]
        return self._mapping(node, path)

    def _spend(self, node: _Node, depth: int) -> None:
        """Count one value that an alias or a merge key may have repeated.

        Raises:
            DocumentError: more values, or deeper ones, than a plan can have.
        """
        self._budget -= 1
        if self._budget < 0 or depth > MAX_DEPTH:
            many = self._budget < 0
            raise DocumentError(
                "aliases expand to too many values" if many else "aliases nest too deeply",
                where=Where(file=self._source, line=node.line),
                expected=f"at most {MAX_NODES} values" if many else f"at most {MAX_DEPTH} levels",
                next_step="Write the repeated part out, or drop the alias.",
            )

    def _mapping(self, node: _Node, path: Path) -> dict[str, Tree]:
        own: dict[str, tuple[int, _Node]] = {}
        merged: dict[str, tuple[int, _Node]] = {}
        for key, value in node.entries:
            if key.kind != "scalar" or key.text is None:
                raise DocumentError(
                    "a key that is not text", where=Where(file=self._source, line=key.line), expected="a name"
                )
            if key.text == "<<":
                for inherited, entry in self._merge_sources(value, 0):
                    merged.setdefault(inherited, entry)
                continue
            if key.text in own:
                raise DocumentError(
                    f"the key {key.text!r} stands twice, on lines {own[key.text][0]} and {key.line}",
                    where=Where(file=self._source, line=key.line, field=dotted((*path, key.text))),
                    expected="each key once",
                    next_step="Keep the line you mean; neither value was used.",
                    code="duplicate-key",
                )
            own[key.text] = (key.line, value)
        result: dict[str, Tree] = {}
        for name, (line, value) in {**merged, **own}.items():
            self._lines[(*path, name)] = line
            result[name] = self.build(value, (*path, name))
        return result

    def _merge_sources(self, value: _Node, depth: int) -> Iterator[tuple[str, tuple[int, _Node]]]:
        for source in value.items if value.kind == "sequence" else [value]:
            if source.kind != "mapping":
                raise DocumentError(
                    "a merge key that does not name a mapping",
                    where=Where(file=self._source, line=value.line),
                )
            self._spend(source, depth)
            for key, inner in source.entries:
                self._spend(key, depth)
                if key.kind == "scalar" and key.text == "<<":
                    yield from self._merge_sources(inner, depth + 1)
                elif key.kind == "scalar" and key.text is not None:
                    yield key.text, (key.line, inner)


def dotted(path: Path) -> str:
    """A path as people read it: `hypotheses.H2a.passes_if.all[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
