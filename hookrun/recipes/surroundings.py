"""Where a recipe works: the agent's directory, the project around it, and whose word the declaration is."""

from __future__ import annotations

import os

from hookrun.bundles.places import repository, within
from hookrun.config.discovery import config_directory, home_directory
from hookrun.recipes.options import among, wrong
from hookrun.recipes.recipe import Option, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.recipes.recipe import Recipe

PROJECT_TOOLS = Option(
    "project_tools",
    "auto",
    "Whether programs in the project's `node_modules/.bin` and `.venv/bin` are run: yes, no, or auto, which is "
    "yes where the project itself declares the hook, and no where you declare it for all projects.",
    among("auto", "yes", "no"),
)
"""The option of recipes that run tools which a project may bring with it."""


def directory(context: Mapping[str, object]) -> str:
    """Return where the agent works, links resolved: else the project's root."""
    told = context.get("working_dir")
    if not isinstance(told, str) or not os.path.isabs(told):
        told = os.environ.get("HOOKRUN_PROJECT_DIR", os.curdir)
    return os.path.realpath(told)


def root(context: Mapping[str, object]) -> str:
    """Return the project's root; where the agent works outside of it, that of the repository there."""
    here = directory(context)
    project = os.path.realpath(os.environ.get("HOOKRUN_PROJECT_DIR", here))
    return project if within(here, project) else repository(here)


def may_run_project_tools(recipe: Recipe) -> bool:
    """Tell whether programs out of the project's own directories are run, by the option `project_tools`.

    `auto`: only if the project declares this hook itself. Then a person has approved what it runs; a hook of a person's
    own declarations runs in every project, also in a stranger's.
    """
    told = option(recipe, PROJECT_TOOLS.name).strip().lower()
    if told not in ("auto", "yes", "no"):
        wrong(recipe, PROJECT_TOOLS.name, "auto, yes or no")
    if told != "auto":
        return told == "yes"
    declared = os.path.realpath(os.environ.get("HOOKRUN_CONFIG_DIR", "/"))
    project = os.path.realpath(os.environ.get("HOOKRUN_PROJECT_DIR", "/"))
    own = os.path.realpath(config_directory(home_directory()))
    return project != "/" and within(declared, project) and not within(declared, own)
