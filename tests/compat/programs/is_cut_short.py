import resource
import signal
import sys

from hookrun.compat.stackbench import AgentLogger

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = AgentLogger(sys.argv[1] + "/a.log", sys.argv[1] + "/a.jsonl")
log.log_tool_call({"n": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
try:
    log.log_tool_call({"x": "y" * 500})
except OSError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
log.log_tool_call({"n": 2})
