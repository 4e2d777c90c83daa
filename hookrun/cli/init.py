"""Write hooks: `hookrun init` sets up a project, `new` creates a hook, `remove` removes one."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Iterator

import click

from hookrun.agents.types import Agent
from hookrun.cli.commands import (
    agents_named,
    command,
    parse_pairs,
    report_options,
    unknown_hook,
    user_is_present,
)
from hookrun.cli.connecting import connect, connect_missing, events_of
from hookrun.cli.install import SECOND, choose_agents, installed_agents, review_hooks
from hookrun.cli.printing import CommandReport, choose, confirm, count, is_interactive, print_line
from hookrun.cli.recipes import layers_of_recipes
from hookrun.cli.user_decisions import APPROVE_IT, APPROVE_THEM, approve_written, let_removed_go, note_reach
from hookrun.config.config_file import ConfigFile
from hookrun.config.executed import file_words
from hookrun.config.load import LoadedConfig
from hookrun.core.files import relative_path
from hookrun.core.model import Hook
from hookrun.core.text import one_of, quote
from hookrun.edit.file_change import FileChange, apply_all
from hookrun.recipes import GUARDS, catalog
from hookrun.scaffold.configured_recipes import (
    ADDED,
    REMOVED,
    ConfiguredRecipes,
    RecipeStatus,
    kinds,
    recipe_of,
    suggest,
    template_language,
)
from hookrun.scaffold.declaration_file import DeclarationFile, project_file
from hookrun.scaffold.new_hook import CASES_SUFFIX, HOOKS_DIRECTORY, LANGUAGES, HookPlan, HookTemplateRequest, plan_hook
from hookrun.trust.project import refuse_if_run_by_agent

yaml_option = click.option("--yaml", "as_yaml", is_flag=True, help="Use hookrun.yaml instead of coder.json.")

# The choice of a hook from a template.
CUSTOM = "custom"


# --- hookrun init


@command(
    "init",
    "init",
    f"init --agent {SECOND}",
    "init --recipe block-destructive-commands --recipe secret-scan --yes",
    "init --dry-run",
    note="Exit status: 0 set up, 1 something is missing: an agent is not connected, or does not trust the hooks yet.",
)
@click.option("--recipe", "recipes", metavar="NAME", multiple=True, help="Add this recipe; repeatable.")
@click.option("--agent", "agents", metavar="NAME", multiple=True, help="Install into this agent; repeatable.")
@click.option("--no-install", is_flag=True, help="Install into no agent.")
@click.option("--yes", is_flag=True, help="Accept the defaults without asking.")
@report_options
def init_command(
    report: CommandReport,
    *,
    recipes: tuple[str, ...],
    agents: tuple[str, ...],
    no_install: bool,
    yes: bool,
) -> None:
    """Set up a project: add hooks, approve them, and connect your coding agents.

    Asks at most three questions: which hooks, which agents, and whether to go ahead. Without a terminal, or with --yes,
    it takes the defaults: the recipes that suit the project (none if it has hooks already) and the agents on PATH.
    Only you can approve hooks, at a terminal.

    --recipe custom writes a hook of your own from a template, with its tests, as hookrun new does. Nothing is
    overwritten; a second run changes nothing.
    """
    if no_install and agents:
        raise click.UsageError("give --agent or --no-install, not both")
    asks = is_interactive() and not (yes or report.as_json or report.dry_run)
    _refuse_home(report, asks=asks, agreed=yes or report.dry_run)
    setup = Setup(project_file(report.at.directory, report.at.home), report)
    chosen = list(dict.fromkeys(recipes))
    if not chosen:
        chosen = setup.ask_recipes() if asks else setup.default_recipes()
    if CUSTOM in chosen:
        setup.own = plan_hook(HookTemplateRequest(setup.language), setup.config_file)
    for each in chosen:
        if each != CUSTOM:
            proposed = each in catalog.of_level("standard") and each not in recipes
            setup.recipes.add(catalog.find(each), {}, level="standard" if proposed else "")
    found = [] if no_install else agents_named(agents) if agents else installed_agents()
    if asks and found and not agents:
        found = choose_agents("Agents to connect", found)
    if asks and not (setup.names or found):
        print_line("\nNothing to add and no agent to connect.")
        return
    if asks:
        setup.confirm(found)
    if report.dry_run:
        setup.show(found)
    else:
        setup.write(found, agents_missing=not (found or no_install or installed_agents()))


def _refuse_home(report: CommandReport, *, asks: bool, agreed: bool) -> None:
    """Ask whether the home directory is meant. Raises click.Abort, or click.ClickException where nobody is asked."""
    if agreed or os.path.realpath(report.at.directory) != os.path.realpath(report.at.home):
        return
    if not asks:
        hint = "`cd` to a project, or give `--yes`; `add --user` adds hooks for every project"
        raise click.ClickException(f"this is your home directory, not a project\nhint: {hint}")
    if not confirm("This is your home directory, not a project. Set it up all the same?"):
        raise click.Abort


class Setup:
    """The hooks for one config file, `own` and `recipes`, and the agents to connect."""

    def __init__(self, config_file: DeclarationFile, report: CommandReport) -> None:
        self.report = report
        self.language = template_language(config_file.root)
        self.config_file = config_file
        self.recipes = ConfiguredRecipes(config_file)
        self.own: HookPlan | None = None

    # --- what to write

    def default_recipes(self) -> list[str]:
        """Return the recipes to add unasked: none if there are hooks already."""
        if self.config_file.entries:
            return []
        elsewhere = layers_of_recipes(self.report.at)
        return [name for name, selected in suggest(self.config_file.root).items() if selected and name not in elsewhere]

    def ask_recipes(self) -> list[str]:
        """Ask which hooks to add."""
        found = " and ".join(kinds(self.config_file.root))
        print_line(f"Setting up hookrun in {self.config_file.root}{f', a {found} project' if found else ''}.")
        offered = [name for name in suggest(self.config_file.root) if name not in self.recipes.declared()]
        options = [(name, catalog.find(name).summary) for name in offered]
        options.append((CUSTOM, f"A hook of your own to start from, in {self.language}, with tests."))
        question = "Hooks to add (`hookrun recipes` lists more)"
        return choose(question, ("HOOK", "WHAT IT DOES"), options, self.default_recipes())

    @property
    def names(self) -> list[str]:
        """The names of the hooks to write."""
        return [*([self.own.name] if self.own is not None else ()), *self.recipes.names(ADDED)]

    @property
    def _changes(self) -> list[FileChange]:
        """The files to write, the config file last."""
        if not self.names:
            return []
        return [*(self.own.files if self.own is not None else ()), *self.recipes.changes]

    def confirm(self, agents: list[Agent]) -> None:
        """Ask whether to go ahead. Raises click.Abort."""
        names = self.names
        steps = []
        if names:
            steps.append(f"write {count(len(names), 'hook')} to {relative_path(self.config_file.path)} and approve")
            steps[-1] += " them" if len(names) > 1 else " it"
        if agents:
            steps.append(f"connect {one_of([agent.DISPLAY_NAME for agent in agents], 'and')}")
        text = ", then ".join(steps)
        click.echo()
        if not confirm(f"{text[0].upper()}{text[1:]}?", default=True):
            raise click.Abort

    # --- doing it

    def show(self, agents: list[Agent]) -> None:
        """Show what would be written as a diff."""
        self.report.show_diff(self._changes)
        known = set(catalog.names()).intersection(self.recipes.declared())
        shipped = [hook for name in known for hook in catalog.find(name).hooks]
        entries = [*self.config_file.entries, *shipped]
        events = [event for entry in entries for event in events_of(entry, self.config_file.events)]
        connect(agents, "user", self.report, trust=False, planned=events)

    def write(self, agents: list[Agent], *, agents_missing: bool) -> None:
        """Write and approve the hooks, run their tests, connect the agents, and report what remains."""
        report, changes, names = self.report, self._changes, self.names
        apply_all(changes)
        for status in self.recipes.statuses:
            if report.as_json or status.state != ADDED:
                report.add_hook(status.name, status.state)
        if changes:
            report.show_written(changes)
            note_reach(self.config_file, report)
        needs_build = self.own is not None and bool(self.own.build)
        if not (report.as_json or needs_build):
            approve_written(self.config_file.root, names, changes, report)
        if self.config_file.is_new and not needs_build:  # a project's other hooks may run only when approved
            self._test(changes)
        failed = connect(agents, "user", report, trust=user_is_present(report))
        approved = review_hooks(report)
        if agents_missing:
            report.warn("no coding agent found on PATH\nhint: install one, then run `hookrun install AGENT`")
        report.next_steps(self._next_steps(approved=approved, failed=failed))

    def _test(self, changes: Collection[FileChange]) -> None:
        from hookrun.testing.case_runner import run_cases
        from hookrun.testing.cases import load

        files = [load(each.path) for each in changes if each.path.endswith(CASES_SUFFIX)]
        if files:
            done = run_cases(files, directory=self.config_file.root)
            total = len(done.results)
            self.report.note(f"tests: {total - done.failed} of {total} passed")

    def _next_steps(self, *, approved: bool, failed: list[str]) -> Iterator[tuple[str, str]]:
        report, own = self.report, self.own
        if own is not None and shutil.which(own.program) is None:
            report.warn(f"command not found: `{own.program}`, which {own.name} needs")
        yield from next_steps(self.config_file.root, own, report, approved=approved)
        for agent in failed:
            yield (f"hookrun install {agent}", "connect it, once the error is fixed")
        if "block-destructive-commands" in self.recipes.declared():
            yield (
                shlex.join(("hookrun", "try", "rm -rf /usr")),
                "show what each hook says to a command",
            )
        yield "hookrun doctor", "check that every agent runs the hooks"


# --- hookrun new


@command(
    "new",
    "new no-sudo",
    "new check-edits --lang python --event post_tool_use",
    "new ask-before-push --when 'tool_args.command=*git push*'",
)
@click.argument("name")
@click.option(
    "--lang", type=click.Choice(list(LANGUAGES)), help="The language; default by the project's files, else sh."
)
@click.option(
    "--event", metavar="EVENT", help="The event, by any of its names; default pre_tool_use, or the example's."
)
@click.option("--matcher", metavar="GLOB", help="The tools, by hookrun's names: bash, write|edit.")
@click.option("--when", metavar="PATH=GLOB", multiple=True, help="A condition on a field of the context; repeatable.")
@click.option(
    "--serve", is_flag=True, help="Answer one line of JSON after the other, to be kept running between calls."
)
@yaml_option
@report_options
def new_command(
    name: str,
    lang: str | None,
    event: str | None,
    matcher: str | None,
    when: tuple[str, ...],
    *,
    report: CommandReport,
    as_yaml: bool,
    serve: bool,
) -> None:
    """Create the hook NAME from a template: a script and its tests in hooks/, and its entry in coder.json.

    The script is a stub: it reads the context, but it and its tests fail until you write the check. These names create
    a finished example, each for its own event:

    \b
    protect-env, no-conflict-markers, house-rules,
    finish-the-job, read-the-rules, tell-me

    No file is overwritten. At a terminal the hook is approved too.
    """  # noqa: D301  # click reads the backspace
    config_file = project_file(report.at.directory, report.at.home, "yaml" if as_yaml else None)
    conditions = parse_pairs(when, "PATH=GLOB", "--when")
    language = lang or template_language(config_file.root)
    request = HookTemplateRequest(language, event, matcher, conditions, name, serve)
    made = plan_hook(request, config_file)
    changes = [*made.files, *config_file.changes()]
    if report.dry_run:
        report.show_diff(changes)
        connect_missing(report, *events_of(config_file.entries[-1], config_file.events))
        return
    apply_all(changes)
    report.show_written(changes)
    note_reach(config_file, report)
    connect_missing(report)
    if made.stub:
        effect = ", and it blocks every matching call," if made.blocks else ""
        report.note(f"{relative_path(made.stub)} is a stub: it and its tests fail{effect} until you write the check")
    approved = False
    if made.build:
        report.add_approvals((), [made.name])
    else:
        approved = approve_written(config_file.root, [made.name], changes, report)
    report.next_steps(next_steps(config_file.root, made, report, approved=approved))


def next_steps(root: str, made: HookPlan | None, report: CommandReport, *, approved: bool) -> Iterator[tuple[str, str]]:
    """Yield the commands that finish a project's hooks, `made` from a template or others."""
    if os.path.realpath(report.at.directory) != os.path.realpath(root):
        yield f"cd {relative_path(root)}", "go to the project's root"
    if made is not None:
        if made.build:
            yield made.build, "build the hook; it fails until then"
        yield "hookrun test", "runs its tests"
    if not approved:
        purpose = APPROVE_IT if made is not None else APPROVE_THEM
        purpose += ", and it blocks matching calls" if made is not None and made.blocks else ""
        yield "hookrun trust", purpose


# --- hookrun remove

# A config file and the hooks to remove with their indices, none to remove a recipe.
Place = tuple["ConfigFile", "list[tuple[Hook, int]]"]


@command(
    "remove",
    "remove quiet-pip",
    "remove no-force-push --user",
    "remove guards",
    "remove quiet-pip --dry-run",
    note="Exit status: 0 removed, 1 not found or not removed.",
)
@click.argument("hooks", metavar="HOOK|RECIPE...", nargs=-1, required=True)
@click.option("--user", is_flag=True, help="Remove it from your own config.")
@report_options
def remove_command(hooks: tuple[str, ...], report: CommandReport, *, user: bool) -> None:
    """Remove hooks or recipes from the config file that declares them.

    Where several files declare one, it asks about each; --user takes your own. A hook's scripts stay; a
    recipe's tests are removed. hookrun remove guards removes what hookrun add guards added.
    """
    loaded = report.at.load()
    names = list(dict.fromkeys(hooks))
    for name in names:
        _places(loaded, name, user=user)  # a wrong name is an error before anything is removed
    for name in names:
        loaded = report.at.load()  # without those removed before
        places = _places(loaded, name, user=user)
        if len(places) > 1 and not report.dry_run:
            places = _chosen(name, places, report)
        for file, declared in places:
            _remove(name, file, declared, loaded, report)


def _places(loaded: LoadedConfig, name: str, *, user: bool) -> list[Place]:
    """Return the files that declare it. Raises click.ClickException if none does."""
    found: dict[str, Place] = {}
    for hook, file, path in loaded.written:
        index = int(path[-1])
        recipe = recipe_of(file.entries[index]) if file.handlers is None else None
        by_level = name == GUARDS and GUARDS in (hook.metadata or {})
        if not (by_level or name in (hook.name, recipe)) or (user and file.layer != "user"):
            continue
        if recipe not in (None, name) and not by_level:
            hint = "remove the recipe, or disable the hook with `hookrun disable`"
            raise click.ClickException(f"hook {quote(name)} is part of the recipe `{recipe}`\nhint: {hint}")
        if file.claudes:
            where = relative_path(file.path)
            raise click.ClickException(f"hook {quote(name)} is in Claude Code's settings\nhint: edit {where}")
        if file.layer == "managed":
            where = file.path
            raise click.ClickException(f"hook {quote(name)} is managed\nhint: ask the administrator to edit {where}")
        found.setdefault(file.path, (file, []))[1].extend([] if recipe else [(hook, index)])
    if not found:
        if user and any(name == hook.name for hook in loaded.declarations.hooks):
            raise click.ClickException(f"no hook named {quote(name)} in your own config\nhint: leave out `--user`")
        raise unknown_hook(name, loaded.declarations.hooks, loaded.declarations.problems)
    return list(found.values())


def _chosen(name: str, places: list[Place], report: CommandReport) -> list[Place]:
    """Ask which files to remove it from. Raises click.ClickException without a terminal."""
    paths = [relative_path(file.path) for file, _ in places]
    if report.as_json or not is_interactive():
        only = "\nhint: `--user` removes it from your own config" if any(f.layer == "user" for f, _ in places) else ""
        raise click.ClickException(f"{quote(name)} is declared in {' and '.join(paths)}{only}")
    answers = [click.confirm(f"Remove {quote(name)} from {path}?") for path in paths]
    return [place for place, yes in zip(places, answers, strict=True) if yes]


def _remove(
    name: str, file: ConfigFile, hooks: list[tuple[Hook, int]], loaded: LoadedConfig, report: CommandReport
) -> None:
    if file.layer == "user" and not report.dry_run:
        refuse_if_run_by_agent("change your own hooks")
    config_file = DeclarationFile(file.path, file.layer, loaded.declarations.events)
    recipes = ConfiguredRecipes(config_file)
    for _, index in sorted(hooks, key=lambda each: -each[1]):
        config_file.remove(index)
    if not hooks:
        recipes.remove(name)
    where, changes = relative_path(file.path), recipes.changes
    before = {hook.name for hook in loaded.declarations.hooks}
    if not report.dry_run:
        apply_all(changes)  # may fail, so before any message
    for each in recipes.statuses or [RecipeStatus(name, REMOVED)]:
        removed = f"{'would be ' * report.dry_run}removed from {where}"
        report.add_hook(each.name, removed if each.state == REMOVED else each.state)
    if report.dry_run:
        report.show_diff(changes)
        return
    report.show_written(changes)
    let_removed_go(before - {hook.name for hook in report.at.load().declarations.hooks}, report)
    left = sorted({path for hook, _ in hooks for path in _files_of(hook, config_file.root)})
    if left:
        report.note(f"not removed: {', '.join(map(relative_path, left))}")


def _files_of(hook: Hook, root: str) -> Iterator[str]:
    for word in (*file_words(hook.kind, hook.target, hook.dialect), f"{HOOKS_DIRECTORY}/{hook.name}{CASES_SUFFIX}"):
        path = os.path.normpath(os.path.join(root, word))
        if path.startswith(f"{root}/") and os.path.isfile(path):
            yield path
