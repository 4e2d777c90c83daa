"""Declarations written to a file and examined as one layer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.config.discovery import ConfigFiles
from hookrun.config.load import LoadedConfig, load_config

if TYPE_CHECKING:
    from pathlib import Path

    from hookrun.config.document import Diagnostic


def examined(path: Path, data: object, layer: str = "project") -> LoadedConfig:
    """Write the data (a string unchanged, anything else as JSON) to the file and check it as the only config file."""
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    found = ConfigFiles(str(path.parent), str(path.parent))
    found.add(layer, str(path))
    return load_config(found, warns=True)


def errors(result: LoadedConfig) -> list[Diagnostic]:
    """Return the errors, without warnings."""
    return [problem for problem in result.problems if problem.severity == "error"]


def warnings(result: LoadedConfig) -> list[Diagnostic]:
    """Return the warnings."""
    return [problem for problem in result.problems if problem.severity == "warning"]
