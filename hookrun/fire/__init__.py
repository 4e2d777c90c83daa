"""`hookrun fire`: its command line, one run of an event's hooks, and the answer to a program or an agent."""
