"""Tests of hookrun inside agents: a loop of one's own, real agents with a scripted model, a framework's fake one."""
