"""Registers of runs: their formats, their files, and the cells that rules are evaluated on."""
