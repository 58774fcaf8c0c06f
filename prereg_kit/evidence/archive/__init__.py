"""The archive: frozen/ and amendments/, exact bytes beside a record that names every file.

`freeze` builds a folder atomically, `load_frozen` gives its document with the bytes checked, `complete` adds
stamps, `check_manifest` compares files with a list. The archive knows no network and judges no token: a
`Stamper` brings tokens in, and `prereg_kit.evidence.folder` examines them.
"""

from prereg_kit.evidence.archive.build import Frozen, complete, freeze, locked, update
from prereg_kit.evidence.archive.load import (
    FrozenDocument,
    find_by_digest,
    find_frozen,
    find_links,
    find_unrecorded,
    load_frozen,
    read_file,
    read_record,
)
from prereg_kit.evidence.archive.manifest import ManifestReport, check_manifest, read_manifest
from prereg_kit.evidence.archive.paths import check_id, locate, suggest_id
from prereg_kit.evidence.archive.record import (
    FreezeRecord,
    Kind,
    NewStamp,
    Pending,
    Revocation,
    Stamper,
    Stamps,
    moment,
    rfc3339,
)
from prereg_kit.evidence.archive.sniff import lfs_pointer, mismatch, refuse_pointer

__all__ = [
    "FreezeRecord",
    "Frozen",
    "FrozenDocument",
    "Kind",
    "ManifestReport",
    "NewStamp",
    "Pending",
    "Revocation",
    "Stamper",
    "Stamps",
    "check_id",
    "check_manifest",
    "complete",
    "find_by_digest",
    "find_frozen",
    "find_links",
    "find_unrecorded",
    "freeze",
    "lfs_pointer",
    "load_frozen",
    "locate",
    "locked",
    "mismatch",
    "moment",
    "read_file",
    "read_manifest",
    "read_record",
    "refuse_pointer",
    "rfc3339",
    "suggest_id",
    "update",
]
