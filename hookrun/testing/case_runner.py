"""Run cases through the engine in threads and processes, in sandboxes that protect the user's files."""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.agents import load as load_agent
from hookrun.agents.known_tools import message_from_context, message_of_program
from hookrun.agents.reply import build_response, replies_to
from hookrun.core import context as contexts
from hookrun.core.model import Hook
from hookrun.core.state import report_bug
from hookrun.core.text import one_line
from hookrun.library.engine_state import EngineState
from hookrun.library.tables import HookTable, TableCandidates
from hookrun.process.coprocess import Coprocesses
from hookrun.process.loop import MAX_PROCESSES
from hookrun.process.pool import SIGNALS_SEEN_AFTER, Pool
from hookrun.testing.cases import WORKDIR, Case, CaseFile
from hookrun.testing.results import CaseResult, CaseRun, TestRun, as_agent_sees_it, compare, result_from_verdict
from hookrun.testing.sandbox import (
    HOME,
    CannotRunError,
    CaseConfig,
    CaseFire,
    Sandbox,
    config_from_files,
    expand_placeholders,
    home_or_empty,
    write_files,
)
from hookrun.trust.hook_files import files_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

OnDone = Callable[[CaseRun], object]

# Default limit on concurrent hooks per core.
HOOKS_PER_CORE = 4
# Seconds after which `setup` is killed.
SETUP_TIMEOUT = 60.0
# Limit on the last characters shown of a failing `setup`'s output.
MAX_SETUP_OUTPUT = 2000
# Cases worth one more process.
CASES_PER_PROCESS = 64


def run_cases(
    files: Iterable[CaseFile],
    cases: Iterable[Case] | None = None,
    *,
    at_once: int | None = None,
    config: CaseConfig | None = None,
    directory: str | None = None,
    on_begin: Callable[[int], object] = lambda _: None,
    on_ran: Callable[[CaseRun], object] = lambda _: None,
) -> TestRun:
    """Run the cases of these files, or only `cases`, and return their results. No hook outlives this.

    At most `at_once` hooks run concurrently, many cases in several processes. `config` and `directory` are as for
    CaseRunner. `on_begin` is called with the number of runs, `on_ran` with each finished one.
    """
    files = list(files)
    started = monotonic()
    to_run = cases if cases is not None else [case for file in files for case in file.cases]
    width = at_once or min(MAX_PROCESSES, HOOKS_PER_CORE * (os.cpu_count() or 1))
    with closing(CaseRunner(width, config, directory)) as runner:
        prepared = (runner.prepare(case, agent) for case in to_run for agent in (case.agents or (None,)))
        runs = [run for each in prepared for run in each]
        on_begin(len(runs))
        if (count := process_count(len(runs), width)) > 1:
            run_in_processes(runner, runs, count, width, on_ran)
        else:
            run_in_threads(runner, runs, max(1, min(width, len(runs))), on_ran)
    return TestRun(runs, [problem for file in files for problem in file.problems], monotonic() - started)


def process_count(cases: int, width: int) -> int:
    """Return the number of processes for these cases and `width` concurrent hooks: up to one per core."""
    if threading.active_count() > 1:
        return 1  # a fork would copy the locks that other threads hold, held forever
    return max(1, min(os.cpu_count() or 1, width, cases // CASES_PER_PROCESS))


def run_in_threads(runner: CaseRunner, runs: Iterable[CaseRun], width: int, on_done: OnDone) -> None:
    """Run these cases, at most `width` concurrently, and call `on_done` with each.

    If anything raises, even KeyboardInterrupt, the runner is stopped and every thread has ended on return.
    """
    pending = iter(runs)
    with ThreadPoolExecutor(width) as pool:
        try:
            running = {pool.submit(runner.run, run) for run in itertools.islice(pending, width)}
            while running:
                done, running = wait(running, SIGNALS_SEEN_AFTER, FIRST_COMPLETED)
                for future in done:
                    on_done(future.result())
                running |= {pool.submit(runner.run, run) for run in itertools.islice(pending, len(done))}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            raise


def run_in_processes(runner: CaseRunner, runs: Sequence[CaseRun], count: int, width: int, on_done: OnDone) -> None:
    """Run these cases in `count` processes, at most `width` concurrently, and call `on_done` with each.

    One interpreter starts hooks slower than several cores run them. A case whose process died has a problem that says
    so. No process is left running, whatever this raises.
    """
    from multiprocessing import connection, get_context  # 15 ms, only for many cases

    context = get_context("fork")  # runner and cases need no pickling
    left = dict(enumerate(runs))
    workers = {}
    try:
        for number in range(count):
            receiver, sender = context.Pipe(duplex=False)
            # Every process has its own cases from the start: one that dies holds no lock of the others.
            share = {index: run for index, run in left.items() if index % count == number}
            worker = context.Process(
                target=_work, args=(runner, share, width // count + (number < width % count), sender)
            )
            worker.start()
            sender.close()
            workers[receiver] = worker
        open_ends = list(workers)
        while open_ends:
            for ready in connection.wait(open_ends, SIGNALS_SEEN_AFTER):
                assert isinstance(ready, connection.Connection)  # noqa: S101  # of the types it can wait for
                try:
                    index, *result = ready.recv()
                except (EOFError, OSError):  # OSError in the middle of a result
                    open_ends.remove(ready)
                    continue
                run = left.pop(index)
                run.result, run.differences, run.problems, run.directory = result
                on_done(run)
    finally:
        for receiver, worker in workers.items():
            receiver.close()
            if worker.is_alive() and worker.pid is not None:
                os.kill(worker.pid, signal.SIGINT)
            worker.join()
    for run in left.values():
        run.problems = [f"{run.case.where}: the process that was to run it has died"]
        on_done(run)


def _work(runner: CaseRunner, share: Mapping[int, CaseRun], width: int, results: Connection) -> None:
    os.setpgid(0, 0)  # Ctrl-C at the terminal is for the parent, which forwards it
    indices = {id(run): index for index, run in share.items()}

    def report(run: CaseRun) -> None:
        results.send((indices[id(run)], run.result, run.differences, run.problems, run.directory))

    try:
        run_in_threads(runner, share.values(), width, report)
    except (KeyboardInterrupt, BrokenPipeError):  # the parent is ending or gone
        pass
    finally:
        runner.stop()


class CaseRunner:
    """Runs cases, at most `at_once` processes at a time. `close` removes its temporary directory.

    Safe in threads and in forked processes, which share the directory and only `stop` it.

    `config` replaces the files around the cases; `directory` is where to look for a config if a file has none around it
    (outside a repository, its parent directories are not searched).
    """

    def __init__(
        self, at_once: int = MAX_PROCESSES, config: CaseConfig | None = None, directory: str | None = None
    ) -> None:
        self.at_once = at_once
        self._config = config
        self._directory = directory
        self._pool, self._background_pool = Pool(at_once), Pool(at_once)
        self._coprocesses = Coprocesses(files_of)
        self._warm_turn = threading.Lock()
        self._temporary = os.path.realpath(tempfile.mkdtemp(prefix="hookrun-test-"))
        for name in ("home", "project"):
            os.mkdir(f"{self._temporary}/{name}")
        self._configs: dict[tuple[str, str | None], CaseConfig] = {}
        self._states: dict[CaseConfig, EngineState] = {}
        self._tables: dict[tuple[object, ...], HookTable] = {}
        self._numbers = itertools.count(1)
        self._warm_homes: list[str] = []

    def close(self) -> None:
        """End all hooks and remove the temporary directory."""
        self.stop()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def stop(self) -> None:
        """End all hooks and run no more."""
        self._pool.close()
        self._background_pool.close()
        self._coprocesses.close()

    def config_for(self, directories: Iterable[str], config: str | None = None) -> CaseConfig:
        """Return the config of the file `config`, or the first one in the directories.

        If there is none, the first directory's says so.
        """
        found = []
        for directory in directories:
            key = ("" if config is not None else directory, config)
            if key not in self._configs:
                self._configs[key] = config_from_files(directory, config)
            found.append(self._configs[key])
            if found[-1].found or config is not None:
                return found[-1]
        return found[0]

    def prepare(self, case: Case, agent: str | None = None) -> list[CaseRun]:
        """Return a case ready to `run`, as an agent if given, with its config, event and hooks, or its problems.

        If a hook with `serve` may run, a second run keeps its program.
        """
        run = CaseRun(case, agent, case.event, problems=list(map(str, case.problems)))
        if run.problems:
            return [run]
        directories = [case.file.directory, *([self._directory] if self._directory is not None else [])]
        run.config = self._config or self.config_for(directories, case.file.config)
        run.problems = [f"{case.where}: its config has an error: {each}" for each in run.config.problems]
        if run.problems:
            return [run]
        try:
            run.event, run.hooks = run.config.resolve_event(case.event), run.config.select_hooks(case.hooks)
        except CannotRunError as error:
            run.problems = [f"{case.where}: {one_line(str(error))}"]
            return [run]
        hooks = [hook for hook in run.config.hooks if run.hooks is None or hook.name in run.hooks]
        serves = any(hook.serve and run.event in hook.events for hook in hooks)
        return [run, dataclasses.replace(run, warm=True)] if serves else [run]

    def run(self, run: CaseRun) -> CaseRun:
        """Run what `prepare` returned, compare the result with the expected one, and return it. Raises nothing."""
        if run.problems or run.config is None:
            return run
        turn = self._warm_turn if run.warm else nullcontext()  # concurrently, each would need its own program
        try:
            with turn:
                run.result, expect = self._fire_case(run, run.config)
        except CannotRunError as error:
            run.problems = [f"{run.case.where}: {one_line(str(error))}"]
        except (OSError, ValueError, RecursionError) as error:  # the case's or the system's
            run.problems = [f"{run.case.where}: cannot be run: {type(error).__name__}: {error}"]
        except Exception as error:  # the other cases still run
            run.problems = [f"{run.case.where}: cannot be run: {one_line(report_bug(error))}"]
        else:
            run.differences = compare(expect, run.result)
        return run

    def _fire_case(self, run: CaseRun, config: CaseConfig) -> tuple[CaseResult, Mapping[str, object]]:
        """Return a case's result, and the expected one with placeholders expanded."""
        case = run.case
        sandbox = self._make_sandbox(run, config)
        run.directory = sandbox.directory
        context = sandbox.expand(case.context)
        if sandbox.directory is not None:
            working_dir = context.get("working_dir")
            below = working_dir if isinstance(working_dir, str) else ""
            context["working_dir"] = os.path.join(sandbox.directory, below) if below else sandbox.directory
        if case.setup is not None:
            self._run_setup(case.setup, context, config, sandbox)
        result = self.fire(run.event, context, config, agent=run.agent, hooks=run.hooks, sandbox=sandbox)
        if run.warm:
            self._keep_home(sandbox, result)
            self._coprocesses.tend()
        result.files = sandbox.read_files(case.expect.get("files"))
        return result, sandbox.expand(case.expect)

    def fire(
        self,
        event: str,
        context: Mapping[str, object],
        config: CaseConfig,
        *,
        agent: str | None = None,
        hooks: frozenset[str] | None = None,
        sandbox: Sandbox,
    ) -> CaseResult:
        """Fire an event (canonical name) for all or some hooks of the config, and return the result.

        With an `agent`, the context is converted to its message and back, and the result is what the agent sees.
        """

        def judged(fields: Mapping[str, object]) -> CaseResult:
            contexts.check(fields, "the context")
            candidates = self._table(event, config, hooks).candidates_for(fields)
            fire = CaseFire(self._state_for(config), event, fields, candidates, sandbox)
            result = result_from_verdict(fire.run_sync(), dict(fields), event)
            waiting = [run for run in result.runs if getattr(run.hook, "background", False) and run.failure is None]
            fire.await_background(waiting)
            return result

        if agent is None:
            own = message_of_program(context)
            fields = own.calls[0].fields if own is not None else context
            if own is not None and (several := fields.get("arguments_cut_off")):
                raise CannotRunError(f"{several}\nhint: add `agents`, to have each judged as in an agent")
            return judged(fields)
        module = load_agent(agent)
        if event not in (known := {*module.EVENTS.values(), *module.SYNTHESIZED_FROM}):
            fault = f"{module.DISPLAY_NAME} has no event {event}, only {', '.join(sorted(known))}"
            raise CannotRunError(f"{fault}\nhint: use other agents, or remove {agent}")
        message = message_from_context(module, event, context)
        results = [judged(call.fields) for call in message.calls if not call.synthesized]
        fires = [(result.verdict, result.runs) for result in results]
        return as_agent_sees_it(results, build_response(module, message, replies_to(module, message, fires)))

    def _run_setup(self, line: str, context: Mapping[str, object], config: CaseConfig, sandbox: Sandbox) -> None:
        """Run `setup` like a hook. Raises CannotRunError on failure.

        It has our PATH: a case may hide every program from its hooks.
        """
        hook = Hook(name="setup", events=("setup",), target=line, cwd="event", layer="user", timeout=SETUP_TIMEOUT)
        env = {name: value for name, value in sandbox.env.items() if name != "PATH"}
        sandbox = dataclasses.replace(sandbox, env=env)
        fire = CaseFire(self._state_for(config), "setup", context, TableCandidates([hook]), sandbox)
        (run,) = fire.run_sync().runs
        if run.outcome.exit_code != 0:
            output = (run.outcome.stdout + run.outcome.stderr).decode("utf-8", "replace").strip()
            why = f"exited with status {run.outcome.exit_code}"
            if run.failure is not None and run.failure.kind != "exit_code":
                why = run.failure.detail
            shown = f": {output[-MAX_SETUP_OUTPUT:]}" if output else ""
            raise CannotRunError(f"setup failed: it {why}{shown}")

    def _table(self, event: str, config: CaseConfig, hooks: frozenset[str] | None) -> HookTable:
        key = (config, event, hooks)
        if key not in self._tables:
            found = [hook for hook in config.hooks if event in hook.events and hook.mode != "off"]
            self._tables[key] = HookTable([hook for hook in found if hooks is None or hook.name in hooks])
        return self._tables[key]

    def _state_for(self, config: CaseConfig) -> EngineState:
        state = self._states.get(config)
        if state is None:
            root = f"{self._temporary}/project" if config.rootless else config.root
            state = EngineState(root, max_processes=self.at_once)
            state.home = f"{self._temporary}/home"
            state.trusted = True
            state.pool, state.background_pool = self._pool, self._background_pool
            self._states[config] = state
        return state

    def _make_sandbox(self, run: CaseRun, config: CaseConfig) -> Sandbox:
        """Return a sandbox with its own home and a directory for the case's files, if any."""
        case, directory = run.case, None
        if case.temporary:
            directory = self._new_directory()
            home = f"{directory}/.home"
            os.mkdir(home)
            write_files(directory, case.files)
        else:
            home = self._warm_homes.pop() if run.warm and self._warm_homes else self._new_directory()
        env = {"HOME": home, **expand_placeholders(case.env, {HOME: home_or_empty(), WORKDIR: directory or WORKDIR})}
        project = directory if config.rootless else None
        return Sandbox(directory, home, env, project, self._coprocesses if run.warm else None)

    def _new_directory(self) -> str:
        directory = f"{self._temporary}/{os.getpid()}-{next(self._numbers)}"
        os.mkdir(directory)
        return directory

    def _keep_home(self, sandbox: Sandbox, result: CaseResult) -> None:
        """Keep a still empty home for the next case: the programs kept for it have this one in their environment."""
        unused = sandbox.directory is None and not any(run.outcome.processes_left for run in result.runs)
        if unused and not os.listdir(sandbox.home):
            self._warm_homes.append(sandbox.home)
