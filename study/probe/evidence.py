"""The evidence of one probe: a small file from which every figure recomputes without the model and without torch.

`NAME.npz` (a zip of arrays, no pickles) holds `record`, the JSON text of a `study.probe.evidence/1`, and the arrays
that the record lists with type, shape and SHA-256:

    gram         (units, rows, rows)  inner products of the scores within a unit, float64
    cross        inner products of vectors that were summed over a unit, see `vectors` in the record
    successes    (units, rows)        true outcomes
    log_ratios   (units, rows)        sum over own tokens of scoring minus sampling log-probability
    own_tokens   (units, rows)        tokens that are the policy's own
    with_replacement, stratified      (units, comparators, G)  rows of the comparator groups; transition alone
    tokens, mask, logps, lengths      what was played: prompt and completion, own or not, sampling log-probabilities

No time and no machine stands in it: the same checkpoint gives the same bytes, killed and resumed or not.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from prereg_kit.errors import Where
from prereg_kit.foundation.digest import readable_json, sha256_bytes
from prereg_kit.foundation.durable import write_bytes
from study.errors import ConfigError, StudyError
from study.probe.spec import Record, Sha, Spec, Text

FORMAT = "study.probe.evidence/1"
SUFFIX = ".npz"
Vectors = Literal["each", "running"]
MOST_BYTES = 4 << 30
_LARGEST_RECORD = 1 << 20


class ArrayRecord(Record):
    """Type, shape and SHA-256 of the bytes of one array, C order, little-endian."""

    dtype: Literal["<f8", "<i4", "<i2", "|u1"]
    shape: tuple[Annotated[int, Field(ge=0)], ...]
    sha256: Sha


class Checks(Record):
    """What the other roads to the same gradients said; relative differences in the Euclidean norm.

    Attributes:
        hooks: per-sample gradients of one padded group from hooks on the adapters' inputs and outputs, None where
            `coordinates` is `every`.
        loop: the plain sum over own tokens of one gradient each, on the shortest mixed rollout.
        finite_differences: the largest relative error over keyed directions.
        trainer_cosine, trainer_difference: the trainer's own loss gradient on a micro-batch in its own precision
            against (1/T) sum A rho S.
        trainer_cosine_float64, trainer_difference_float64: the same code on the float64 model.
        trainer_rows: rollouts of the micro-batch.
    """

    hooks: float | None
    loop: float
    finite_differences: float
    trainer_cosine: float | None
    trainer_difference: float | None
    trainer_cosine_float64: float | None
    trainer_difference_float64: float | None
    trainer_rows: int
    trainer_note: Text | None


class EvidenceRecord(Record):
    """The record inside the file.

    Attributes:
        format: `study.probe.evidence/1`.
        spec: what was probed; its digest is `spec_sha256`.
        task_ids: of the units, in order.
        coordinates: d. tensors: how many tensors they lie in. layout_sha256: their names and shapes.
        parameters_sha256: of all parameters in float64, before and after every unit.
        precision: type of the stored gradients; products and sums are float64 in any case.
        vectors: `each` (cross holds every unit's vectors) or `running` (their sums alone, at great width).
        largest_gap: most by which a token's log-probability differed between sampling and scoring.
        checks: cross-checks, None where they were left out.
        kernels: which implementations the linear-attention layers used.
        versions: of the packages that can change a number.
        arrays: by name.
    """

    format: Literal["study.probe.evidence/1"]
    spec: Spec
    spec_sha256: Sha
    task_ids: tuple[Text, ...]
    coordinates: Annotated[int, Field(ge=1)]
    tensors: Annotated[int, Field(ge=1)]
    layout_sha256: Sha
    parameters_sha256: Sha
    precision: Literal["float64", "float32"]
    vectors: Vectors
    largest_gap: float
    checks: Checks | None
    kernels: dict[str, str]
    versions: dict[str, str | None]
    arrays: dict[str, ArrayRecord]


@dataclass(frozen=True)
class Evidence:
    """Evidence in memory.

    Attributes:
        record: what it says about itself.
        arrays: by name, as listed in the record.
    """

    record: EvidenceRecord
    arrays: Mapping[str, npt.NDArray[Any]]

    @property
    def spec(self) -> Spec:
        """What was probed."""
        return self.record.spec

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """An array as float64."""
        return self.arrays[name].astype(np.float64, copy=False)


def array_record(array: npt.NDArray[Any]) -> ArrayRecord:
    """What the record says of an array."""
    return ArrayRecord.model_validate(
        {
            "dtype": array.dtype.str,
            "shape": array.shape,
            "sha256": sha256_bytes(np.ascontiguousarray(array).tobytes()),
        }
    )


def encoded(evidence: Evidence) -> bytes:
    """The file's bytes; equal evidence gives equal bytes."""
    text = readable_json(evidence.record.model_dump(mode="json"))
    buffer = io.BytesIO()
    named: dict[str, Any] = {name: evidence.arrays[name] for name in sorted(evidence.arrays)}
    np.savez_compressed(buffer, allow_pickle=False, record=np.frombuffer(text, dtype=np.uint8), **named)
    return buffer.getvalue()


def write(path: Path, evidence: Evidence) -> str:
    """Write new evidence, whole or not at all; its SHA-256.

    Raises:
        ArchiveError: the file exists.
    """
    data = encoded(evidence)
    write_bytes(path, data)
    return sha256_bytes(data)


def read(path: Path) -> Evidence:
    """Read evidence, hostile until shown otherwise.

    Raises:
        ConfigError: absent, no zip of arrays, another format, or fields that are not the format's.
        StudyError: an array that is not the one that the record lists, or shapes that do not fit the probe.
    """
    where = Where(file=str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(info.file_size for info in archive.infolist())
        if total > MOST_BYTES:
            raise ConfigError(
                "evidence larger than any probe's",
                where=where,
                expected=f"at most {MOST_BYTES:,} bytes",
                found=total,
            )
        with np.load(path, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise ConfigError(
            "evidence cannot be read", where=where, found=error.strerror or str(error)
        ) from error
    except (
        zipfile.BadZipFile,
        ValueError,
        EOFError,
        KeyError,
        NotImplementedError,
        zipfile.LargeZipFile,
    ) as error:
        raise ConfigError(
            "not evidence of a probe",
            where=where,
            expected="a zip of arrays as `study probe` writes it",
            found=str(error),
        ) from error
    text = arrays.pop("record", None)
    if text is None or text.dtype != np.uint8 or text.ndim != 1 or text.size > _LARGEST_RECORD:
        raise ConfigError("not evidence of a probe", where=where, expected="an array `record` of bytes")
    record = _record(text.tobytes(), where)
    _require_arrays(record, arrays, where)
    return Evidence(record, arrays)


def _record(text: bytes, where: Where) -> EvidenceRecord:
    try:
        record = EvidenceRecord.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(
            "not a record of this version",
            where=Where(file=where.file, field=f"record.{place}"),
            expected=f"{FORMAT}: {first['msg']}",
            found=str(first.get("input"))[:80],
        ) from error
    if record.spec.digest != record.spec_sha256:
        raise StudyError(
            "the record's spec was changed",
            where=Where(file=where.file, field="record.spec_sha256"),
            expected=record.spec.digest,
            found=record.spec_sha256,
        )
    return record


def _require_arrays(record: EvidenceRecord, arrays: Mapping[str, npt.NDArray[Any]], where: Where) -> None:
    wanted = shapes(record)
    names = set(wanted) | {"tokens", "mask", "logps", "lengths"}
    if set(arrays) != names or set(record.arrays) != names:
        raise StudyError(
            "other arrays than this probe has",
            where=where,
            expected=", ".join(sorted(names)),
            found=", ".join(sorted(arrays)),
        )
    for name, array in arrays.items():
        if array.dtype.str not in ("<f8", "<i4", "<i2", "|u1") or (
            said := record.arrays[name]
        ) != array_record(array):
            raise StudyError(
                "an array is not the one that the record lists",
                where=Where(file=where.file, field=name),
                expected=record.arrays[name].sha256,
                found=f"{array.dtype} {array.shape}",
            )
        if name in wanted and said.shape != wanted[name]:
            raise StudyError(
                "an array does not fit the probe",
                where=Where(file=where.file, field=name),
                expected=str(wanted[name]),
                found=said.shape,
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StudyError("a number is not finite", where=Where(file=where.file, field=name))
    _require_values(record, arrays, where)


def shapes(record: EvidenceRecord) -> dict[str, tuple[int, ...]]:
    """The shapes that the spec fixes."""
    spec = record.spec
    units, rows = spec.tasks, spec.rows
    channels = {"outcome": {"each": 2, "running": 3}, "transition": {"each": 6, "running": 6}}[spec.kind][
        record.vectors
    ]
    side = channels * units if record.vectors == "each" else channels
    wanted: dict[str, tuple[int, ...]] = {
        "gram": (units, rows, rows),
        "cross": (side, side),
        "successes": (units, rows),
        "log_ratios": (units, rows),
        "own_tokens": (units, rows),
    }
    if spec.kind == "transition":
        comparators = (units, spec.comparators, spec.samples)
        wanted |= {"with_replacement": comparators, "stratified": comparators}
    return wanted


def _require_values(record: EvidenceRecord, arrays: Mapping[str, npt.NDArray[Any]], where: Where) -> None:
    rows = record.spec.rows
    for name, low, high in (
        ("successes", 0, 1), ("with_replacement", 0, rows - 1), ("stratified", 0, rows - 1), ("own_tokens", 1, 1 << 30),
    ):  # fmt: skip
        if name in arrays and (arrays[name].min() < low or arrays[name].max() > high):
            raise StudyError(
                "a value out of its range",
                where=Where(file=where.file, field=name),
                expected=f"{low} to {high}",
            )
    if len(record.task_ids) != record.spec.tasks:
        raise StudyError(
            "not one task a unit", where=where, expected=str(record.spec.tasks), found=len(record.task_ids)
        )
