"""The standard streams of this process: opened where they are closed, written whole, texts made fit for a terminal."""

from __future__ import annotations

import os


def write(fd: int, data: bytes) -> str | None:
    """Write all of the data; return what went wrong, if anything did."""
    view = memoryview(data)
    try:
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                import select

                poll = select.poll()
                poll.register(fd, select.POLLOUT)
                poll.poll(1000)
    except OSError as error:
        return error.strerror
    return None


def say(text: str) -> None:
    """Tell the person, on stderr, as `hookrun: ...`, control characters made visible."""
    say_plain(f"hookrun: {text}")


def say_plain(text: str) -> None:
    """Write a text to stderr with every control character but the newline made visible."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.isprintable():
            lines[number] = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    text = "\n".join(lines)
    write(2, text.encode("utf-8", "backslashreplace") + b"\n")


def ensure_standard_streams() -> None:
    """Open what is closed of stdin, stdout and stderr, so that no file of ours takes their place.

    Stdout is opened for reading: that the verdict cannot be written must be seen.
    """
    for fd, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)
