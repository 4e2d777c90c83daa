"""Other engines' names for hookrun: a program changes only its import."""
