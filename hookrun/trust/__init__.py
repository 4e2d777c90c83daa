"""Decide which hooks of untrusted projects may run, by approvals bound to bytes and by what is disabled."""
