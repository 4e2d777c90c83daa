"""Which of a project's hooks a person has approved, bound to their bytes; and what they have switched off."""


def directory(home: str) -> str:
    """Return where an account's decisions lie. Where it is not, nothing has been decided."""
    return home + "/.local/share/hookrun"
