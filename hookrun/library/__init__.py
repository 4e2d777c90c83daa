"""The engine inside a Python program: handlers and configured hooks in one order, async and sync."""
