import sys

opened: list[str] = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)

import os  # noqa: E402
from typing import NoReturn  # noqa: E402

end = os._exit


def tell(status: int) -> NoReturn:
    with open("../opened", "w") as file:
        file.write("\n".join(opened))
    end(status)


os._exit = tell
sys.argv = ["hookrun", *sys.argv[1:]]
import hookrun.__main__  # noqa: E402

hookrun.__main__.main()
