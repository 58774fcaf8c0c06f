"""The typed configuration of a run, its file, and the tiers that ship."""
