"""Declarations written to a file and examined as one layer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.config.compile import Examined, examine
from hookrun.config.find import Found

if TYPE_CHECKING:
    from pathlib import Path

    from hookrun.config.problem import Problem


def examined(path: Path, data: object, layer: str = "project") -> Examined:
    """Write the data (a text as it is, anything else as JSON) to the file and examine it as the only one there is."""
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    found = Found(str(path.parent), str(path.parent))
    found.add(layer, str(path))
    return examine(found)


def errors(result: Examined) -> list[Problem]:
    """Return what is wrong, without warnings."""
    return [problem for problem in result.problems if problem.severity == "error"]


def warnings(result: Examined) -> list[Problem]:
    """Return what is doubtful."""
    return [problem for problem in result.problems if problem.severity == "warning"]
