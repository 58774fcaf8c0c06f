"""Event-keyed schedules: every draw is a function of (schedule seed, tool, resource, repeat), never of a stream.

    episode key  K = BLAKE2b-256(enc(schedule_seed), person "bo.sched.v1")
    draw         D = BLAKE2b-256(enc(tool) || enc(resource) || u32le(k), key K, person "bo.fault.v1")
    lanes            D[0:8] does it fault?   D[8:16] which type?   D[16:24] parameter   D[24:32] spare
    grade lane       BLAKE2b-256("", key K, person "bo.grade.v1")[0:8]
    enc(s)       = u16le(byte length) || NFC UTF-8

Lanes are little-endian 64-bit integers and are compared with integers, so rates 0 and 1 are exact. Two lanes
decide (fault, type) so that faults nest in the rate. A change of any byte here needs a new `LAW` and new vectors
(tests/vectors/schedule). After Buffalo et al. 2026, paper section 3 and Appendix B.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import NamedTuple
from unicodedata import normalize

from study.errors import ConfigError

LAW = "bo.v1"
SEED_HEX_DIGITS = 32

_SEED_PERSON = b"bo.seed.v1"
_EPISODE_PERSON = b"bo.sched.v1"
_FAULT_PERSON = b"bo.fault.v1"
_GRADE_PERSON = b"bo.grade.v1"
_LANES = Struct("<4Q")
_lanes = (
    tuple.__new__
)  # what Lanes._make calls, without the detour: a draw has to cost less than a microsecond
_REPEATS = tuple(k.to_bytes(4, "little") for k in range(64))
_LENGTHS = tuple(n.to_bytes(2, "little") for n in range(256))
_MAX_TEXT_BYTES = (1 << 16) - 1


class Lanes(NamedTuple):
    """One draw: four independent uniform integers in [0, 2**64)."""

    fault: int
    kind: int
    parameter: int
    spare: int


def encode_text(text: str) -> bytes:
    """Length-prefixed NFC UTF-8, hence injective under concatenation.

    Raises:
        ConfigError: more than 65,535 bytes, or a lone surrogate, which UTF-8 has no form for.
    """
    try:
        data = text.encode() if text.isascii() else normalize("NFC", text).encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            "a key part is not Unicode text", expected="no lone surrogates", found=text
        ) from error
    if len(data) > _MAX_TEXT_BYTES:
        raise ConfigError("a key part is too long", expected="at most 65535 bytes", found=len(data))
    return len(data).to_bytes(2, "little") + data


def encode_integer(value: int) -> bytes:
    """Eight bytes, little-endian.

    Raises:
        ConfigError: `value` is negative or needs more than 64 bits.
    """
    if not 0 <= value < 1 << 64:
        raise ConfigError("a key integer is out of range", expected="0 <= value < 2**64", found=value)
    return value.to_bytes(8, "little")


def schedule_seed(label: str, *parts: str | int) -> str:
    """Derive a schedule seed from a domain label and coordinates, never by adding seeds.

    Args:
        label: the domain; each label has one fixed tuple of types, which keeps the encoding injective.
        parts: texts and non-negative integers below 2**64.

    Returns:
        128 bits as 32 lower-case hex digits.
    """
    data = encode_text(label) + b"".join(
        encode_text(part) if isinstance(part, str) else encode_integer(part) for part in parts
    )
    return blake2b(data, digest_size=SEED_HEX_DIGITS // 2, person=_SEED_PERSON).hexdigest()


def train_seed(run_seed: int, row: int) -> str:
    """The seed that a training group shares in the paired arm.

    Args:
        run_seed: the run's seed, the same in both arms.
        row: step * prompts per step + position in the batch, so a prompt met again draws anew.
    """
    return schedule_seed("train", run_seed, row)


def slot_seed(row_seed: str, slot: int) -> str:
    """The seed of one rollout in the independent arm, derived from the row's seed and its slot 0..G-1."""
    return schedule_seed("train-slot", row_seed, slot)


def evaluation_seed(pool: str, task_id: str, index: int) -> str:
    """The seed of evaluation schedule `index` of a task, identical for all arms and checkpoints."""
    return schedule_seed("eval", pool, task_id, index)


def luck_seed(task_id: str, index: int) -> str:
    """The seed of schedule `index` in the luck-share design."""
    return schedule_seed("luck", task_id, index)


class _Codes(dict[str, bytes]):
    """Encoded tool names, each encoded once; only a known tool ever draws, so there are few."""

    def __missing__(self, tool: str) -> bytes:
        code = self[tool] = encode_text(tool)
        return code


_TOOL_CODES = _Codes()


class Schedule:
    """The exogenous draws of one episode.

    Args:
        seed: the schedule seed; any text, usually 32 hex digits.
    """

    __slots__ = ("_key", "_keyed", "seed")

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self._key = blake2b(encode_text(seed), digest_size=32, person=_EPISODE_PERSON).digest()
        self._keyed = blake2b(key=self._key, digest_size=32, person=_FAULT_PERSON)

    def draw(self, tool: str, resource: str, repeat: int) -> Lanes:
        """The lanes of one event.

        Args:
            tool: canonical tool name.
            resource: canonical resource ("" where the tool has one constant resource).
            repeat: how many draws of the same (tool, resource) this episode has made before; 0-based.
        """
        state = self._keyed.copy()
        data = resource.encode() if resource.isascii() else normalize("NFC", resource).encode()
        size = len(data)
        state.update(
            _TOOL_CODES[tool]
            + (_LENGTHS[size] if size < len(_LENGTHS) else size.to_bytes(2, "little"))
            + data
            + (_REPEATS[repeat] if repeat < len(_REPEATS) else repeat.to_bytes(4, "little"))
        )
        return _lanes(Lanes, _LANES.unpack(state.digest()))

    def grade_lane(self) -> int:
        """The episode's one draw for the grader, in [0, 2**64)."""
        return int.from_bytes(
            blake2b(key=self._key, digest_size=32, person=_GRADE_PERSON).digest()[:8], "little"
        )
