import sys

import hookrun.__main__
import hookrun.agents

hookrun.agents.AGENTS["toy"] = "toy"
sys.path.insert(0, sys.argv.pop(1))
hookrun.__main__.main()
