"""`hookrun fire`: command line, run of an event's hooks, answer to a program or an agent."""
