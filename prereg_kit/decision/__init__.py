"""From a plan and registers to verdicts. Pure: no clock, file or network."""
