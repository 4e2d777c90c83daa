"""Find out why an agent's hooks do not run: a table of checks, and a proof by the installed command."""
