"""Paths: authority flags, lengths, purposes, names, policies, and a search that ends."""

import pytest
from cryptography import x509

from prereg_kit.evidence.token import Anchors, TokenRejected

ANY_POLICY = x509.ObjectIdentifier("2.5.29.32.0")
P, Q = x509.ObjectIdentifier("1.3.6.1.4.1.99999.7.21"), x509.ObjectIdentifier("1.3.6.1.4.1.99999.7.22")


def policies(*oids):
    return x509.CertificatePolicies([x509.PolicyInformation(oid, None) for oid in oids]), False


def chain(mint, pki, middle=(), leaf=(), **arguments):
    """A token below root -> CA with the extensions `middle` -> unit with the extensions `leaf`."""
    authority = pki.issue("Middle", mint.root, ca=True, extra=middle, **arguments)
    unit = pki.issue("Leaf", authority, extra=leaf)
    return mint.token(unit, bag=(unit, authority))


def test_path_length_counts_the_authorities_between(mint, pki):
    top = pki.issue("Top", mint.root, ca=True, length=1)
    middle = pki.issue("Middle", top, ca=True)
    low = pki.issue("Low", middle, ca=True)
    unit, deep = pki.issue("Unit", middle), pki.issue("Unit", low)
    mint.verify(mint.token(unit, bag=(unit, middle, top)))
    assert mint.refused(mint.token(deep, bag=(deep, low, middle, top))) == "reject chain_invalid"


def test_an_anchor_keeps_its_own_path_length(mint, pki):
    root = pki.issue("Short root", ca=True, length=0)
    middle = pki.issue("Middle", root, ca=True)
    unit, direct = pki.issue("Unit", middle), pki.issue("Unit", root)
    anchors = Anchors((root.der,))
    mint.verify(mint.token(direct, bag=(direct,)), anchors=anchors)
    assert mint.refused(mint.token(unit, bag=(unit, middle)), anchors=anchors) == "reject chain_invalid"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"usage": {"crl_sign"}}, "chain_invalid"),
        ({"end": 2026}, "certificate_expired"),
        ({"start": 2027}, "certificate_expired"),
    ],
)
def test_authorities_that_may_not_issue(mint, pki, arguments, reason):
    assert mint.refused(chain(mint, pki, **arguments)) == f"reject {reason}"


def test_an_expired_anchor_does_not_count(mint, pki):
    root = pki.issue("Old root", ca=True, start=2015, end=2026)
    unit = pki.issue("Unit", root)
    assert (
        mint.refused(mint.token(unit, bag=(unit,)), anchors=Anchors((root.der,)))
        == "reject certificate_expired"
    )


def test_purposes_nest(mint, pki):
    def purpose(*oids):
        return [(x509.ExtendedKeyUsage([x509.ObjectIdentifier(oid) for oid in oids]), False)]

    mint.verify(chain(mint, pki, purpose("1.3.6.1.5.5.7.3.8", "1.3.6.1.5.5.7.3.3")))
    mint.verify(chain(mint, pki, purpose("2.5.29.37.0")))
    assert mint.refused(chain(mint, pki, purpose("1.3.6.1.5.5.7.3.1"))) == "reject chain_eku_nesting"


def version_1(pki, unit, issuer):
    """The certificate of `unit` without extensions, as old authorities have them, signed by `issuer`."""
    from asn1crypto import x509 as reader
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    tbs = reader.Certificate.load(unit.der)["tbs_certificate"]
    names = ("serial_number", "signature", "issuer", "validity", "subject", "subject_public_key_info")
    fields = [tbs[name].dump() for name in names]
    body = pki.seq(*fields)
    signature = issuer.key.sign(body, ec.ECDSA(hashes.SHA256()))
    return pki.seq(body, fields[1], pki.tlv(0x03, b"\0" + signature))


def test_an_old_anchor_without_extensions_is_an_authority_by_being_pinned(mint, pki):
    mint.verify(anchors=Anchors((version_1(pki, mint.root, mint.root),)))


def test_an_old_certificate_between_is_no_authority(mint, pki):
    old = version_1(pki, mint.inter, mint.root)
    assert mint.refused(mint.token(bag=(mint.unit,)), untrusted=(old,)) == "reject chain_invalid"
    mint.verify(mint.token(bag=(mint.unit,)), anchors=Anchors((old,)))


def test_a_self_issued_certificate_does_not_count_for_the_length(mint, pki):
    top = pki.issue("Top", mint.root, ca=True, length=0)
    renewed = pki.issue("Top", top, ca=True)  # the same name under a new key (RFC 5280 4.2.1.9)
    unit = pki.issue("Unit", renewed)
    mint.verify(mint.token(unit, bag=(unit, renewed, top)))


def test_an_authority_with_a_short_key(mint, pki):
    assert mint.refused(chain(mint, pki, kind="rsa1024")) == "reject weak_key"


def test_name_constraints(mint, pki):
    def names(permitted=None, excluded=None):
        def bases(parts):
            return None if parts is None else [x509.DirectoryName(x509.Name(part)) for part in parts]

        return [(x509.NameConstraints(bases(permitted), bases(excluded)), True)]

    ours = list(pki.name("x"))[:1]
    theirs = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Others")]
    mint.verify(chain(mint, pki, names([ours])))
    mint.verify(chain(mint, pki, names([theirs, ours])))
    mint.verify(chain(mint, pki, names(None, [theirs])))
    for refused in (names([theirs]), names(None, [ours]), names([ours], [list(pki.name("Leaf"))])):
        assert mint.refused(chain(mint, pki, refused)) == "reject name_constraints"


def test_constraints_on_names_that_are_not_compared(mint, pki):
    oid = [(x509.NameConstraints([x509.RegisteredID(x509.ObjectIdentifier("1.2.3"))], None), True)]
    mint.verify(chain(mint, pki, oid))  # nobody below has a registered OID
    other = x509.SubjectAlternativeName([x509.RegisteredID(x509.ObjectIdentifier("1.2.3"))])
    assert mint.refused(chain(mint, pki, oid, [(other, False)])) == "unsupported name_constraints"


def test_required_policies(mint, pki):
    require = (x509.PolicyConstraints(0, None), True)
    later = (x509.PolicyConstraints(2, None), True)
    mint.verify(chain(mint, pki, [require, policies(P)], [policies(P, Q)]))
    mint.verify(chain(mint, pki, [require, policies(ANY_POLICY)], [policies(Q)]))
    mint.verify(chain(mint, pki, [require, policies(P)], [policies(ANY_POLICY)]))
    mint.verify(chain(mint, pki, [later]))
    for middle, leaf in (
        ([require], [policies(P)]),
        ([require, policies(P)], []),
        ([require, policies(P)], [policies(Q)]),
        ([require, policies(ANY_POLICY)], []),
        ([require, policies(P), (x509.InhibitAnyPolicy(0), True)], [policies(ANY_POLICY)]),
    ):
        assert mint.refused(chain(mint, pki, middle, leaf)) == "reject policy_constraints"


def test_mapped_policies(mint, pki):
    def mapping(*pairs):
        value = pki.seq(*(pki.seq(pki.oid(a.dotted_string), pki.oid(b.dotted_string)) for a, b in pairs))
        return x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.33"), value), False

    require = (x509.PolicyConstraints(0, None), True)
    mint.verify(chain(mint, pki, [require, policies(P), mapping((P, Q))], [policies(Q)]))
    mint.verify(chain(mint, pki, [require, policies(P), mapping((P, Q), (P, P))], [policies(P)]))
    mint.verify(chain(mint, pki, [require, policies(ANY_POLICY), mapping((P, Q))], [policies(Q)]))
    for middle in ([require, policies(P), mapping((P, Q))], [require, policies(P), mapping((P, ANY_POLICY))]):
        assert mint.refused(chain(mint, pki, middle, [policies(P)])) == "reject policy_constraints"
    # The mapping is inhibited above the authority that maps, so that its policy is lost.
    top = pki.issue("Top", mint.root, ca=True, extra=[(x509.PolicyConstraints(0, 0), True), policies(P)])
    middle = pki.issue("Middle", top, ca=True, extra=[policies(P), mapping((P, Q))])
    unit = pki.issue("Leaf", middle, extra=[policies(Q)])
    assert mint.refused(mint.token(unit, bag=(unit, middle, top))) == "reject policy_constraints"


def test_of_two_ways_up_the_sound_one_is_found(mint, pki):
    key = pki.new_key("ec")
    expired = pki.issue("Cross", mint.root, ca=True, key=key, end=2026)
    sound = pki.issue("Cross", mint.root, ca=True, key=key)
    unit = pki.issue("Unit", sound)
    for bag in ((unit, expired, sound), (unit, sound, expired)):
        proof = mint.verify(mint.token(unit, bag=bag), untrusted=(expired.der, sound.der))
        assert proof.chain[1] == sound.der


def test_a_loop_of_authorities_ends(mint, pki):
    one, two = pki.new_key("ec"), pki.new_key("ec")
    first = pki.issue("First", None, ca=True, key=one)
    second = pki.issue("Second", first, ca=True, key=two)
    back = pki.issue("First", second, ca=True, key=one)
    unit = pki.issue("Unit", back)
    assert mint.refused(mint.token(unit, bag=(unit, back, second))).startswith("reject")


def test_a_crowd_of_look_alikes_runs_into_the_budget(mint, pki):
    crowd = [pki.issue("Mint CA", mint.root, ca=True) for _ in range(110)]
    given = tuple(one.der for one in crowd)
    unit = pki.issue("Unit", mint.inter)
    assert mint.refused(mint.token(unit, bag=(unit,)), untrusted=given) == "reject path_budget"
    bag = [*crowd[:64], unit]
    assert mint.refused(mint.token(unit, bag=bag)) == "reject path_budget"


def test_the_missing_issuer_is_named(mint, pki):
    stranger = pki.issue("Stranger", ca=True)
    with pytest.raises(
        TokenRejected, match="'CN=Mint CA, O=Vectors, no evidence' of 'CN=Mint unit"
    ) as caught:
        mint.verify(mint.token(bag=(mint.unit,)), anchors=Anchors((stranger.der,)))
    assert caught.value.reason == "chain_incomplete"
    assert "CN=Stranger" in str(caught.value)
