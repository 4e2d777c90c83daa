"""Tests for hooks: case files beside the hooks, run through the engine; `hookrun test`, and a plugin for pytest."""
