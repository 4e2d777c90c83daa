"""Find out why an agent's hooks do not run, by a table of checks and a proof through the installed command."""
