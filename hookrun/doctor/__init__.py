"""Find out why the hooks of an agent do not run: by a table of checks, and by a proof through the installed command."""
