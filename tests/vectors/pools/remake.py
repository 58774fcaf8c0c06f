"""The only writer of study/backoffice/pools.json: run it when the generator was changed on purpose.

python tests/vectors/pools/remake.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from prereg_kit.foundation.digest import readable_json  # noqa: E402
from prereg_kit.foundation.durable import write_bytes  # noqa: E402
from study.backoffice.pools import manifest  # noqa: E402

write_bytes(ROOT / "study" / "backoffice" / "pools.json", readable_json(manifest()), replace=True)
