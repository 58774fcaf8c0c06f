"""Certificate policies along a path (RFC 5280 6.1.3 d to f, 6.1.4 a to j, 6.1.5 a, b, g), any policy acceptable.

A CA can demand that every certificate below it names a policy (policyConstraints). RFC 5280 keeps a tree of
valid policies; with any policy acceptable to the user only its emptiness matters, and for that the set of
policies expected at the current depth is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.certificate import Certificate
from prereg_kit.evidence.token.reason import TokenRejected

_POLICIES, _MAPPINGS, _CONSTRAINTS, _INHIBIT_ANY = "2.5.29.32", "2.5.29.33", "2.5.29.36", "2.5.29.54"
_ANY = "2.5.29.32.0"


@dataclass
class _Counters:
    """How many more certificates may come before the rule holds; 0 means that it holds."""

    explicit: int
    mapping: int
    any_policy: int

    def step(self) -> None:
        self.explicit = max(self.explicit - 1, 0)
        self.mapping = max(self.mapping - 1, 0)
        self.any_policy = max(self.any_policy - 1, 0)


def check_policies(path: tuple[Certificate, ...]) -> None:
    """The path satisfies the policy constraints of its certificates, anchor excluded.

    Args:
        path: signer first, anchor last, at least two.

    Raises:
        TokenRejected: policy_constraints.
        der.DerError: an extension is damaged.
    """
    below = path[-2::-1]
    count = len(below)
    counters = _Counters(count + 1, count + 1, count + 1)
    valid = {_ANY}
    for index, certificate in enumerate(below, 1):
        last = index == count
        self_issued = certificate.subject == certificate.issuer and not last
        valid = _narrow(valid, certificate, any_allowed=counters.any_policy > 0 or self_issued)
        if last:
            counters.explicit = max(counters.explicit - 1, 0)
            _constrain(counters, certificate)
        if not counters.explicit and not valid:
            raise TokenRejected(
                "policy_constraints",
                f"the path requires a certificate policy that {certificate.title} does not have",
            )
        if not last:
            valid = _map(valid, certificate, allowed=counters.mapping > 0)
            if not self_issued:
                counters.step()
            _constrain(counters, certificate)


def _narrow(valid: set[str], certificate: Certificate, *, any_allowed: bool) -> set[str]:
    policies = {node.expect(der.SEQUENCE) for node in _items(certificate, _POLICIES)}
    named = {next(node.children()).oid() for node in policies if node.end > node.body}
    kept = {policy for policy in named - {_ANY} if policy in valid or _ANY in valid}
    return kept | valid if _ANY in named and any_allowed else kept


def _map(valid: set[str], certificate: Certificate, *, allowed: bool) -> set[str]:
    mapped: dict[str, set[str]] = {}
    for node in _items(certificate, _MAPPINGS):
        fields = der.Fields(node.expect(der.SEQUENCE))
        theirs, ours = fields.take(der.OID).oid(), fields.take(der.OID).oid()
        fields.close()
        if _ANY in (theirs, ours):
            raise TokenRejected(
                "policy_constraints", f"{certificate.title} maps the policy that stands for any"
            )
        mapped.setdefault(theirs, set()).add(ours)
    result = {policy for policy in valid if policy not in mapped}
    if allowed:
        for theirs, ours_of in mapped.items():
            if theirs in valid or _ANY in valid:
                result |= ours_of
    return result


def _constrain(counters: _Counters, certificate: Certificate) -> None:
    for node in _items(certificate, _CONSTRAINTS):
        skip = int.from_bytes(node.content[:4], "big")
        if node.tag == 0x80:
            counters.explicit = min(counters.explicit, skip)
        elif node.tag == 0x81:
            counters.mapping = min(counters.mapping, skip)
    extension = certificate.extensions.get(_INHIBIT_ANY)
    if extension is not None:
        counters.any_policy = min(counters.any_policy, max(der.parse(extension.value).integer(), 0))


def _items(certificate: Certificate, oid: str) -> list[der.Node]:
    extension = certificate.extensions.get(oid)
    return [] if extension is None else list(der.parse(extension.value).expect(der.SEQUENCE).children())
