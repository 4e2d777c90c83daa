"""What hookrun does as Claude Code does: which hooks run, what they read, what they answer, whichever agent fires."""
