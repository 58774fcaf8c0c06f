"""What is examined before the freeze: dry runs, the partition of outcomes, operating characteristics."""
