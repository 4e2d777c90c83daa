"""The engine inside a Python program: handlers and declared hooks in one order, async and sync."""
