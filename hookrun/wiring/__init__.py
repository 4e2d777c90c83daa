"""How hookrun comes into the settings of the coding agents, and out of them again, byte for byte."""
