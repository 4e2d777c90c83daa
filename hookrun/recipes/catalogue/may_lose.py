"""Tell cheaply whether a call may lose something that the catalogue knows; apart, as most calls need no more."""

from __future__ import annotations

from hookrun.recipes.catalogue.compiled_rows import Catalogue
from hookrun.recipes.recipe import Option, fail_option, words
from hookrun.recipes.shell_recipe import may, mcp_tool
from hookrun.shell.prefilter import MADE_UP, QUOTES, may_run, may_run_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.recipes.recipe import Recipe

PRODUCTION = "prod production prd live prod[0-9]*"
TESTS = (
    "test tests testing test[0-9]* dev dev[0-9]* devel develop development local localhost sandbox scratch tmp temp ci "
    "e2e"
)
OPTIONS = (
    Option("production", PRODUCTION, "Globs of names, or of words in them, that mean production: it is blocked."),
    Option("tests", TESTS, "Globs of names, or of words in them, that mean a test or this machine: it is allowed."),
    Option(
        "catalogues", "", "More catalogues: YAML files, directories of them, or entry points `hookrun.catalogues`."
    ),
)  # fmt: skip


def concerns(recipe: Recipe, context: Mapping[str, object]) -> bool:
    """Return whether a call may lose something that the recipe's part of the catalogue knows. False is certain."""
    programs = catalogue_of(recipe).programs()
    if mcp_tool(context) and "mcp" in programs:
        return True
    return may(context, lambda line: _may_lose(programs, line))


def _may_lose(programs: Mapping[str, str], line: str) -> bool:
    bare = " ".join(line.replace("\\\n", "").translate(QUOTES).lower().split())
    from_file = "<" in line.replace("<<", "") or ("|" in line and "cat" in bare)  # its code is not in the line
    for name, signs in programs.items():
        if (
            name in bare
            and (not signs or from_file or any(sign in bare for sign in signs.split("|")))
            and _names(bare, name)
        ):
            return True
    # what is not in the line as it is
    if any(sign in line for sign in (*MADE_UP, *"*?[")) or may_run_input(line):
        return may_run(line, tuple(programs))
    fed = any(sign in line for sign in "|<") and ("\\" in line or "printf" in bare or "base64" in bare)
    return fed and any(name in bare for name in programs)


def _names(line: str, program: str) -> bool:
    """Return whether a line names a program: not within a word, except after an option, as in `su -cpsql`."""
    at = line.find(program)
    while at > 0 and line[at - 1].isalnum() and line[at - 2] != "-":
        at = line.find(program, at + 1)
    return at >= 0


def catalogue_of(recipe: Recipe) -> Catalogue:
    """Return what a recipe knows, with the catalogues that its option names. Raises as `fail_option` does."""
    try:
        catalogue = Catalogue(recipe.name, words(recipe, "catalogues"))
        catalogue.programs()
    except (OSError, LookupError, ValueError) as error:
        fail_option(recipe, "catalogues", f"readable catalogues ({error})")
    return catalogue
