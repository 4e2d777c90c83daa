"""Do the agent's own settings switch its hooks off?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.config.parsed import ParseError
from hookrun.config.problem import shown
from hookrun.doctor.case import PROBLEM, Case, Finding
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import Toml
from hookrun.wiring.files import WiringError, existing
from hookrun.wiring.places import written_as

if TYPE_CHECKING:
    from collections.abc import Iterable


def switched_off(case: Case) -> Iterable[Finding]:
    """Look for each setting that switches hooks off in the file that counts most of those that have it."""
    wiring = case.agent.WIRING
    paths = [written_as(each, wiring, case.spot) for each in wiring.get("settings", ())]
    for key, off in wiring.get("off", {}).items():
        found = next(((path, value) for path in paths if (value := setting(path, key)) is not None), None)
        if found is not None and _switches_off(found[1], off):
            where = f"{found[0]}: {key} is {shown(found[1])}"
            cause = f"{case.agent.TITLE} runs no hook of hookrun's then"
            yield Finding("switched off", PROBLEM, where, cause, "take that setting out")


def _switches_off(value: object, off: object) -> bool:
    return off in value if isinstance(value, list) else value == off


def setting(path: str, key: str) -> object:
    """Return a setting by its path with dots, of a JSON or TOML file; None where it is not set or cannot be read."""
    try:
        text = existing(path).text()
        if path.endswith(".toml"):
            return Toml(text).at(tuple(key.split(".")))
        return Json(text, "jsonc").at(tuple(key.split(".")))
    except (WiringError, ParseError):
        return None
