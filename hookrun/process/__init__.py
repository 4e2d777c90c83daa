"""Run one hook: as a process, a forked Python function, an HTTP request, or in the background."""
