"""Which authorities we know and which of their certificates we pin: one folder per operator.

A folder holds `operator.json` (`prereg.operator/1`) and any number of PEM files, which are the anchors; PEM files in
its subfolder `untrusted` only help to build a path. Presets are shipped as configuration without certificates. Later
layers win, first to last: the package's presets, `$XDG_CONFIG_HOME/prereg/trust`, `./trust`, and folders given with
`--trust`. The certificates inside a token, those stored beside a frozen document and the system's web roots are never
anchors.
"""

from prereg_kit.evidence.trust.operator import Operator, pem, read_operator
from prereg_kit.evidence.trust.pinning import add
from prereg_kit.evidence.trust.store import TrustStore, user_folder

__all__ = ["Operator", "TrustStore", "add", "pem", "read_operator", "user_folder"]
