import os

from hookrun.fire.invocation import EventFire, FireInvocation

invocation = FireInvocation(os.environ["HOME"])
invocation.load(os.getcwd())
for _ in range(2):
    EventFire(invocation, "pre_tool_use").run({"tool_name": "bash"})
invocation.close([])
try:
    print("left", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
