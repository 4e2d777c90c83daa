"""Tests of reading and checking declarations."""
