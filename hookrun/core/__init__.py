"""What hooks, events, verdicts and chains are, and the small tools that every other room uses."""
