"""Find, read and validate the configuration of every layer; hot paths read it compiled, from a cache."""
