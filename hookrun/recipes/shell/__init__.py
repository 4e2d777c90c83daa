"""Reads shell: from a command line to the simple commands it would run, as far as that can be known without running it.

`read.read` is the door; `look.may_run` is the cheap look that spares it. Nothing else in the package parses shell.
"""
