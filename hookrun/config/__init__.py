"""Declarations: finding, reading, checking, layering and compiling them."""
