"""Install hookrun into coding agents' settings, and remove it byte for byte."""
