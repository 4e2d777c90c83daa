"""Find, read and validate the configuration of all layers; hot paths read it from a compiled cache."""
