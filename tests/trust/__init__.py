"""Tests of trust in hooks: what an approval covers."""
