"""Makes every folder here anew: `python tests/vectors/tokens/remake.py`. The only writer of these files.

Keys are random and never stored, so that new files differ from the old ones in every byte; the verdicts do
not. A folder holds token.tsr, roots.pem, case.json (how to call the verifier and what must come out), README.md
(why), and where the case needs them data.bin, query.tsq, untrusted.pem, *.crl, *.ocsp.
"""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pki
from cryptography import x509
from pki import DATA, WHEN, issue, query, response, seq, signer_info, tlv, token, tstinfo

HERE = Path(__file__).parent
root = issue("Vector root", ca=True, start=2015)
inter = issue("Vector time-stamping CA", root, ca=True, length=0, start=2015)
unit = issue("Vector unit", inter)
other = issue("Vector unit two", inter)


def write(
    case, why, blob, expect, reason="ok", *, roots=(root,), untrusted=(), files=None, call=None, warnings=()
):
    folder = HERE / case
    folder.mkdir()
    refused = expect != "accept"
    assert refused == case.endswith("_fail"), case
    (folder / "token.tsr").write_bytes(blob)
    (folder / "roots.pem").write_bytes(b"".join(one.pem for one in roots))
    if untrusted:
        (folder / "untrusted.pem").write_bytes(b"".join(one.pem for one in untrusted))
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content)
    value = {"expect": expect, "reason": reason, "call": call or {}, "warnings": list(warnings)}
    (folder / "case.json").write_text(json.dumps(value, indent=1) + "\n")
    (folder / "README.md").write_text(f"# {case}\n\n{why}\n")


def plain(content=None, signer=unit, bag=None, **kwargs):
    """A response over TSTInfo `content`, signed by `signer`; the bag defaults to signer and intermediate."""
    content = tstinfo() if content is None else content
    bag = (signer, inter) if bag is None else bag
    return response(token(content, [signer_info(signer, content, **kwargs)], [one.der for one in bag]))


def under(common, issuer=inter, **kwargs):
    """A response by a fresh unit, and its bag with the issuer."""
    fresh = issue(common, issuer, **kwargs)
    return plain(signer=fresh, bag=(fresh, inter) if issuer is inter else (fresh, issuer, inter))


def good():
    asked = {"query.tsq": query()}
    write(
        "plain",
        "Root, intermediate, unit; ECDSA; ESS v2; the query is repeated.",
        plain(),
        "accept",
        files=asked,
    )
    key_id = tlv(0x80, unit.cert.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest)
    write(
        "signer_by_key_id",
        "SignerInfo version 3 (RFC 5652 5.3): PKCS #7 readers fail.",
        plain(sid=key_id),
        "accept",
    )
    pss = issue("Vector PSS", inter, kind="rsa3072")
    write(
        "rsa_pss",
        "RSASSA-PSS with SHA-256 (RFC 4056).",
        plain(signer=pss, bag=(pss, inter), pss=True),
        "accept",
    )
    ed = issue("Vector Ed25519", inter, kind="ed25519")
    write(
        "ed25519",
        "Ed25519 with SHA-512 as digest (RFC 8419).",
        plain(signer=ed, bag=(ed, inter), digest="sha512"),
        "accept",
    )
    both = [pki.ess_v1(unit.der), pki.ess_v2(unit.der, "sha512")]
    write("ess_both", "ESS v1 and v2, both right.", plain(ess=both), "accept")
    shuffled = token(tstinfo(), [signer_info(unit, tstinfo())], [unit.der, inter.der], unsorted=True)
    write(
        "unsorted",
        "Certificates not in the order of a DER SET, as real tokens have.",
        response(shuffled),
        "accept",
    )
    fraction = tstinfo(when=b"20260301120000.123456789Z")
    write("fraction", "Nine digits of a second; six are kept.", plain(fraction), "accept")
    high = 0xFE1F00D5AA55C3
    write(
        "nonce_high_bit",
        "A nonce whose DER needs a leading zero octet.",
        plain(tstinfo(nonce=high)),
        "accept",
        files={"query.tsq": query(nonce=high)},
    )
    write(
        "certificates_apart",
        "No certificate in the token; unit and intermediate given.",
        plain(bag=()),
        "accept",
        untrusted=(unit, inter),
    )
    permitted = x509.NameConstraints([x509.DirectoryName(x509.Name(list(pki.name("x"))[:1]))], None)
    held = issue("Vector constrained CA", root, ca=True, extra=[(permitted, True)])
    write(
        "name_constraints",
        "A CA limited to this organisation, which it keeps.",
        under("Vector unit c", held),
        "accept",
    )
    superseded = pki.crl(inter, [(unit, WHEN + timedelta(days=90), x509.ReasonFlags.superseded)])
    write(
        "superseded_later",
        "Revoked later because superseded: RFC 3161 4 (1).",
        plain(),
        "accept",
        files={"a.crl": superseded, "b.crl": pki.crl(root)},
        warnings=["revoked_later"],
    )
    responder = issue("Vector OCSP", inter, eku="ocsp")
    write(
        "ocsp_good",
        "Good, by a delegated responder; the intermediate by a CRL.",
        plain(),
        "accept",
        files={"a.ocsp": pki.ocsp(unit, inter, responder), "b.crl": pki.crl(root)},
    )
    stranger = issue("Vector time-stamping CA", None, ca=True)
    compromised = [(unit, WHEN, x509.ReasonFlags.key_compromise)]
    write(
        "forged_crl",
        "A list under the CA's name by another key says nothing.",
        plain(),
        "accept",
        files={"a.crl": pki.crl(inter, compromised, key=stranger.key)},
        warnings=["evidence_ignored", "revocation_not_checked"],
    )


def bad_statement():
    def bad(case, why, content, reason, expect="reject", **kwargs):
        write(f"{case}_fail", why, plain(content), expect, reason, **kwargs)

    bad(
        "trailing_zero",
        "RFC 3161 2.4.2: no trailing zeros in the fraction.",
        tstinfo(when=b"20260301120000.50Z"),
        "gen_time_encoding",
    )
    critical = seq(pki.oid("1.3.6.1.4.1.99999.7.9"), b"\x01\x01\xff", pki.octets(b"\x05\x00"))
    bad(
        "tstinfo_critical",
        "An unknown critical extension of TSTInfo.",
        tstinfo(extensions=critical),
        "tstinfo_extension",
    )
    stranger = tlv(0xA4, pki.name("Somebody else").public_bytes())
    bad(
        "tsa_name",
        "The tsa field names somebody else (RFC 3161 2.4.2).",
        tstinfo(tsa=stranger),
        "tsa_name_mismatch",
    )
    from_demo = "2.25.211863775822433981590794955208529454524"
    bad("demo_policy", "The policy of the demonstration authority.", tstinfo(policy=from_demo), "demo")


def bad_signature():
    content = tstinfo()
    one, two = signer_info(unit, content), signer_info(other, content)
    write(
        "two_signers_fail",
        "RFC 3161 2.4.2: one signer.",
        response(token(content, [one, two], [unit.der, other.der, inter.der])),
        "reject",
        "signer_count",
    )
    write(
        "no_attributes_fail",
        "Signed without signed attributes.",
        plain(bare=True),
        "reject",
        "signed_attributes",
    )
    write(
        "ess_missing_fail",
        "No ESS identifier: any certificate of the key would do.",
        plain(ess=[]),
        "reject",
        "ess_missing",
    )
    mixed = [pki.ess_v1(unit.der), pki.ess_v2(other.der)]
    write(
        "ess_v2_false_fail",
        "ESS v1 is right, v2 names another: both count.",
        plain(ess=mixed),
        "reject",
        "ess_mismatch",
    )
    wrong = seq(seq(tlv(0xA4, root.cert.subject.public_bytes())), pki.integer(unit.cert.serial_number))
    write(
        "ess_issuer_fail",
        "The ESS issuer and serial are another's.",
        plain(ess=[pki.ess_v2(unit.der, issuer_serial=wrong)]),
        "reject",
        "ess_mismatch",
    )
    lie = seq(pki.algorithm(pki.SHA["sha512"]), tlv(0xA1, pki.oid("1.2.840.10045.4.3.4")))
    protection = pki.attribute("1.2.840.113549.1.9.52", lie)
    write(
        "algorithm_protection_fail",
        "RFC 6211: other algorithms were signed.",
        plain(extra=[protection]),
        "reject",
        "signed_attributes",
    )
    weak = issue("Vector SHA-1 signer", inter, kind="rsa2048")
    write(
        "sha1_signature_fail",
        "The token's signature rests on SHA-1.",
        plain(signer=weak, bag=(weak, inter), digest="sha1", ess=[pki.ess_v2(weak.der)]),
        "reject",
        "weak_signature_hash",
    )


def bad_certificates():
    def bad(case, why, blob, reason, **kwargs):
        write(f"{case}_fail", why, blob, "reject", reason, **kwargs)

    bad(
        "eku_not_critical",
        "RFC 3161 2.3: the purpose must be critical.",
        under("Vector n", critical_eku=False),
        "eku",
    )
    bad(
        "expired",
        "The unit's certificate ended the year before genTime.",
        under("Vector old", end=2026),
        "certificate_expired",
    )
    twin = issue("Vector root", ca=True, start=2015)
    forged = issue("Vector unit", twin)
    bad(
        "root_twin",
        "A root of the same name and another key.",
        plain(signer=forged, bag=(forged, twin)),
        "untrusted_root",
    )
    alone = issue("Vector alone")
    bad(
        "leaf_pinned",
        "The signer itself given as root is no authority.",
        plain(signer=alone, bag=(alone,)),
        "chain_invalid",
        roots=(alone,),
    )
    fake = issue("Vector no CA", root, eku=None, usage={"digital_signature", "key_cert_sign"})
    bad("issuer_no_ca", "The issuer lacks the CA flag.", under("Vector u", fake), "chain_invalid")
    short = issue("Vector short CA", root, ca=True, end=2026)
    bad(
        "issuer_expired",
        "The intermediate had ended at genTime.",
        under("Vector v", short),
        "certificate_expired",
    )
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.7.8"), b"\x05\x00")
    bad(
        "unknown_critical",
        "An unknown critical extension (RFC 5280 4.2).",
        under("Vector w", extra=[(unknown, True)]),
        "critical_extension",
    )
    elsewhere = x509.NameConstraints([x509.DirectoryName(pki.name("Elsewhere"))], None)
    held = issue("Vector CA for elsewhere", root, ca=True, extra=[(elsewhere, True)])
    bad("name_outside", "The CA may not certify this name.", under("Vector y", held), "name_constraints")
    explicit = issue("Vector policy CA", root, ca=True, extra=[(x509.PolicyConstraints(0, None), True)])
    bad(
        "policy_required",
        "The CA requires a policy that nobody names.",
        under("Vector z", explicit),
        "policy_constraints",
    )
    bad("weak_key", "RSA with 1,024 bits.", under("Vector weak", kind="rsa1024"), "weak_key")
    demo = pki.name("DEMO LOCAL TSA - NO EVIDENTIAL VALUE")
    bad(
        "demo_subject",
        "The demonstration authority's name, under a trusted root.",
        under("", subject=demo),
        "demo",
    )
    responder = issue("Vector OCSP", inter, eku="ocsp")
    revoked = pki.ocsp(
        unit,
        inter,
        responder,
        date=(WHEN + timedelta(days=90)).replace(tzinfo=None),
        reason=x509.ReasonFlags.key_compromise,
    )
    bad(
        "ocsp_compromised",
        "Compromised after genTime: no token counts.",
        plain(),
        "revoked_key_compromise",
        files={"a.ocsp": revoked},
    )
    ceased = [(unit, WHEN - timedelta(days=9), x509.ReasonFlags.cessation_of_operation)]
    bad(
        "ceased_before", "Ceased before genTime.", plain(), "revoked", files={"a.crl": pki.crl(inter, ceased)}
    )
    bad(
        "ca_revoked",
        "The intermediate is revoked without a reason.",
        plain(),
        "revoked_reason_absent",
        files={"a.crl": pki.crl(root, [(inter, WHEN + timedelta(days=90), None)])},
    )


if __name__ == "__main__":
    for old in HERE.iterdir():
        if old.is_dir() and (old / "case.json").exists():
            shutil.rmtree(old)
    (HERE / "data.bin").write_bytes(DATA)
    good()
    bad_statement()
    bad_signature()
    bad_certificates()
