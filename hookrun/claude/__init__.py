"""Do what Claude Code does, for any agent: which hooks run, what they read, how their answers are interpreted."""
