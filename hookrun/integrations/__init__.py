"""Run hookrun inside agent frameworks: one module per framework, and a tool loop for agents without one."""
