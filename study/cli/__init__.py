"""The command `study`: one module per verb."""
