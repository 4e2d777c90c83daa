"""How Claude Code selects hooks: its matchers and `if` rules. Loaded only where a hook is declared in its form."""
