# A hook that looks for what the start of the console script may have left in its interpreter.

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def hook(_: object) -> None:
    import hookrun.credentials
    import hookrun.model

    boot: Any = sys.modules["hookrun.boot"]
    assert not [finder for finder in sys.meta_path if "Boot" in str(finder)]
    assert boot.Boot.fd == -1
    assert boot.Boot.taken
    assert hookrun.credentials.__spec__.cached
    assert hookrun.model.__spec__.origin == hookrun.model.__file__
    sys.exit(2)
