"""The operators of all layers: presets, the user's folder, the project's, and those given with --trust."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from prereg_kit.errors import NotCheckedError, UsageError, Where
from prereg_kit.evidence.trust.operator import (
    ADDRESS,
    CONFIG,
    NAME,
    Operator,
    is_address,
    read_operator,
    without_credentials,
)

RESERVED = "demo"


def user_folder() -> Path:
    """`$XDG_CONFIG_HOME/prereg/trust`, by default under ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "prereg" / "trust"


def _preset_folder() -> Path:
    return Path(str(resources.files("prereg_kit.evidence.trust"))) / "trust_store"


def _layered(below: Operator | None, above: Operator, has_config: bool) -> Operator:
    if below is None:
        return above
    if not has_config:
        return replace(below, anchors=above.anchors, untrusted=above.untrusted, origin=above.origin)
    if above.anchors:
        return above
    return replace(above, anchors=below.anchors, untrusted=below.untrusted, origin=below.origin)


@dataclass(frozen=True)
class TrustStore:
    """The operators of all layers by name, in alphabetical order."""

    operators: Mapping[str, Operator]

    @classmethod
    def load(cls, extra: Iterable[Path | str] = (), *, local: Path | str | None = "trust") -> TrustStore:
        """Read the presets, the user's folder, `local` if it exists, and `extra` folders, in this order.

        Raises:
            NotCheckedError: an extra folder that does not exist.
            TimestampError: a configuration that cannot be read.
        """
        layers = [_preset_folder(), user_folder()]
        if local is not None:
            layers.append(Path(local))
        for given in map(Path, extra):
            if not given.is_dir():
                raise NotCheckedError(
                    "no such folder of trust anchors", where=Where(file=str(given)), code="no-trust"
                )
            layers.append(given)
        found: dict[str, Operator] = {}
        for layer in layers:
            for folder in sorted(layer.iterdir()) if layer.is_dir() else []:
                if folder.is_dir() and NAME.fullmatch(folder.name) and folder.name != RESERVED:
                    above = read_operator(folder)
                    found[above.name] = _layered(found.get(above.name), above, (folder / CONFIG).exists())
        return cls(dict(sorted(found.items())))

    def find(self, name: str, url: str = "") -> Operator | None:
        """The operator of that name, or else the one that answers at that address."""
        wanted = url.rstrip("/")
        by_url = (o for o in self.operators.values() if wanted and o.url.rstrip("/") == wanted)
        return self.operators.get(name) or next(by_url, None)

    def resolve(self, given: str) -> Operator:
        """The operator meant by `--tsa GIVEN`: a name, or an address, known or not.

        Raises:
            UsageError: neither a known name nor an http or https address; or credentials in the address.
        """
        if "://" not in given:
            operator = self.operators.get(given)
            if operator is None or not operator.url:
                raise UsageError(
                    "no such authority",
                    where=Where(field="--tsa"),
                    expected=f"one of {', '.join(self.operators)}, or an http(s) address",
                    found=given,
                )
            return operator
        if not is_address(given):
            raise UsageError(
                "not an address of an authority",
                where=Where(field="--tsa"),
                expected=ADDRESS,
                found=without_credentials(given),
            )
        parts = urlsplit(given)
        host, port = parts.hostname or "", parts.port
        known = self.find("", given)
        if known is not None:
            return known
        name = host.lower() + (f"-{port}" if port else "")
        return Operator(re.sub(r"[^a-z0-9.-]+", "-", name).strip("-.")[:64] or "authority", url=given)
