"""What a run leaves on the disk: its record, its log of rows, its state and its provenance."""
