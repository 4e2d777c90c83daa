"""`hookrun fire`: its command line, one run of the hooks of an event, and the answer to a program or an agent."""
