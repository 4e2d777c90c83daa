#!/bin/bash
# UserPromptSubmit: what is printed here, Claude reads with the prompt.
echo "Current branch: $(git symbolic-ref --short HEAD 2>/dev/null)"
echo "Untracked files: $(git ls-files --others --exclude-standard | grep -c .)"
