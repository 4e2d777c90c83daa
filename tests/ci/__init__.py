"""The programs of .ci are found as those find each other."""

import sys

from tests.conftest import ROOT

sys.path.append(str(ROOT / ".ci"))
