"""The command line: one module per verb, no logic that a library user would miss."""
