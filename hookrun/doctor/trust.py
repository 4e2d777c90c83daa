"""Does the agent trust what it would run: Codex its hooks, Gemini, Qwen and Copilot the folder they work in?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun.config.parsed import ParseError
from hookrun.doctor.case import NOTE, PROBLEM, Case, Finding
from hookrun.doctor.switches import setting
from hookrun.edit.toml_edit import Toml
from hookrun.wiring import codex_trust
from hookrun.wiring.files import WiringError, existing
from hookrun.wiring.places import directory, written_as
from hookrun.wiring.targets import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.wiring.codex_trust import Trust
    from hookrun.wiring.entries import Found

    Kind = Callable[[Case], Iterable[Finding]]

FOLDERS = "trustedFolders.json"
TRUSTED, DISTRUSTED = ("TRUST_FOLDER", "TRUST_PARENT"), "DO_NOT_TRUST"


def trusted(case: Case) -> Iterable[Finding]:
    """Ask in the agent's own way, if it has one."""
    kind = KINDS.get(case.agent.WIRING.get("trust", ""))
    return kind(case) if kind is not None and case.all_wired else ()


def codex(case: Case) -> Iterable[Finding]:
    """Every hook needs its digest in the user's config.toml; a project's besides a project that is trusted."""
    where = os.path.join(directory(case.agent.WIRING, case.spot), codex_trust.CONFIG)
    try:
        config = Toml(existing(where).text())
    except (WiringError, ParseError) as error:
        yield Finding("trust", PROBLEM, f"{where}: {error}", "whether Codex trusts the hooks is unknown", "correct it")
        return
    for scope, found in case.wired.items():
        events = [each.event for each, trust in _needed(case, scope) if not trust.given(config)]
        if events:
            missing = f"Codex does not trust the hook{'s' if len(events) > 1 else ''} for {', '.join(events)}"
            remedy = f"run `hookrun install codex --scope {scope} --trust`, or say so in Codex with /hooks"
            yield Finding("trust", PROBLEM, missing, "it skips them in silence", remedy)
        off = [each.event for each, trust in _needed(case, scope) if trust.switched_off(config)]
        if off:
            disabled = f"{where}: the hook for {', '.join(off)} is switched off (enabled = false)"
            yield Finding("trust", PROBLEM, disabled, "Codex skips it in silence", "switch it on in Codex with /hooks")
        level = config.at(("projects", case.spot.project, "trust_level"))
        if scope == "project" and found and level != "trusted":
            folder = f"{case.spot.project} is not trusted in {where}"
            yield Finding("trust", PROBLEM, folder, "Codex skips a project's hooks then", "trust it in Codex")


def _needed(case: Case, scope: str) -> Iterable[tuple[Found, Trust]]:
    """Give our hooks of a scope with the trust that each needs, under the path that its file is written with."""
    for target in case.wish(scope).targets([]):
        if isinstance(target, Settings):
            hooks = target.read(existing(target.path))
            yield from codex_trust.needed(target.path, hooks, target.form)


def folders(case: Case) -> Iterable[Finding]:
    """Gemini CLI: without trust it does not start headless, and with --skip-trust leaves out a project's hooks."""
    yield from _folders(case, unset=True)


def folders_if_asked(case: Case) -> Iterable[Finding]:
    """Qwen Code: the same, where folder trust is switched on."""
    yield from _folders(case, unset=False)


def _folders(case: Case, *, unset: bool) -> Iterable[Finding]:
    wiring = case.agent.WIRING
    paths = [written_as(each, wiring, case.spot) for each in wiring.get("settings", ())]
    values = [value for path in paths if (value := setting(path, "security.folderTrust.enabled")) is not None]
    if not (values[0] if values else unset):
        return
    where = os.path.join(directory(wiring, case.spot), FOLDERS)
    level = _level(case.spot.project, setting_map(where))
    if level in TRUSTED:
        return
    found = f"{case.spot.project} is {'not trusted' if level == DISTRUSTED else 'not yet trusted'} in {where}"
    level_of = PROBLEM if case.wired.get("project") or level == DISTRUSTED else NOTE
    cause = f"without a terminal {case.agent.TITLE} does not start there, and it leaves out a project's hooks"
    remedy = f"start {case.agent.NAME} in it once and trust the folder"
    yield Finding("trust", level_of, found, cause, remedy)


def _level(project: str, folders: dict[str, object]) -> object:
    """Return what is said of a directory: of itself, or that one above it is trusted."""
    if project in folders:
        return folders[project]
    for folder, level in folders.items():
        root = os.path.dirname(folder) if level == "TRUST_PARENT" else folder
        if level in TRUSTED and (project + "/").startswith(root.rstrip("/") + "/"):
            return level
    return None


def setting_map(path: str) -> dict[str, object]:
    """Return the object that a JSON file holds, empty where it cannot be read."""
    from hookrun.edit.json_edit import Json

    try:
        data = Json(existing(path).text(), "jsonc").data
    except (WiringError, ParseError):
        return {}
    return data if isinstance(data, dict) else {}


def copilot(case: Case) -> Iterable[Finding]:
    """Copilot CLI: a project's hooks are skipped in silence where the folder is not trusted; a person's are not."""
    if not case.wired.get("project"):
        return
    where = os.path.join(directory(case.agent.WIRING, case.spot), "config.json")
    config = setting_map(where)
    listed = [folder for key in ("trusted_folders", "trustedFolders") for folder in _texts(config.get(key))]
    if not any((case.spot.project + "/").startswith(folder.rstrip("/") + "/") for folder in listed):
        found = f"{case.spot.project} is not among the trusted folders of {where}"
        cause = "Copilot CLI skips a project's hooks in silence then"
        remedy = "trust the folder in Copilot, or start it with --trust-folder"
        yield Finding("trust", PROBLEM, found, cause, remedy)


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


KINDS: dict[str, Kind] = {
    "codex": codex,
    "folders": folders,
    "folders if asked": folders_if_asked,
    "copilot": copilot,
}
"""What an agent's WIRING calls its way of trusting -> how it is asked."""
