"""The published study as data: figures printed in the paper "Luck Is Not Skill", each with its place, as registers.

`python -m study.published` writes them; nothing else in this package computes or decides anything.
"""
