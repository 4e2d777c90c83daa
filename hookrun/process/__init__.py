"""How one hook is run: as a process, a forked Python function, an HTTP exchange, or in the background."""
