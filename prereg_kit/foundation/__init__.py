"""What every room stands on: digests and canonical JSON, durable writes, text made safe to show."""
