"""Whether the hooks of an agent will run, and if not, why: a table of checks, and a proof through the wired command."""
