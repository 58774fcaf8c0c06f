"""One module per kind of evidence. Each takes a frozen plan and its repository, and yields findings."""
