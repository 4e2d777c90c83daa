# Does what scripts/hookrun does with the copy in its first argument, and shows the modules from the file.

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

end = os._exit


def tell(status: int) -> None:
    boot: Any = sys.modules.get("hookrun.boot")
    for each in boot.Boot.taken if boot is not None else ():
        assert sys.modules[each.__name__] is each, each
        spec = vars(each)["__spec__"]
        assert spec.origin == each.__file__ == spec.loader.path, each
        assert spec.name == each.__name__, each
        assert spec.has_location, each
        assert vars(each)["__loader__"] is spec.loader, each
        assert (spec.submodule_search_locations is None) == ("__path__" not in vars(each)), each
        assert spec.loader.get_source(each.__name__), each
        print(each.__name__, file=sys.stderr)
    sys.stderr.flush()
    end(status)


vars(os)["_exit"] = tell
sys.path[:0] = [os.path.dirname(sys.argv.pop(1))]
import hookrun.__main__  # noqa: E402  # from that copy

hookrun.__main__.main()
