"""hookrun: write a hook once, in any language; every coding agent obeys it."""

__version__ = "0.1.0"
