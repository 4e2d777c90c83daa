"""The catalogue of what commands lose: tools and their harms in YAML, and the engine of the guards that know it."""
