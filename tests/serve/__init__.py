"""The warm server: its protocol, its workers, its life."""
