"""Tests of how hooks' answers are judged, through real processes and programs."""
