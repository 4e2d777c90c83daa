# A hook that needs packages, and looks for what `start.py` may have left in its interpreter.

import os
import sys

import yaml


def hook(_: object) -> None:
    import hookrun

    assert yaml
    assert os.environ["HOOKRUN_HOOK"] == "mine", os.environ
    assert type(os.environ).__name__ == "_Environ"
    assert os is sys.modules["os"]
    assert os.path.join("a", "b") == "a/b"
    assert "GITHUB_TOKEN" not in os.environ
    assert os.getenv("GITHUB_TOKEN") is None
    assert hookrun.__spec__.origin == hookrun.__file__
    assert not [finder for finder in sys.meta_path if "Boot" in str(finder)]
    sys.exit(2)
