"""Print how it was started, as the cold command; with `serve PATH LOCK NUMBER` listen there for a test.

The test accepts the callers: it gets the listening socket through its own, which is NUMBER here.
"""

import sys

if sys.argv[1] == "serve":
    import fcntl
    import os
    import socket

    _, _, path, lock, number = sys.argv
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(held, fcntl.LOCK_EX)
    os.write(held, b"%d\n" % os.getpid())
    test = socket.socket(fileno=int(number))
    socket.send_fds(test, [b"."], [listener.fileno()])
    sys.exit(sys.stdin.read())

print("cold", *sys.argv[1:], sep="|")
print(sys.stdin.read() if sys.stdin else "no stdin", end="")
sys.exit(7)
