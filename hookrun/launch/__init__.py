"""How a call reaches Python: the launcher, its file, the socket, the server and its workers."""
