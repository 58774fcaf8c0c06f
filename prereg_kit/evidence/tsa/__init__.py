"""The client for timestamping authorities: HTTP under limits, fresh nonces, answers verified before they are kept.

The only part of prereg_kit that opens a connection to another machine, and only when a verb asks for it.
"""

from prereg_kit.evidence.tsa.client import Settings, Source, accept, build_query, request_stamp, stamper
from prereg_kit.evidence.tsa.http import Answer, ExchangeError, Limits
from prereg_kit.evidence.tsa.offline import answering, prepare

__all__ = [
    "Answer",
    "ExchangeError",
    "Limits",
    "Settings",
    "Source",
    "accept",
    "answering",
    "build_query",
    "prepare",
    "request_stamp",
    "stamper",
]
