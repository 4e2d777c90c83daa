"""Other engines' names for what hookrun does: a program changes its import and nothing else."""
