"""An authority's operator: its file, its folder, and the certificates pinned for it."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from prereg_kit.errors import TimestampError, Where
from prereg_kit.evidence.token import ACCURACY_LIMIT, Anchors
from prereg_kit.foundation.strict_json import read_json

FORMAT: Literal["prereg.operator/1"] = "prereg.operator/1"
CONFIG = "operator.json"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?", re.ASCII)
ADDRESS = "http://HOST/PATH or https://HOST/PATH, without credentials (the address is recorded)"
_OID = r"^[0-2](\.(0|[1-9][0-9]*))+$"


def is_address(text: str) -> bool:
    """Whether `text` is an http(s) address that may be asked and recorded.

    No credentials: the address goes into freeze.json and the README, which are public. No blanks or control
    characters: a line break would forge lines of a record, and urlsplit drops some of them without a word.
    """
    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc and port != 0
    )


def _address(text: str) -> str:
    if text and not is_address(text):
        raise ValueError(f"expected {ADDRESS}")
    return text


class OperatorFile(BaseModel):
    """operator.json. `fingerprints` is None where nobody stated any: then every PEM file of the folder is an anchor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["prereg.operator/1"]
    name: str = Field(pattern=f"^{NAME.pattern}$")
    title: str = ""
    url: Annotated[str, AfterValidator(_address)] = ""
    policies: tuple[Annotated[str, Field(pattern=_OID)], ...] = ()
    anchor_source: str = ""
    website: str = ""
    fingerprints: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")], ...] | None = None
    max_accuracy_seconds: Annotated[int, Field(strict=True, ge=1, le=31_536_000)] | None = None


@dataclass(frozen=True)
class Operator:
    """An authority's operator. `name` is its identity in a quorum.

    Attributes:
        url: where it answers, empty if unknown.
        policies: policy OIDs seen in its tokens; another one is a warning.
        anchor_source, website: where its root certificate comes from.
        fingerprints: SHA-256 of the DER of every certificate that may be pinned; None if nobody stated any.
        max_accuracy_seconds: the widest accuracy of its tokens that counts; None for the verifier's own limit.
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
    max_accuracy_seconds: int | None = None
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

    def accuracy_limit(self, of_plan: timedelta | None) -> timedelta:
        """The widest accuracy of this operator's tokens that counts as a time.

        The stricter of the plan's limit and this operator's; five minutes where neither states one.
        """
        own = None if self.max_accuracy_seconds is None else timedelta(seconds=self.max_accuracy_seconds)
        return min((limit for limit in (of_plan, own) if limit is not None), default=ACCURACY_LIMIT)

    def missing(self) -> str:
        """What to say where the anchor is not at hand."""
        source = f" (source: {self.anchor_source})" if self.anchor_source else ""
        return f"anchor not at hand: `prereg trust add {self.name} --root PEM`{source}"


def read_operator(folder: Path) -> Operator:
    """An operator from its folder; PEM files without operator.json take the folder's name.

    Raises:
        TimestampError: a configuration that is not `prereg.operator/1`, or whose name is not the folder's.
        DocumentError: operator.json is not strict JSON.
    """
    pems = tuple(file.read_bytes() for file in sorted(folder.glob("*.pem")))
    others = tuple(file.read_bytes() for file in sorted(folder.glob("untrusted/*.pem")))
    path = folder / CONFIG
    if not path.exists():
        return Operator(folder.name, anchors=pems, untrusted=others, origin=str(folder))
    config = parse_operator(read_json(path.read_bytes(), str(path)), str(path))
    if config.name != folder.name:
        raise TimestampError(
            "an operator's configuration under another name",
            where=Where(file=str(path), field="name"),
            expected=f"the folder's name, {folder.name!r}",
            found=config.name,
            code="trust",
        )
    return Operator(
        name=config.name,
        title=config.title,
        url=config.url,
        policies=config.policies,
        anchor_source=config.anchor_source,
        website=config.website,
        fingerprints=config.fingerprints,
        max_accuracy_seconds=config.max_accuracy_seconds,
        anchors=pems,
        untrusted=others,
        origin=str(folder),
    )


def parse_operator(value: object, source: str) -> OperatorFile:
    """operator.json from parsed JSON.

    Raises:
        TimestampError: another format, an unknown field, or a value that does not fit; the first is named.
    """
    try:
        return OperatorFile.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise TimestampError(
            f"not an operator's configuration: {first['msg'].removeprefix('Value error, ')}",
            where=Where(file=source, field=".".join(map(str, first["loc"])) or None),
            expected=f"format {FORMAT!r} with {', '.join(OperatorFile.model_fields)}",
            found=without_credentials(str(first.get("input"))),
            next_step="Mend the field, or remove the operator's folder and use `prereg trust add`.",
            code="trust",
        ) from error


def without_credentials(address: str) -> str:
    """An address for a message, with whatever stands before an `@` left out: it may be a password."""
    return re.sub(r"//[^/]*@", "//...@", address)


def pem(der: bytes) -> bytes:
    """A certificate's DER as PEM (RFC 7468)."""
    body = base64.b64encode(der).decode()
    lines = [body[i : i + 64] for i in range(0, len(body), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""]).encode()
