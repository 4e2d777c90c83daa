"""Decide which hooks of untrusted projects may run: approvals bound to bytes, and disabled hooks."""
