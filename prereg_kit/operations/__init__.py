"""What the commands do, one module each; `cli` only parses and prints."""
