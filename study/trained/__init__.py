"""Policies of trained runs: named by run and checkpoint, loaded, evaluated."""
