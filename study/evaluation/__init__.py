"""Playing policies on pools and turning episodes into register rows."""
