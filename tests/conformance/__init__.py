"""What hookrun claims to do as Claude Code does: each rule is a test that is named after it."""
