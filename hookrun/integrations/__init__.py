"""hookrun inside other people's agents: one module per framework, imported by its name, and a loop of one's own."""
