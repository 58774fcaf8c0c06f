"""The only writer of vectors.json: the schedule law once more, on a BLAKE2b written from RFC 7693.

python tests/vectors/schedule/remake.py
"""

import json
from pathlib import Path
from unicodedata import normalize

MASK = (1 << 64) - 1
IV = (
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
)  # fmt: skip
SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4), (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13), (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11), (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5), (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)  # fmt: skip


def rotate(value, bits):
    return (value >> bits | value << (64 - bits)) & MASK


def mix(v, a, b, c, d, x, y):
    v[a] = (v[a] + v[b] + x) & MASK
    v[d] = rotate(v[d] ^ v[a], 32)
    v[c] = (v[c] + v[d]) & MASK
    v[b] = rotate(v[b] ^ v[c], 24)
    v[a] = (v[a] + v[b] + y) & MASK
    v[d] = rotate(v[d] ^ v[a], 16)
    v[c] = (v[c] + v[d]) & MASK
    v[b] = rotate(v[b] ^ v[c], 63)


def blake2b(data, size, person, key=b""):
    """RFC 7693 with the parameter block's personalisation (its bytes 48 to 63)."""
    block = bytes((size, len(key), 1, 1)) + bytes(44) + person.ljust(16, b"\0")
    h = [iv ^ int.from_bytes(block[8 * n : 8 * n + 8], "little") for n, iv in enumerate(IV)]
    message = (key.ljust(128, b"\0") if key else b"") + data
    chunks = [message[n : n + 128] for n in range(0, len(message), 128)] or [b""]
    done = 0
    for number, chunk in enumerate(chunks):
        done += len(chunk)
        m = [int.from_bytes(chunk.ljust(128, b"\0")[8 * n : 8 * n + 8], "little") for n in range(16)]
        v = h + list(IV)
        v[12] ^= done
        if number == len(chunks) - 1:
            v[14] ^= MASK
        for rounds in range(12):
            s = SIGMA[rounds % 10]
            for n, (a, b, c, d) in enumerate(
                ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                 (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
            ):  # fmt: skip
                mix(v, a, b, c, d, m[s[2 * n]], m[s[2 * n + 1]])
        h = [h[n] ^ v[n] ^ v[n + 8] for n in range(8)]
    return b"".join(word.to_bytes(8, "little") for word in h)[:size]


def enc(part):
    if isinstance(part, int):
        return part.to_bytes(8, "little")
    data = normalize("NFC", part).encode()
    return len(data).to_bytes(2, "little") + data


def seed(*parts):
    return blake2b(b"".join(map(enc, parts)), 16, b"bo.seed.v1").hex()


def episode_key(schedule_seed):
    return blake2b(enc(schedule_seed), 32, b"bo.sched.v1")


def lanes(schedule_seed, tool, resource, k):
    data = enc(tool) + enc(resource) + k.to_bytes(4, "little")
    digest = blake2b(data, 32, b"bo.fault.v1", episode_key(schedule_seed))
    return [int.from_bytes(digest[n : n + 8], "little") for n in (0, 8, 16, 24)]


def grade_lane(schedule_seed):
    return int.from_bytes(blake2b(b"", 32, b"bo.grade.v1", episode_key(schedule_seed))[:8], "little")


SEED_PARTS = [
    ["train", 0, 0], ["train", 0, 1], ["train", 1, 0], ["train", 20260911, 2399],
    ["train-slot", seed("train", 0, 0), 0], ["train-slot", seed("train", 0, 0), 7],
    ["eval", "validation", "validation-0000", 0], ["eval", "test", "test-0199", 3],
    ["eval", "diagnostic", "compact-diagnostic-0015", 11], ["luck", "diagnostic-0003", 7],
]  # fmt: skip
EVENTS = [
    ("", "search_customers", "", 0), ("0", "search_customers", "", 1), ("a" * 32, "get_customer", "C-1002", 0),
    ("a" * 32, "get_customer", "C-1002", 1), ("a" * 32, "get_customer", "C-1002", 63),
    ("a" * 32, "get_customer", "C-1002", 64), ("a" * 32, "list_orders", "C-1002", 0),
    ("f" * 32, "get_order", "O-12345", 0), ("f" * 32, "get_order", "O-1234", 5), ("f" * 32, "check_inventory", "P-100", 2),
    ("f" * 32, "update_shipping_address", "O-12345", 0), ("0123456789abcdef" * 2, "cancel_order", "O-1", 0),
    ("0123456789abcdef" * 2, "issue_refund", "O-1", 0), ("0123456789abcdef" * 2, "reserve_stock", "O-1/P-1", 0),
    ("0123456789abcdef" * 2, "reserve_stock", "P-1", 0), ("0123456789abcdef" * 2, "schedule_shipment", "O-1", 4),
    ("0123456789abcdef" * 2, "create_ticket", "order:O-1", 0), ("0123456789abcdef" * 2, "create_ticket", "", 3),
    ("stra\u00dfe", "get_order", "CAFE\u0301 \u00c5", 0), ("e" * 32, "get_order", "X" * 300, 1000),
]  # fmt: skip


def vectors():
    def words(values):
        return [f"{value:016x}" for value in values]

    return {
        "format": "study.schedule-vectors/1",
        "law": "bo.v1",
        "events": [[*event, words(lanes(*event))] for event in EVENTS],
        "grades": [[text, f"{grade_lane(text):016x}"] for text in ("", "a" * 32, "f" * 32, "stra\u00dfe")],
        "seeds": [[parts, seed(*parts)] for parts in SEED_PARTS],
    }


if __name__ == "__main__":
    assert blake2b(b"abc", 64, b"").hex().startswith("ba80a53f981c4d0d")  # RFC 7693, Appendix A
    path = Path(__file__).with_name("vectors.json")
    path.write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
