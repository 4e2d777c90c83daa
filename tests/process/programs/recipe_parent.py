# Has a child call something, prints the child's id, and waits to be killed.

import os
import sys
import time

from hookrun.process.recipe_child import RecipeChild

child = RecipeChild(lambda *_: str(os.getpid()))
child.begin(time.monotonic() + 60)
print(child.ask("", b"", {}), flush=True)
sys.stdin.read()
