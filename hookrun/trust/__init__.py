"""Decide which hooks of untrusted projects may run: the user's approvals, bound to bytes, and what is disabled."""
