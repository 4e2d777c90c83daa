"""Runs a case through the engine, in surroundings of its own. Nothing of the person's is read or written."""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Self

from hookrun import context as contexts
from hookrun.agents import load as load_agent
from hookrun.config.problem import nearest
from hookrun.events import UnknownEventError, resolve_event
from hookrun.library.registry import Selection, Table
from hookrun.library.result import Result
from hookrun.library.services import Services
from hookrun.model import Hook
from hookrun.process.loop import MAX_PROCESSES
from hookrun.process.pool import Pool
from hookrun.testing import as_agent, declared
from hookrun.testing.around import ACCOUNT, Around, CaseFire, account_home, filled
from hookrun.testing.came import Came, as_told, of_verdict
from hookrun.testing.cases import WORKDIR
from hookrun.testing.judge import judge
from hookrun.testing.ran import Ran

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.declared import Declared

SETUP_PATIENCE = 60.0
"""Seconds that a `setup` may take."""
MOST_SAID = 2000
"""Characters of what a failing `setup` printed that are told: the last ones."""


class CannotRunError(ValueError):
    """A case cannot be run as it stands; the message says why."""


class Runner:
    """Runs cases, at most `at_once` processes at a time. To be closed: that removes its temporary directory.

    Safe to use from many threads, and in processes that were forked: these share the directory, and only `stop` it.

    `given` are declarations that stand in for those around the files of cases. `directory` is where those are looked
    for that have none around them: outside of a repository they are not looked for above a file.
    """

    def __init__(
        self, at_once: int = MAX_PROCESSES, given: Declared | None = None, directory: str | None = None
    ) -> None:
        self.at_once = at_once
        self._given = given
        self._directory = directory
        self._pool, self._background_pool = Pool(at_once), Pool(at_once)
        self._place = os.path.realpath(tempfile.mkdtemp(prefix="hookrun-test-"))
        for name in ("home", "project"):
            os.mkdir(f"{self._place}/{name}")
        self._declared: dict[tuple[str, str | None], Declared] = {}
        self._services: dict[Declared, Services] = {}
        self._tables: dict[tuple[object, ...], Table] = {}
        self._made = itertools.count(1)
        self._homes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every hook that runs and remove what was made for the cases."""
        self.stop()
        shutil.rmtree(self._place, ignore_errors=True)

    def stop(self) -> None:
        """End every hook that runs; no more are run."""
        self._pool.close()
        self._background_pool.close()

    def declared_for(self, file: CaseFile) -> Declared:
        """Return what the cases of a file are run against."""
        if self._given is not None:
            return self._given
        found = self.declared_at(file.directory, file.config)
        if found.found or file.config is not None or self._directory is None:
            return found
        instead = self.declared_at(self._directory)
        return instead if instead.found else found

    def declared_at(self, directory: str, config: str | None = None) -> Declared:
        """Return what is declared for a directory, or in one file."""
        key = (directory, config) if config is None else ("", config)
        if key not in self._declared:
            self._declared[key] = declared.from_files(directory, config)
        return self._declared[key]

    def to_run(self, case: Case, agent: str | None = None) -> Ran:
        """Return a case as it is to be run, as an agent if one is given: against what, or why it cannot be."""
        ran = Ran(case, agent, problems=list(map(str, case.problems)))
        if not ran.problems:
            ran.declared = self.declared_for(case.file)
            ran.problems = [f"{case.where}: its declarations are not known: {each}" for each in ran.declared.problems]
        return ran

    def run(self, ran: Ran) -> Ran:
        """Run what `to_run` returned, judge what came, and return it. Raises nothing."""
        if ran.problems or ran.declared is None:
            return ran
        try:
            ran.came, expect = self._fire(ran, ran.declared)
        except CannotRunError as error:
            ran.problems = [f"{ran.case.where}: {error}"]
        except Exception as error:  # one case that cannot be run keeps none of the others from it
            ran.problems = [f"{ran.case.where}: it cannot be run: {type(error).__name__}: {error}"]
        else:
            ran.differences = judge(expect, ran.came)
        return ran

    def _fire(self, ran: Ran, against: Declared) -> tuple[Came, Mapping[str, object]]:
        """Return what came of a case, and what is expected of it with its own directory filled in."""
        case, agent = ran.case, ran.agent
        event = known_event(case.event, against)
        hooks = chosen(case.hooks, against)
        around = self._surround(case)
        if against.rootless and around.directory is not None:
            around = dataclasses.replace(around, project=around.directory)
        ran.directory = around.directory
        context = around.filled(case.context)
        if around.directory is not None:
            given = context.get("working_dir")
            context["working_dir"] = (
                os.path.join(around.directory, given) if isinstance(given, str) else around.directory
            )
        if case.setup is not None:
            self._set_up(case.setup, context, against, around)
        if agent is None:
            came = self.fire(event, context, against, hooks=hooks, around=around)
        else:
            came = self.fire_as(agent, event, context, against, hooks=hooks, around=around)
        self._give_back(around, came)
        came.files = around.texts(case.expect.get("files"))
        return came, around.filled(case.expect)

    def fire(
        self,
        event: str,
        context: Mapping[str, object],
        against: Declared,
        *,
        hooks: frozenset[str] | None = None,
        around: Around,
    ) -> Came:
        """Fire an event (canonical name) at what is declared, or at some of its hooks; return what came of it.

        `around` is what the hooks run in.
        """
        contexts.check(context, "the context")
        table = self._table(event, against, hooks)
        concerned = table.concerned(context)
        if not concerned:
            return of_verdict(Result(), [], dict(context))
        fire = CaseFire(self._services_for(against), event, context, Selection(table, concerned), around)
        result = fire.run_sync()
        came = of_verdict(result, list(result.runs), dict(context))
        came.ms = result.ms
        waiting = [run for run in result.runs if run.hook.background and run.failure is None]
        came.failures += fire.background_failures(len(waiting))
        return came

    def fire_as(
        self,
        agent: str,
        event: str,
        context: Mapping[str, object],
        against: Declared,
        *,
        hooks: frozenset[str] | None,
        around: Around,
    ) -> Came:
        """Do the same as an agent would have it; what came is what the agent is told."""
        module = load_agent(agent)
        try:
            message = as_agent.message_of(module, event, context)
        except as_agent.NoEventError as error:
            raise CannotRunError(f"{error}; name other agents, or leave {agent} out") from None
        came = self.fire(event, message.calls[0].fields, against, hooks=hooks, around=around)
        return as_told(came, as_agent.told(module, message, came.verdict, came.runs))

    def _set_up(self, line: str, context: Mapping[str, object], against: Declared, around: Around) -> None:
        """Run a case's `setup`, as a hook of nobody's. Raises CannotRunError when it fails.

        It finds its programs where we do, also where the case's hooks are to find none.
        """
        hook = Hook(name="setup", events=("setup",), target=line, cwd="event", layer="user", timeout=SETUP_PATIENCE)
        table = Table([hook])
        env = {name: value for name, value in around.env.items() if name != "PATH"}
        around = dataclasses.replace(around, env=env)
        fire = CaseFire(self._services_for(against), "setup", context, Selection(table, frozenset({0})), around)
        (run,) = fire.run_sync().runs
        if run.outcome.exit_code != 0:
            said = (run.outcome.stdout + run.outcome.stderr).decode("utf-8", "replace").strip()
            why = f"exited with status {run.outcome.exit_code}"
            if run.failure is not None and run.failure.kind != "exit_code":
                why = run.failure.detail
            raise CannotRunError(f"setup: it {why}{f': {said[-MOST_SAID:]}' if said else ''}; correct the line")

    def _table(self, event: str, against: Declared, hooks: frozenset[str] | None) -> Table:
        key = (against, event, hooks)
        if key not in self._tables:
            found = [hook for hook in against.hooks if event in hook.events and hook.mode != "off"]
            self._tables[key] = Table([hook for hook in found if hooks is None or hook.name in hooks])
        return self._tables[key]

    def _services_for(self, against: Declared) -> Services:
        services = self._services.get(against)
        if services is None:
            root = f"{self._place}/project" if against.rootless else against.root
            services = Services(root, max_processes=self.at_once)
            services.home = f"{self._place}/home"
            services.trusted = True
            services.pool, services.background_pool = self._pool, self._background_pool
            self._services[against] = services
        return services

    def _surround(self, case: Case) -> Around:
        """Return what a case runs in: a home of its own, and a directory with its files if it is to have one."""
        if not case.temporary:
            try:
                home = self._homes.pop()
            except IndexError:
                home = self._new_directory()
            return Around(None, home, {"HOME": home, **filled(case.env, {ACCOUNT: account_home()})})
        directory = self._new_directory()
        home = f"{directory}/.home"
        os.mkdir(home)
        for name, text in case.files.items():
            path = os.path.join(directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            if text.startswith("#!"):
                os.chmod(path, 0o755)  # noqa: S103  # a program, in a directory of our own
        env = filled(case.env, {ACCOUNT: account_home(), WORKDIR: directory})
        return Around(directory, home, {"HOME": home, **env})

    def _new_directory(self) -> str:
        directory = f"{self._place}/{os.getpid()}-{next(self._made)}"
        os.mkdir(directory)
        return directory

    def _give_back(self, around: Around, came: Came) -> None:
        """Take back a home that is as empty as it was: making one, and removing it, takes longer than many a hook."""
        if around.directory is None and not any(run.outcome.left for run in came.runs) and not os.listdir(around.home):
            self._homes.append(around.home)


def known_event(given: str, against: Declared) -> str:
    """Return the canonical name of an event. Raises CannotRunError for one that nobody knows."""
    try:
        return resolve_event(given, against.events)
    except UnknownEventError as error:
        raise CannotRunError(str(error)) from None


def chosen(names: Iterable[str] | None, against: Declared) -> frozenset[str] | None:
    """Return the hooks of these names, None for all. Raises CannotRunError for one that is not declared."""
    if names is None:
        return None
    known = [hook.name for hook in against.hooks]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near}?" if near else ""
            raise CannotRunError(f"hook: found {name}, expected a hook that is declared{hint}; correct the name")
    return frozenset(names)
