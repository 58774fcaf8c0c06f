"""Which authorities we know and which of their certificates we pin: one folder per operator.

A folder holds `operator.json` (`prereg.operator/1`) and any number of PEM files, which are the anchors; PEM files
in its subfolder `untrusted` only help to build a path. Presets are shipped as configuration without certificates.
Later layers win, first to last: the package's presets, `$XDG_CONFIG_HOME/prereg/trust`, `./trust`, and folders given
with `--trust`. The certificates inside a token, those stored beside a frozen document and the system's web roots are
never anchors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from prereg_kit.errors import NotCheckedError, TimestampError, UsageError, Where
from prereg_kit.evidence.archive.load import strict_json
from prereg_kit.evidence.token.proof import Anchors
from prereg_kit.foundation import durable
from prereg_kit.foundation.digest import readable_json, sha256_bytes

FORMAT = "prereg.operator/1"
CONFIG = "operator.json"
RESERVED = "demo"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{64}")
_KEYS = {"format", "name", "title", "url", "policies", "anchor_source", "website", "fingerprints"}


@dataclass(frozen=True)
class Operator:
    """An authority's operator. `name` is its identity in a quorum.

    Attributes:
        url: where it answers, empty if unknown.
        policies: policy OIDs seen in its tokens; another one is a warning.
        anchor_source, website: where its root certificate comes from.
        fingerprints: SHA-256 of the DER of every certificate that may be pinned; None if nobody stated any.
        anchors: the pinned certificates as PEM files; empty if none is at hand.
        untrusted: intermediate certificates as PEM files, for authorities that leave them out of their tokens.
        origin: the folder that the anchors, or else the configuration, came from.
    """

    name: str
    title: str = ""
    url: str = ""
    policies: tuple[str, ...] = ()
    anchor_source: str = ""
    website: str = ""
    fingerprints: tuple[str, ...] | None = None
    anchors: tuple[bytes, ...] = ()
    untrusted: tuple[bytes, ...] = ()
    origin: str = ""

    def pinned(self) -> Anchors:
        """The anchors for the verifier, each compared with the stated fingerprints.

        Raises:
            TimestampError: a certificate whose fingerprint was not stated.
            DocumentError: a PEM file without a certificate.
        """
        anchors = Anchors.from_pem(*self.anchors)
        for found in anchors.fingerprints:
            if self.fingerprints is not None and found not in self.fingerprints:
                raise TimestampError(
                    f"an anchor of {self.name} has another fingerprint than stated",
                    where=Where(file=self.origin),
                    expected=" or ".join(self.fingerprints) or "none",
                    found=found,
                    next_step="Remove the PEM file, or correct the fingerprint after comparing it at its source.",
                    code="anchor-fingerprint",
                )
        return anchors

    def intermediates(self) -> tuple[bytes, ...]:
        """The intermediate certificates, DER; they help to build a path and are never trusted.

        Raises:
            DocumentError: a PEM file without a certificate.
        """
        return Anchors.from_pem(*self.untrusted).certificates

    def missing(self) -> str:
        """What to say where the anchor is not at hand."""
        source = f" (source: {self.anchor_source})" if self.anchor_source else ""
        return f"anchor not at hand: `prereg trust add {self.name} --root PEM`{source}"


def user_folder() -> Path:
    """`$XDG_CONFIG_HOME/prereg/trust`, by default under ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "prereg" / "trust"


def _preset_folder() -> Path:
    return Path(str(resources.files("prereg_kit.evidence"))) / "trust_store"


def _text(value: Mapping[str, object], key: str, source: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise TimestampError("not a text", where=Where(file=source, field=key), found=found, code="trust")
    return found


def _texts(value: Mapping[str, object], key: str, source: str) -> tuple[str, ...] | None:
    found = value.get(key)
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise TimestampError(
            "not a list of texts", where=Where(file=source, field=key), found=found, code="trust"
        )
    return tuple(found)


def read_operator(folder: Path) -> Operator:
    """An operator from its folder; PEM files without operator.json take the folder's name.

    Raises:
        TimestampError: a configuration that is not `prereg.operator/1`, or whose name is not the folder's.
    """
    path = folder / CONFIG
    pems = tuple(file.read_bytes() for file in sorted(folder.glob("*.pem")))
    others = tuple(file.read_bytes() for file in sorted(folder.glob("untrusted/*.pem")))
    if not path.exists():
        return Operator(folder.name, anchors=pems, untrusted=others, origin=str(folder))
    value = strict_json(path.read_bytes(), str(path))
    unknown = set(value) - _KEYS if isinstance(value, dict) else set()
    if not isinstance(value, dict) or value.get("format") != FORMAT or unknown:
        raise TimestampError(
            "not an operator's configuration",
            where=Where(file=str(path), field=next(iter(sorted(unknown)), "format")),
            expected=f"format {FORMAT!r} with {', '.join(sorted(_KEYS))}",
            found=sorted(unknown) if unknown else value,
            code="trust",
        )
    fingerprints = _texts(value, "fingerprints", str(path))
    if value.get("name") != folder.name or not all(_HEX.fullmatch(f) for f in fingerprints or ()):
        raise TimestampError(
            "not an operator's configuration",
            where=Where(file=str(path)),
            expected="the folder's name, and fingerprints of 64 lower-case hex digits",
            found=(value.get("name"), fingerprints),
            code="trust",
        )
    return Operator(
        name=folder.name,
        title=_text(value, "title", str(path)),
        url=_text(value, "url", str(path)),
        policies=_texts(value, "policies", str(path)) or (),
        anchor_source=_text(value, "anchor_source", str(path)),
        website=_text(value, "website", str(path)),
        fingerprints=fingerprints,
        anchors=pems,
        untrusted=others,
        origin=str(folder),
    )


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
                if folder.is_dir() and _NAME.fullmatch(folder.name) and folder.name != RESERVED:
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
        parts = urlsplit(given)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or port == -1:
            raise UsageError(
                "not an address of an authority",
                where=Where(field="--tsa"),
                expected="http://HOST/PATH or https://HOST/PATH, without credentials (the address is recorded)",
                found=re.sub(r"//[^/@]*@", "//...@", given),
            )
        known = self.find("", given)
        if known is not None:
            return known
        name = parts.hostname.lower() + (f"-{port}" if port else "")
        return Operator(re.sub(r"[^a-z0-9.-]+", "-", name).strip("-.")[:64] or "authority", url=given)


def add(
    name: str,
    roots: Iterable[bytes],
    into: Path,
    *,
    known: Operator | None = None,
    url: str = "",
    policies: Iterable[str] = (),
    source: str = "",
    fingerprint: str | None = None,
    untrusted: Iterable[bytes] = (),
) -> Operator:
    """Pin certificates of an operator in its folder under `into`; earlier ones stay pinned.

    Args:
        name: the operator, lower-case.
        roots: PEM files (or DER), with one or several certificates each.
        into: a folder of operators, such as `user_folder()`.
        known: what is known of it already; explicit arguments win.
        url: where it answers.
        policies: policy OIDs seen in its tokens.
        source: where the certificate comes from.
        fingerprint: SHA-256 in hex, with or without colons, that the first certificate must have.
        untrusted: PEM files with intermediate certificates.

    Raises:
        UsageError: an unusable or reserved name.
        TimestampError: another fingerprint than given.
        DocumentError: no certificate in a file.
    """
    if not _NAME.fullmatch(name) or name == RESERVED:
        raise UsageError(
            "not usable as an operator's name",
            where=Where(field="NAME"),
            expected=f"lower-case letters, digits, dots and hyphens, and not {RESERVED!r}",
            found=name,
        )
    anchors, others = Anchors.from_pem(*roots), Anchors.from_pem(*untrusted)
    wanted = fingerprint.replace(":", "").strip().lower() if fingerprint is not None else None
    if wanted is not None and wanted not in anchors.fingerprints:
        raise TimestampError(
            "the certificate has another fingerprint",
            where=Where(field="--fingerprint"),
            expected=wanted,
            found=", ".join(anchors.fingerprints),
            next_step="Fetch the certificate again from its source; nothing was added.",
            code="anchor-fingerprint",
        )
    folder = into / name
    folder.mkdir(parents=True, exist_ok=True)
    base = read_operator(folder) if (folder / CONFIG).exists() else known or Operator(name)
    for der in anchors.certificates:
        path = folder / f"root-{sha256_bytes(der)[:16]}.pem"
        if not path.exists():
            durable.write_bytes(path, pem(der))
    for der in others.certificates:
        (folder / "untrusted").mkdir(exist_ok=True)
        path = folder / "untrusted" / f"{sha256_bytes(der)[:16]}.pem"
        if not path.exists():
            durable.write_bytes(path, pem(der))
    earlier = (base.fingerprints or ()) if (folder / CONFIG).exists() else ()
    config = {
        "format": FORMAT,
        "name": name,
        "title": base.title or name,
        "url": url or base.url,
        "policies": list(policies) or list(base.policies),
        "anchor_source": source or base.anchor_source,
        "website": base.website,
        "fingerprints": list(dict.fromkeys([*earlier, *anchors.fingerprints])),
    }
    durable.write_bytes(folder / CONFIG, readable_json(config), replace=True)
    return read_operator(folder)


def pem(der: bytes) -> bytes:
    """A certificate's DER as PEM (RFC 7468)."""
    import base64

    body = base64.encodebytes(der).decode().replace("\n", "")
    lines = [body[i : i + 64] for i in range(0, len(body), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""]).encode()
