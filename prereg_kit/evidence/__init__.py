"""Evidence of what was fixed when: tokens, authorities, trust anchors and frozen folders."""
