# A hook that needs an installed package, and looks for what hookrun's start may have left in its interpreter.

import os
import sys

import yaml


def hook(_: object) -> None:
    import hookrun

    assert yaml
    assert os.environ["HOOKRUN_HOOK"] == "mine", os.environ
    assert "GITHUB_TOKEN" not in os.environ
    assert hookrun.__spec__.origin == hookrun.__file__
    sys.exit(2)
