"""The demonstration authority's marks. Whatever carries one of them is never evidence of time."""

from __future__ import annotations

from collections.abc import Iterable

#: Policy of the embedded demonstration authority: a UUID-derived arc (ITU-T X.667), registered to nobody.
DEMO_POLICY_OID = "2.25.211863775822433981590794955208529454524"

#: Common name of the demonstration authority's signing certificate.
DEMO_SUBJECT = "DEMO LOCAL TSA - NO EVIDENTIAL VALUE"

_MARKS = ("DEMO LOCAL TSA", "NO EVIDENTIAL VALUE")


def is_demo(policy: str, names: Iterable[str]) -> bool:
    """Whether a token's policy or a name in its signer's path marks it as a demonstration.

    Case and runs of white space are ignored. The bare word "demo" is no mark: public authorities run units
    of that name whose tokens are real signatures of a real (test) root; they get a warning elsewhere.

    Args:
        policy: the policy OID of TSTInfo, dotted.
        names: attribute values of the subjects in the path, in any order.
    """
    if policy == DEMO_POLICY_OID:
        return True
    folded = (" ".join(name.upper().split()) for name in names)
    return any(mark in name for name in folded for mark in _MARKS)
