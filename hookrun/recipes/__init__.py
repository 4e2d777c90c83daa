"""Ready-made hooks: declared by a person, run like any other."""
