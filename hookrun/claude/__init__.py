"""The dialect of Claude Code's hooks: what such a hook reads and what its answer means, whichever agent fires."""
