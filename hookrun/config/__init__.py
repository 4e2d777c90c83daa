"""Find, read and validate all layers' configuration; hot paths read a compiled cache."""
