"""`hookrun validate`: report every error in every config file, and likely mistakes."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.machinery import PathFinder
from urllib.parse import quote as quote_url

import click

from hookrun import __version__
from hookrun.cli.commands import FAILED, Workspace, command, json_option
from hookrun.cli.event_query import ConfigSources
from hookrun.cli.printing import count, print_json
from hookrun.config.document import Diagnostic, errors_in
from hookrun.config.lint import unread_files
from hookrun.config.lint_scripts import script_problems
from hookrun.config.load import Declarations, LoadedConfig
from hookrun.core.files import read_or_none, read_regular, relative_path
from hookrun.core.model import Hook, as_object
from hookrun.core.terminal import render_message, terminal_width, wants_color, wrap
from hookrun.core.text import did_you_mean, message_lines, one_of, printable_lines
from hookrun.process.prepare import HookEnvironment, check_program_exists, expand, resolve
from hookrun.recipes import catalog
from hookrun.recipes.recipe import PREFIX
from hookrun.wiring import committed

# The message, the hint and the severity of a program that cannot run.
Missing = tuple[str, str, str]

# Limit on a problem's lines on a terminal if it shows the line of the file.
MAX_LINES = 3
# Cells of the line before the caret that a hint beside it must leave.
MIN_BEFORE = 8
# Limit on the bytes read from a module.
MAX_MODULE = 4 << 20

# Severity -> id and description of its rule in SARIF.
RULES = {
    "error": ("invalid-config", "The config cannot be used as it is"),
    "warning": ("suspicious-config", "The config is valid but probably does not do what is intended"),
}


@command(
    "validate",
    "validate",
    "validate ci/hooks.yaml --json",
    "validate --strict --format github",
    "validate .claude/settings.json --probe",
    note="Exit status: 0 no errors (there may be warnings, but not with --strict), 1 errors.",
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--probe", is_flag=True, help="Run each hook in Claude Code's form on a sample and check its answer.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github", "sarif"]),
    default="text",
    help="Output format: text (default), annotations for GitHub Actions, or SARIF 2.1.0.",
)
@json_option
def validate_command(file: str | None, *, as_json: bool, probe: bool, strict: bool, form: str) -> int:
    """Check the config files of this project, or FILE, and report errors and likely mistakes.

    Runs no hooks without --probe.
    """
    at = Workspace(file)
    examined = at.load(warns=True)
    problems = [
        *examined.problems,
        *examined.passed_over.values(),
        *unread_files(examined.found, examined.declarations.files),
        *_missing_programs(examined),
        *_wrong_options(examined),
        *_claude_problems(examined, probe=probe),
        *(_committed_problems(at, examined) if file is None else ()),
    ]
    if strict:
        problems = [replace(problem, severity="error") for problem in problems]
    files = [file.path for file in examined.files if file.is_effective]
    hooks = sum(file.count for file in examined.files)
    errors = len(errors_in(problems))
    paths = [problem.path for problem in problems]
    problems.sort(key=lambda each: (each.severity != "error", paths.index(each.path), each.line, each.column))
    if as_json:
        found = [problem.to_dict() for problem in problems]
        print_json({"ok": errors == 0, "hooks": hooks, "files": files, "problems": found})
    elif form == "sarif":
        print_json(to_sarif(problems))
    else:
        for line in to_github(problems) if form == "github" else to_text(problems):
            click.echo(line, color=True)
        overlooked = "" if files or problems else ConfigSources(at).overlooked()
        if file is None:
            ConfigSources(at).warn_not_run(plugins=False)
        read = files or sorted({problem.path for problem in problems})  # a file may have other keys only
        click.echo(_summary(hooks, read, errors, len(problems) - errors) + overlooked)
    return FAILED if errors else 0


def _claude_problems(examined: LoadedConfig, *, probe: bool) -> list[Diagnostic]:
    """Return likely mistakes in the code of hooks in Claude Code's form and, with `probe`, their answers."""
    hooks = [hook for hook in examined.declarations.hooks if hook.dialect == "claude" and hook.claude is not None]
    if not hooks:
        return []
    from hookrun.config.lint import lint_script  # few configs need it

    given = as_object(examined.declarations.settings.get("claude_env")).values()
    env = {*os.environ, *(name for each in given for name in as_object(each))}
    found = [problem for hook in hooks for problem in lint_script(hook, examined.project, env)]
    if probe:
        from hookrun.doctor.prove import run_samples  # rarely needed

        here = os.getcwd()
        found += run_samples(
            [hook for hook in hooks if hook.error is None and hook.mode != "off"],
            examined.project,
            examined.found.home,
            examined.declarations.settings,
        )
        os.chdir(here)  # a hook's process starts from its own directory
    return found


def _committed_problems(at: Workspace, examined: LoadedConfig) -> Iterator[Diagnostic]:
    """Warn of what is wrong with the files that a project's entries in agents' settings need."""
    agents = " ".join(committed.entries(at.location))
    if not agents:
        return
    hint, project = f"run `hookrun install {agents} --scope project`", at.location.project
    if (wrong := committed.why_not_ours(project)) is not None:
        yield Diagnostic(os.path.join(project, committed.PATH), 1, 1, "", f"the script {wrong}", hint, "warning")
    path = os.path.join(project, committed.DIRECTORY, committed.SETTINGS)
    for difference in committed.differing(project, committed.configured(examined.files)):
        yield Diagnostic(path, 1, 1, "", difference, hint, "warning")


def _summary(hooks: int, files: list[str], errors: int, warnings: int) -> str:
    if not files:
        return "no config file found: run `hookrun init`, or name a FILE"
    found = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    return f"checked {count(hooks, 'hook')} in {count(len(files), 'file')}: {found}"


def _missing_programs(examined: LoadedConfig) -> Iterator[Diagnostic]:
    declarations = examined.declarations
    root, settings = declarations.root or "/", declarations.settings
    hook_environment = HookEnvironment({}, project=root, request_id="", settings=settings)
    lacking: dict[tuple[str, ...], list[Diagnostic]] = {}
    for hook, file, path in examined.written:
        if hook.error is not None or hook.mode == "off" or not _is_decidable(hook, declarations):
            continue
        environment, directory = hook_environment.variables_and_directory(hook)
        if hook.kind == "python" and hook.interpreter is None:
            missing = _missing_function(str(hook.target), directory)
        else:
            missing = _missing_file(hook.look, environment, directory)
        if file.document is None:
            continue
        if missing is not None and missing[2] == "warning":
            lacking.setdefault((file.path, *missing), []).append(file.document.problem((*path, hook.kind), *missing))
        elif missing is not None:
            yield file.document.problem((*path, hook.kind), *missing)
        elif hook.kind in ("command", "args"):
            look = [resolve(each, environment, directory) or expand(each, environment, directory) for each in hook.look]
            search = os.fsdecode(environment.get(b"PATH", os.defpath.encode()))
            for problem in script_problems(hook, look, directory, search):
                yield file.document.problem((*path, hook.kind), *problem)
    for first, *others in lacking.values():  # what the machine lacks is said once a file
        yield replace(first, message=f"{first.message} ({len(others) + 1} hooks)") if others else first


def _missing_file(look: Sequence[str], environment: dict[bytes, bytes], directory: str) -> Missing | None:
    """Return what is wrong with a program or script that cannot run, or None."""
    if check_program_exists(look, environment, directory) is None:
        return None
    word = look[0] if resolve(look[0], environment, directory) is None else look[1]
    if word == look[0] and "/" not in word:
        return f"command not found: `{word}`", "install it, or correct the command", "warning"
    full = expand(word, environment, directory)
    path = relative_path(full)
    project = os.fsdecode(environment.get(b"HOOKRUN_PROJECT_DIR", b""))
    severity = "error" if full.startswith(f"{project}/") else "warning"  # an error is what every clone lacks
    if os.path.isdir(path):
        return f"`{path}` is a directory", "correct the command", severity
    if os.path.exists(path):
        mode = "x" if word == look[0] else "r"
        what = "executable" if mode == "x" else "readable"
        return f"`{path}` is not {what}", f"run `chmod +{mode} {shlex.quote(path)}`", severity
    return f"`{path}` does not exist", "create it, or correct the command", severity


def _missing_function(target: str, directory: str) -> Missing | None:
    """Return what is wrong with a missing `package.module:function`, or None, without importing it."""
    name, _, function = target.partition(":")
    places: list[str] | None = [directory, *sys.path]
    origin, full = None, ""
    for part in name.split("."):
        full = f"{full}.{part}".lstrip(".")
        try:
            spec = PathFinder.find_spec(part, places)
        except (ImportError, ValueError):
            spec = None
        if spec is None and full == part:
            spec = next((found for each in sys.meta_path if (found := each.find_spec(part, None)) is not None), None)
        if spec is None or places is None:
            hint = f"create it in {relative_path(directory)}, or set `cwd` to its directory"
            return f"module not found: `{name}`", hint, "warning"
        origin = spec.origin
        inside = getattr(sys.modules.get(full), "__path__", spec.submodule_search_locations)
        places = list(inside) if inside is not None else None
    if origin is None or not origin.endswith(".py"):
        return None
    try:
        tree = ast.parse(read_regular(origin, MAX_MODULE))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        return f"cannot read the module `{name}`: {error}", "correct it", "warning"
    names = {name for node in ast.walk(tree) for name in _bound(node)}
    wanted = function.partition(".")[0]
    if names & {wanted, "*", "__getattr__"}:
        return None
    hint = did_you_mean(wanted, names) or "define it, or correct the name"
    return f"the module `{name}` has no `{wanted}`", hint, "warning"


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def _wrong_options(examined: LoadedConfig) -> Iterator[Diagnostic]:
    for hook in examined.declarations.hooks:
        recipe_name = as_object(hook.metadata).get("recipe")
        names = [name for name in hook.env or () if name.startswith(PREFIX)]
        if not isinstance(recipe_name, str) or not names:
            continue
        try:
            recipe = catalog.find(recipe_name)
        except catalog.UnknownRecipeError:
            continue
        known = {each.variable: each.name for each in recipe.options}
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known, f"use {one_of(known)}" if known else "remove it")
                yield Diagnostic.of_hook(hook, f"the recipe `{recipe.name}` has no option `{name}`", hint)
            elif (expected := recipe.wrong_value(known[name], (hook.env or {})[name])) is not None:
                yield Diagnostic.of_hook(hook, f"invalid value of the option `{known[name]}`", f"use {expected}")


def _is_decidable(hook: Hook, declarations: Declarations) -> bool:
    """Return whether the hook's program can be looked up here: its place may depend on the event or project."""
    if any(word.startswith("${HOOKRUN_WORKING_DIR}") for word in hook.look):
        return False
    known = (hook.cwd != "event" or hook.claude is not None) and declarations.root is not None
    return known or all(word.startswith("/") for word in hook.look)


# --- formats of problems: text, GitHub annotations, SARIF


def to_text(problems: Iterable[Diagnostic]) -> list[str]:
    """Return the problems as messages; on a terminal with the line of the file if it fits."""
    width, files = terminal_width(1), dict[str, list[str]]()
    color = wants_color(1)
    shown = []
    for problem in problems:
        message = str(problem)
        if width is not None:
            message = _with_source(problem, message, width, files)
        shown.append(render_message(message_lines(message, problem.severity), color=color, width=width))
    return shown


def _with_source(problem: Diagnostic, message: str, width: int, files: dict[str, list[str]]) -> str:
    """Return the message with the line of the file, a caret, and the hint beside it if it fits."""
    if problem.path not in files:
        files[problem.path] = (read_or_none(problem.path) or b"").decode("utf-8-sig", "replace").split("\n")
    lines = files[problem.path]
    if (problem.line, problem.column) == (1, 1) or problem.line > len(lines):
        return message
    from rich.cells import cell_len  # only for a terminal

    heading, _, _ = message.partition("\n")
    margin = f"  {problem.line} | "
    beside_caret = len(problem.hint or "") + 2
    source, before = _excerpt(lines[problem.line - 1], problem.column - 1, width - len(margin), beside_caret)
    caret = " " * (len(margin) - 2) + "| " + " " * cell_len(before) + "^"
    beside = problem.hint is not None and len(caret) + 1 + len(problem.hint) <= width
    if beside:
        caret += f" {problem.hint}"
    hint = [f"hint: {problem.hint}"] if problem.hint and not beside else []
    count = len(wrap(f"{problem.severity}: {heading}", width)) + 2 + len(hint)
    return "\n".join([heading, margin + source, caret, *hint]) if count <= MAX_LINES else message


def _excerpt(line: str, column: int, width: int, after: int) -> tuple[str, str]:
    """Return the part of a line around a column that fits `width` cells, and its text before the column.

    That leaves `after` cells below the line for a hint, if any is left for the text.
    """
    from rich.cells import cell_len, chop_cells

    line = printable_lines(line.rstrip())
    start, room = 0, width - after if width - after >= MIN_BEFORE else width // 3
    if cell_len(line[:column]) > room:
        start = max(0, column - room)
        while cell_len(line[start:column]) > room:
            start += 1
    shown, *_ = chop_cells(line[start : start + width], width) or [""]
    return shown, line[start:column]


def to_github(problems: Iterable[Diagnostic]) -> list[str]:
    """Return each problem as a command that GitHub Actions shows beside the line."""
    lines = []
    for problem in problems:
        path = _escaped(_path_in_repository(problem)).replace(":", "%3A").replace(",", "%2C")
        text = problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}"
        lines.append(
            f"::{problem.severity} file={path},line={problem.line},col={problem.column},title=hookrun::{_escaped(text)}"
        )
    return lines


def _path_in_repository(problem: Diagnostic) -> str:
    """Return the file's path relative to GitHub Actions' checkout, or else to the working directory."""
    return os.path.relpath(problem.path, os.environ.get("GITHUB_WORKSPACE") or os.curdir)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def to_sarif(problems: Iterable[Diagnostic]) -> dict[str, object]:
    """Return the problems as a SARIF 2.1.0 log."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.values()]
    driver = {"name": "hookrun", "semanticVersion": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(problem) for problem in problems]}],
    }


def _result(problem: Diagnostic) -> dict[str, object]:
    path = _path_in_repository(problem)
    uri = quote_url(path) if not path.startswith("..") else f"file://{quote_url(os.path.abspath(problem.path))}"
    text = problem.message if problem.hint is None else f"{problem.message} ({problem.hint})"
    region = {"startLine": problem.line, "startColumn": problem.column}
    return {
        "ruleId": RULES[problem.severity][0],
        "level": problem.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }
