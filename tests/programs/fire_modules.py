# Does what scripts/hookrun does, and writes down the loaded modules just before the end.

import os
import sys

end = os._exit


def tell(status: int) -> None:
    with open("modules", "w") as file:
        file.write(" ".join(sorted(sys.modules)))
    end(status)


vars(os)["_exit"] = tell
sys.argv = ["hookrun", "fire", *sys.argv[1:]]
import hookrun.__main__  # noqa: E402  # after the change above
import hookrun.fire.invocation  # noqa: E402  # after the change above

vars(hookrun.fire.invocation)["LONG"] = float("inf")  # what is loaded while a hook runs depends on the time
hookrun.__main__.main()
