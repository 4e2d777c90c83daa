"""Install hookrun into the settings of coding agents, and remove it byte for byte."""
