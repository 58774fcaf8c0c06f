"""How strong a frozen document's time evidence is: bytes, tokens, anchors and renewals put together, offline.

The archive knows bytes, `prereg_kit.evidence.token` judges tokens, the trust store pins anchors; this reads a folder,
asks them, and gives the document one status. Certificates stored beside a document help to build a path and are
never anchors, except for demo stamps, which are never counted.
"""

from prereg_kit.evidence.folder.examine import Examiner
from prereg_kit.evidence.folder.files import evidence_files
from prereg_kit.evidence.folder.report import DocumentReport, StampReport, Status, exit_code

__all__ = ["DocumentReport", "Examiner", "StampReport", "Status", "evidence_files", "exit_code"]
