"""`hookrun validate`: report every error in every config file, and programs of hooks that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hookrun.cli.common import FAILED, command, config_options, read_config, working_directory
from hookrun.cli.printing import count, print_json
from hookrun.config.diagnostics import Diagnostic
from hookrun.process.prepare import HookEnvironment, check_program_exists
from hookrun.text import quote

if TYPE_CHECKING:
    from hookrun.config.load import Declarations, LoadedConfig
    from hookrun.model import Hook


@command(
    "validate",
    "validate",
    "validate ci/hooks.yaml --json",
    "validate .claude/settings.json --probe",
    note="Exit status: 0 no errors (there may be warnings), 1 errors.",
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--probe", is_flag=True, help="Run each hook in Claude's form on a sample, and check its answer.")
@config_options
@click.pass_context
def validate_command(
    ctx: click.Context, file: str | None, config: str | None, home: str | None, *, as_json: bool, probe: bool
) -> None:
    """Check every config file in force here, or FILE, and report each error with its line and what to do.

    Runs nothing without --probe.
    """
    if file is not None and config is not None:
        raise click.UsageError(f"FILE {quote(file)} and --config {quote(config)} are two files; leave one out")
    examined = read_config(file if file is not None else config, home)
    problems = [*examined.problems, *_missing_programs(examined.declarations), *_claude_problems(examined, probe=probe)]
    files = [file.path for file in examined.files if file.is_effective]
    hooks = sum(file.count for file in examined.files)
    errors = sum(problem.severity == "error" for problem in problems)
    if as_json:
        report = {
            "ok": errors == 0,
            "hooks": hooks,
            "files": files,
            "problems": [problem.to_dict() for problem in problems],
        }
        print_json(report)
    else:
        for problem in sorted(problems, key=lambda each: each.severity != "error"):
            click.echo(f"{problem.where}: {problem.severity}: {problem.what}")
        click.echo(_summary(hooks, files, errors, len(problems) - errors))
    ctx.exit(FAILED if errors else 0)


def _claude_problems(examined: LoadedConfig, *, probe: bool) -> list[Diagnostic]:
    """Return likely mistakes in what hooks in Claude Code's form run, and with `probe` in their answers."""
    hooks = [hook for hook in examined.declarations.hooks if hook.claude is not None]
    if not hooks:
        return []
    from hookrun.config.claude_lint import lint_script  # few configs have such hooks

    root = examined.declarations.root or working_directory()
    found = [problem for hook in hooks for problem in lint_script(hook, root)]
    if probe:
        from hookrun.doctor.sample_runs import run_samples  # rarely asked for

        found += run_samples(
            [hook for hook in hooks if hook.error is None and hook.mode != "off"], root, examined.found.home
        )
    return found


def _summary(hooks: int, files: list[str], errors: int, warnings: int) -> str:
    if not files:
        return "no hooks are declared here: create coder.json, or name a file with --config"
    found = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    return f"checked {count(hooks, 'hook')} in {count(len(files), 'file')}: {found}"


def _missing_programs(declarations: Declarations) -> list[Diagnostic]:
    """Return a warning for each hook whose program or script does not exist."""
    around = HookEnvironment({}, project=declarations.root or "/", request_id="")
    warnings: list[Diagnostic] = []
    for hook in declarations.hooks:
        if hook.error is not None or hook.mode == "off" or not _is_decidable(hook, declarations):
            continue
        environment = around.variables(hook, b"")
        failure = check_program_exists(hook.look, environment, around.directory(hook, environment))
        if failure is not None:
            advice = "create it, or correct the declaration"
            expected = "what a hook runs to be there"
            where = (hook.source, hook.line, 1, hook.name)
            warnings.append(Diagnostic(*where, f"that {failure.detail}", expected, advice, severity="warning"))
    return warnings


def _is_decidable(hook: Hook, declarations: Declarations) -> bool:
    """Return whether the hook's program can be looked up here: its place may depend on the event or the project."""
    if any(word.startswith("${HOOKRUN_WORKING_DIR}") for word in hook.look):
        return False
    known = (hook.cwd != "event" or hook.claude is not None) and declarations.root is not None
    return known or all(word.startswith("/") for word in hook.look)
