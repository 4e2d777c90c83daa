"""Which of a project's hooks a person has approved, bound to their bytes; and what they have switched off."""
