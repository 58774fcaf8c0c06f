"""No change to what was signed is accepted, and no bytes at all raise anything outside the error tree."""

import contextlib
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prereg_kit.errors import PreregError
from prereg_kit.evidence.token import (
    Evidence,
    TokenRejected,
    TokenUnsupported,
    certificates_in,
    der,
    describe,
)

SETTINGS = settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def signed_ranges(blob, unit):
    """Offsets of the statement, the signed attributes, the signature, and the signer's certificate."""
    signed_data = list(list(der.parse(blob).children())[1].children())[1].only()
    fields = list(signed_data.children())
    statement = list(fields[2].children())[1].only()
    certificate = next(node for node in fields[3].children() if node.raw == unit)
    signer = list(fields[-1].only().children())
    attributes, signature = signer[3], signer[-1]
    assert attributes.tag == 0xA0
    assert signature.tag == der.OCTET_STRING
    return [(node.body, node.end) for node in (statement, attributes, signature, certificate)]


def claims(proof):
    return (
        proof.gen_time,
        proof.accuracy,
        proof.imprint_hex,
        proof.serial,
        proof.policy,
        proof.nonce,
        proof.tsa,
    )


def test_no_changed_byte_of_a_signed_part_is_accepted(plain, proof):
    rng = random.Random(3161)
    tried = 0
    for low, high in signed_ranges(plain.blob, proof.chain[0]):
        for position in range(low, high):
            changed = bytearray(plain.blob)
            changed[position] ^= 1 << rng.randrange(8)
            with pytest.raises((TokenRejected, TokenUnsupported)):
                plain.verify(bytes(changed), query=None)
            tried += 1
    assert tried > 700


@SETTINGS
@given(data=st.data())
def test_an_accepted_change_changes_no_claim(plain, proof, data):
    blob = bytearray(plain.blob)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(blob) - 1))
        action = data.draw(st.sampled_from(["set", "delete", "double"]))
        if action == "set":
            blob[position] = data.draw(st.integers(0, 255))
        elif action == "delete":
            del blob[position]
        else:
            blob.insert(position, blob[position])
    try:
        again = plain.verify(bytes(blob), query=None)
    except (TokenRejected, TokenUnsupported):
        return
    assert claims(again) == claims(proof)


@SETTINGS
@given(blob=st.binary(max_size=200))
def test_arbitrary_bytes_in_every_place(plain, blob):
    for call in (
        lambda: describe(blob),
        lambda: plain.verify(blob),
        lambda: plain.verify(query=blob),
        lambda: plain.verify(untrusted=(blob,)),
        lambda: plain.verify(evidence=Evidence((blob,), (blob,))),
        lambda: certificates_in(blob),
    ):
        with contextlib.suppress(PreregError):
            call()


@SETTINGS
@given(data=st.data())
def test_changed_evidence_never_turns_a_no_into_a_crash(vector, data):
    for case in ("ocsp_compromised_fail", "ceased_before_fail"):
        one = vector(case)
        evidence = one.arguments["evidence"]
        (blob,) = evidence.crls + evidence.ocsps
        changed = bytearray(blob)
        changed[data.draw(st.integers(0, len(blob) - 1))] ^= data.draw(st.integers(1, 255))
        try:
            proof = one.verify(
                evidence=Evidence(
                    *(tuple(bytes(changed) for _ in part) for part in (evidence.crls, evidence.ocsps))
                )
            )
        except TokenRejected as error:
            assert error.reason == one.reason
        else:
            assert proof.revocation == "not_checked"
