"""Runs a case through the engine, in surroundings of its own. Nothing of the person's is read or written."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Self

from hookrun import context as contexts
from hookrun.agents import load as load_agent
from hookrun.config.problem import nearest
from hookrun.events import EVENTS
from hookrun.library.registry import Selection, Table
from hookrun.library.result import Result
from hookrun.library.services import Services
from hookrun.model import Hook
from hookrun.run.pool import Pool
from hookrun.run.process import MOST_AT_ONCE
from hookrun.testing import as_agent, declared
from hookrun.testing.around import ACCOUNT, Around, CaseFire, account_home, filled
from hookrun.testing.came import Came, as_told, of_verdict
from hookrun.testing.cases import WORKDIR
from hookrun.testing.judge import judge
from hookrun.testing.ran import Ran

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.declared import Declared

    Job = tuple[Case, str | None]

SETUP_PATIENCE = 60.0
"""Seconds that a `setup` may take."""
MOST_SAID = 2000
"""Characters of what a failing `setup` printed that are told: the last ones."""
AHEAD = 4
"""Cases that are made ready while all places for processes are taken."""


class CannotRunError(ValueError):
    """A case cannot be run as it stands; the message says why."""


class Runner:
    """Runs cases, at most `at_once` processes at a time. To be closed: that removes its temporary directory.

    `given` are declarations that stand in for those around the files of cases. `directory` is where those are looked
    for that have none around them: outside of a repository they are not looked for above a file.
    """

    def __init__(
        self, at_once: int = MOST_AT_ONCE, given: Declared | None = None, directory: str | None = None
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
        self._made = 0
        self._homes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every hook that runs and remove what was made for the cases."""
        self._pool.close()
        self._background_pool.close()
        shutil.rmtree(self._place, ignore_errors=True)

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

    @property
    def width(self) -> int:
        """How many cases are on their way at a time."""
        return self.at_once + AHEAD

    async def run_all(self, jobs: Sequence[Job], on_ran: Callable[[Ran], object] = lambda _: None) -> list[Ran]:
        """Run all jobs, side by side; return what came of each, in their order. `on_ran` is told of each at once."""
        results: list[Ran | None] = [None] * len(jobs)
        left = iter(enumerate(jobs))

        async def work() -> None:
            for index, (case, agent) in left:
                ran = results[index] = await self.run(case, agent)
                on_ran(ran)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(jobs), self.width)):
                group.create_task(work())
        return [ran for ran in results if ran is not None]

    async def run(self, case: Case, agent: str | None = None) -> Ran:
        """Run one case, as an agent if one is given, and judge what came. Raises nothing."""
        ran = Ran(case, agent, problems=list(map(str, case.problems)))
        if ran.problems:
            return ran
        ran.declared = self.declared_for(case.file)
        if ran.declared.problems:
            ran.problems = [f"{case.where}: its declarations are not known: {each}" for each in ran.declared.problems]
            return ran
        try:
            ran.came, expect = await self._fire(ran, ran.declared)
        except CannotRunError as error:
            ran.problems = [f"{case.where}: {error}"]
        except Exception as error:  # one case that cannot be run keeps none of the others from it
            ran.problems = [f"{case.where}: it cannot be run: {type(error).__name__}: {error}"]
        else:
            ran.differences = judge(expect, ran.came)
        return ran

    async def _fire(self, ran: Ran, against: Declared) -> tuple[Came, Mapping[str, object]]:
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
            await self._set_up(case.setup, context, against, around)
        if agent is None:
            came = await self.fire(event, context, against, hooks=hooks, around=around)
        else:
            came = await self.fire_as(agent, event, context, against, hooks=hooks, around=around)
        self._give_back(around, came)
        came.files = around.texts(case.expect.get("files"))
        return came, around.filled(case.expect)

    async def fire(
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
        result = await fire.run()
        came = of_verdict(result, list(result.runs), dict(context))
        came.ms = result.ms
        waiting = [run for run in result.runs if run.hook.background and run.failure is None]
        came.failures += await fire.background_failures(len(waiting))
        return came

    async def fire_as(
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
        came = await self.fire(event, message.calls[0].fields, against, hooks=hooks, around=around)
        return as_told(came, as_agent.told(module, message, came.verdict, came.runs))

    async def _set_up(self, line: str, context: Mapping[str, object], against: Declared, around: Around) -> None:
        """Run a case's `setup`, as a hook of nobody's. Raises CannotRunError when it fails.

        It finds its programs where we do, also where the case's hooks are to find none.
        """
        hook = Hook(name="setup", events=("setup",), target=line, cwd="event", layer="user", timeout=SETUP_PATIENCE)
        table = Table([hook])
        env = {name: value for name, value in around.env.items() if name != "PATH"}
        around = dataclasses.replace(around, env=env)
        fire = CaseFire(self._services_for(against), "setup", context, Selection(table, frozenset({0})), around)
        (run,) = (await fire.run()).runs
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
            services = self._services[against] = Services(root, max_processes=self.at_once)
            services.home = f"{self._place}/home"
            services.trusted = True
            services.pool, services.background_pool = self._pool, self._background_pool
        return services

    def _surround(self, case: Case) -> Around:
        """Return what a case runs in: a home of its own, and a directory with its files if it is to have one."""
        if not case.temporary:
            home = self._homes.pop() if self._homes else self._new_directory()
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
        self._made += 1
        directory = f"{self._place}/{self._made}"
        os.mkdir(directory)
        return directory

    def _give_back(self, around: Around, came: Came) -> None:
        """Take back a home that is as empty as it was: making one, and removing it, takes longer than many a hook."""
        if around.directory is None and not any(run.outcome.left for run in came.runs) and not os.listdir(around.home):
            self._homes.append(around.home)


def known_event(given: str, against: Declared) -> str:
    """Return the canonical name of an event. Raises CannotRunError for one that nobody knows."""
    if given in EVENTS:
        return EVENTS[given]
    if given in against.events:
        return given
    near = nearest(given, [*EVENTS, *against.events])
    hint = f"; did you mean {near}?" if near else ""
    raise CannotRunError(f"event: found {given}, expected an event that is known or declared{hint}; correct it")


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
