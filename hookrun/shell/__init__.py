"""Read shell: from a line to the simple commands it would run, as far as that is known without running it.

`parse_line.parse_line` is the entry point; `prefilter.may_run` is the cheap test that spares it.
"""
