"""The warm server: a small parent that accepts callers, and workers that take a caller's place for one run each."""
