"""Training with TRL's GRPOTrainer on a CPU core or an accelerator: the same code, both arms, every seed keyed.

Importing this package loads no torch; its modules do.
"""
