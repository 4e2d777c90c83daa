"""Write hooks: `hookrun init` sets up a project, `new` creates a hook, `remove` removes one."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Iterator

import click

from hookrun.agents.types import Agent
from hookrun.cli.commands import agents_named, command, report_options, user_is_present
from hookrun.cli.connecting import connect, connect_missing, events_of
from hookrun.cli.install import SECOND, choose_agents, installed_agents, review_hooks
from hookrun.cli.printing import CommandReport, choose, confirm, count, is_interactive, print_line
from hookrun.cli.recipes import layers_of_recipes
from hookrun.cli.user_decisions import APPROVE_IT, APPROVE_THEM, approve_written, note_reach
from hookrun.config.config_file import load_file
from hookrun.config.document import errors_in
from hookrun.config.not_run import not_run
from hookrun.core.files import relative_path
from hookrun.core.text import one_of
from hookrun.edit.file_change import FileChange, apply_all
from hookrun.recipes import catalog
from hookrun.scaffold.configured_recipes import ADDED, ConfiguredRecipes, kinds, suggest, template_language
from hookrun.scaffold.declaration_file import DeclarationFile, project_file
from hookrun.scaffold.new_hook import CASES_SUFFIX, LANGUAGES, HookPlan, HookTemplateRequest, plan_hook

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
@click.option("--include", metavar="FILE", multiple=True, help="Include an agent's own hook file; repeatable.")
@click.option("--agent", "agents", metavar="NAME", multiple=True, help="Install into this agent; repeatable.")
@click.option("--no-install", is_flag=True, help="Install into no agent.")
@click.option("--yes", is_flag=True, help="Accept the defaults without asking.")
@report_options
def init_command(
    report: CommandReport,
    *,
    recipes: tuple[str, ...],
    include: tuple[str, ...],
    agents: tuple[str, ...],
    no_install: bool,
    yes: bool,
) -> None:
    """Set up a project: add hooks, approve them, and connect your coding agents.

    Asks at most four questions: which hook files of agents to include, which hooks to add, which agents to connect,
    and whether to go ahead. Without a terminal, or with --yes, it takes the defaults: the recipes that suit the project
    (none if it has hooks already) and the agents on PATH. Only you can approve hooks, at a terminal.

    Nothing is overwritten; a second run changes nothing. hookrun new writes a hook of your own.
    """
    if no_install and agents:
        raise click.UsageError("give --agent or --no-install, not both")
    asks = is_interactive() and not (yes or report.as_json or report.dry_run)
    _refuse_home(report, asks=asks, agreed=yes or report.dry_run)
    setup = Setup(project_file(report.at.directory, report.at.home), report)
    setup.include(include or (setup.ask_files() if asks else ()))
    chosen = list(dict.fromkeys(recipes))
    if not chosen:
        chosen = setup.ask_recipes() if asks else setup.default_recipes()
    for each in chosen:
        proposed = each in catalog.of_level("standard") and each not in recipes
        setup.recipes.add(catalog.find(each), {}, level="standard" if proposed else "")
    found = [] if no_install else agents_named(agents) if agents else installed_agents()
    if asks and found and not agents:
        found = choose_agents("Agents to connect", found)
    if asks and not (setup.recipes.names(ADDED) or setup.included or found):
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
    """The recipes for one config file, and the agents to connect."""

    def __init__(self, config_file: DeclarationFile, report: CommandReport) -> None:
        self.report = report
        self.config_file = config_file
        self.recipes = ConfiguredRecipes(config_file)
        self.included: list[str] = []

    # --- what to write

    def ask_files(self) -> list[str]:
        """Ask which hook files of agents to include, if there are any that hookrun does not run."""
        found = not_run(self.report.at.load())
        options = [(each.name, f"{count(each.hooks, 'hook')} of {each.title}") for each in found if each.includable]
        if not options:
            return []
        question = "Hooks of agents here, to run in every agent"
        return choose(question, ("FILE", "HOOKS"), options, [name for name, _ in options])

    def include(self, names: Collection[str]) -> None:
        """Include hook files, named relative to the working directory or the project's root.

        Raises click.ClickException for one that hookrun cannot run.
        """
        root = self.config_file.root
        for name in names:
            path = next((p for p in map(os.path.normpath, (f"{root}/{name}", name)) if os.path.lexists(p)), name)
            file = load_file(os.path.abspath(path), "project")
            for error in errors_in(file.problems):
                raise click.ClickException(str(error))
            if file.handlers is None:
                where = relative_path(path)
                raise click.ClickException(f"{where}: no hooks of an agent\nhint: name one of its own hook files")
            self.included.append(os.path.relpath(os.path.abspath(path), root))
        self.config_file.include(self.included)

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
        question = "Hooks to add (`hookrun recipes` lists more)"
        return choose(question, ("HOOK", "WHAT IT DOES"), options, self.default_recipes())

    @property
    def _changes(self) -> list[FileChange]:
        """The files to write, the config file last."""
        return self.recipes.changes if self.recipes.names(ADDED) or self.included else []

    def confirm(self, agents: list[Agent]) -> None:
        """Ask whether to go ahead. Raises click.Abort."""
        steps = [f"include {one_of(self.included, 'and')}"] if self.included else []
        if chosen := sum(each.state == ADDED for each in self.recipes.statuses):  # the list has no part of a recipe
            steps.append(f"write {count(chosen, 'hook')} to {relative_path(self.config_file.path)} and approve")
            steps[-1] += " them" if chosen > 1 else " it"
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
        report, changes, names = self.report, self._changes, self.recipes.names(ADDED)
        apply_all(changes)
        for status in self.recipes.statuses:
            if report.as_json or status.state != ADDED:
                report.add_hook(status.name, status.state)
        if changes:
            report.show_written(changes)
            note_reach(self.config_file, report)
        if not report.as_json:
            approve_written(self.config_file.root, names, changes, report)
        if self.config_file.is_new:  # a project's other hooks may run only when approved
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
        yield from next_steps(self.config_file.root, self.report, approved=approved)
        for agent in failed:
            yield (f"hookrun install {agent}", "connect it, once the error is fixed")
        if "block-destructive-commands" in self.recipes.declared():
            yield shlex.join(("hookrun", "try", "rm -rf /usr")), "show what each hook says to a command"
        yield "hookrun doctor", "check that every agent runs the hooks"
        yield "hookrun help new", "show how to write a hook of your own"


# --- hookrun new


class TemplateLanguage(click.Choice[str]):
    """A language of templates; the error for another one says how to use that."""

    hint = "for another language, put your program in place of the script of `--lang sh`, and name it in `command`"


@command(
    "new",
    "new no-sudo",
    "new check-edits --lang python --event post_tool_use --matcher 'write|edit'",
)
@click.argument("name")
@click.option("--lang", type=TemplateLanguage(LANGUAGES), help="The language; default by the project's files, else sh.")
@click.option(
    "--event", metavar="EVENT", help="The event, by any of its names; default pre_tool_use, or the example's."
)
@click.option("--matcher", metavar="GLOB", help="The tools, by hookrun's names: bash, write|edit.")
@click.option(
    "--serve", is_flag=True, help="Answer one line of JSON after the other, to be kept running between calls."
)
@report_options
def new_command(
    name: str,
    lang: str | None,
    event: str | None,
    matcher: str | None,
    *,
    report: CommandReport,
    serve: bool,
) -> None:
    """Create the hook NAME from a template: a script and its tests in hooks/, and its entry in hookrun.yaml.

    The script only reads the call, with a block in a comment beside it, in `mode: advise` until its tests pass and
    hookrun test enforces it. These names create a finished example, each for its own event:

    \b
    protect-env, no-conflict-markers, house-rules,
    finish-the-job, read-the-rules, tell-me

    No file is overwritten. At a terminal the hook is approved too.
    """  # noqa: D301  # click reads the backspace
    config_file = project_file(report.at.directory, report.at.home)
    language = lang or template_language(config_file.root)
    made = plan_hook(HookTemplateRequest(language, name, event, matcher, serve), config_file)
    changes = [*made.files, *config_file.changes()]
    if report.dry_run:
        report.show_diff(changes)
        connect_missing(report, *events_of(config_file.entries[-1], config_file.events))
        return
    apply_all(changes)
    report.show_written(changes)
    note_reach(config_file, report)
    if made.stub:
        where = relative_path(made.stub)
        report.note(f"{where} blocks nothing yet: write its check; once its tests pass, `hookrun test` enforces it")
    if shutil.which(made.program) is None:
        report.warn(f"command not found: `{made.program}`, which {made.name} needs")
    approved = False
    if made.build:
        report.add_approvals((), [made.name])
    else:
        approved = approve_written(config_file.root, [made.name], changes, report)
    connect_missing(report)
    report.next_steps(next_steps(config_file.root, report, made, approved=approved))


def next_steps(
    root: str, report: CommandReport, made: HookPlan | None = None, *, approved: bool
) -> Iterator[tuple[str, str]]:
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
