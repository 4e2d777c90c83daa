# Completes an interpreter whose `os` is the light one.

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

boot: "Any" = type(sys)("hookrun.boot")
sys.modules["hookrun.boot"] = boot
with open(sys.argv[1] + "/boot.py") as source:
    exec(compile(source.read(), "boot.py", "exec"), boot.__dict__)  # noqa: S102  # as start.py does
boot.Boot.package = sys.argv[1]
boot._install_light_os()
sys.meta_path.insert(0, boot.BootFinder)
for name in ("with_os", "without"):
    module = sys.modules[name] = type(sys)(name)
    vars(module)["__getattr__"] = print
vars(sys.modules["with_os"])["os"] = sys.modules["os"]
boot.complete()
assert vars(sys.modules["with_os"])["os"] is sys.modules["os"] is not boot.Boot.light_os
assert "os" not in vars(module)
assert "site" in sys.modules
