"""Read what `hookrun explain` and `try` ask about: an event, its contexts and their config."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import click

from hookrun.cli.commands import Workspace, agents_named
from hookrun.cli.printing import count, localized, warn
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import LOCAL_FILE, PROJECT_FILES, find
from hookrun.core import context as contexts
from hookrun.core.events import TOOLS, resolve_event
from hookrun.core.files import relative_path, upwards
from hookrun.core.state import NoHomeError, home_directory
from hookrun.core.text import quote
from hookrun.fire.dry_run import KnownFields

if TYPE_CHECKING:
    from hookrun.agents.base import Message
    from hookrun.agents.types import Agent
    from hookrun.config.load import LoadedConfig
    from hookrun.config.not_run import NotRun

# Fields that distinguish a canonical context from an agent's message.
ONLY_CANONICAL = frozenset({"tool_args", "event", "user_prompt", "assistant_response", "tool_result_output"})
SET_FOR_AGENTS = frozenset({"agent", "agent_event", "agent_tool_name"})


class EventQuery:
    """An event by its canonical name and the contexts to ask about; `agent` and `message` if an agent fires it.

    `sources` is the config in force for it. `contexts` has an entry for each call in the message; `known` names their
    known fields. `notes` are doubts about the input.
    """

    def __init__(self, event: str, at: Workspace, agent: str | None) -> None:
        """Take an event by any name. Raises UnknownAgentError and UnknownEventError."""
        self._at = at
        self.sources = ConfigSources(at)
        self.agent: Agent | None = agents_named([agent])[0] if agent is not None else None
        self.event = resolve_event(event, self.sources.events, self.agent.EVENTS if self.agent is not None else None)
        self.message: Message | None = None
        self.contexts: list[dict[str, object]] = [{}]
        self.known: KnownFields
        self.notes: list[str] = []

    def read_context(self, source: str) -> None:
        """Read a canonical context or an agent's message from a file (`-`: stdin), and the config where that is from.

        Raises ContextError, UnreadableMessageError, and click.ClickException for another event's message.
        """
        data = contexts.read(source, float("inf"))
        if self.agent is not None and ONLY_CANONICAL.isdisjoint(data):
            from hookrun.agents.base import native_event  # only for an agent
            from hookrun.config.schema import CONTEXT_FIELDS

            if not data.keys() <= set(CONTEXT_FIELDS):
                self._take_message(self.agent.read(data, native_event(self.agent, self.event)), source)
                return
        self.notes += contexts.doubts_about(data, self.event, source)
        self.known = KnownFields(but=SET_FOR_AGENTS - set(data))
        self.set_context(data)

    def build_context(self, tool: str | None, args: Sequence[str]) -> None:
        """Build a context from `--tool` and `--arg`. Raises click.UsageError."""
        fields: dict[str, object] = {}
        known = {"event", "version"}
        if tool is not None:
            fields["tool_name"] = tool
            known.add("tool_name")
        if args:
            fields["tool_args"] = dict(map(_parse_argument, args))
            known |= {"tool_args", "file_path"}
            fields["file_path"] = contexts.file_path({"working_dir": os.getcwd(), **fields})
        if self.agent is not None:
            known |= SET_FOR_AGENTS
        self.known = KnownFields(only=frozenset(known))
        self.set_context(fields)

    def set_context(self, fields: dict[str, object]) -> None:
        """Take a canonical context, in the form that the agent, if any, would send."""
        self.contexts = [fields]
        if self.agent is None and fields.get("tool_name") in (None, *TOOLS):
            return
        from hookrun.agents.known_tools import message_from_context, message_of_program

        if self.agent is not None:
            self.message = message_from_context(self.agent, self.event, fields)
        message = message_of_program(fields) if self.agent is None else self.message
        if message is not None:
            self.contexts = [call.fields for call in message.calls]

    def _take_message(self, message: Message, source: str) -> None:
        calls = [call.fields for call in message.calls if (call.event or message.native) == self.event]
        if not calls:
            events = ", ".join(dict.fromkeys(call.event or message.native for call in message.calls))
            found = f"the message is one of {events}" if events else f"the message ({message.native}) fires nothing"
            where = "stdin" if source == "-" else source
            raise click.ClickException(f"{where}: {found}\nhint: the event asked about is {self.event}")
        self.message, self.contexts, self.known = message, calls, KnownFields()
        directory = next((root for root in message.roots if os.path.isabs(root) and os.path.isdir(root)), None)
        if directory is not None:
            self.sources = ConfigSources(self._at, directory)


def _parse_argument(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        example = 'hint: use NAME=TEXT or NAME:=JSON, such as `--arg "command=git push"`'
        raise click.UsageError(f"invalid value for `--arg`: {quote(text)}\n{example}")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value)
    except ValueError:
        raise click.UsageError(f"--arg {quote(text)}: the value after := is not JSON") from None


def warn_of_unread_files() -> None:
    """Warn about files here that are named nearly as hookrun's config, and so are not read."""
    from hookrun.config.lint import unread_files  # only if a command needs the config

    with suppress(NoHomeError, OSError):  # the command reports it
        found = find(os.getcwd(), home_directory())
        if any(unread_files(found, ())):
            from hookrun.config.load import load_config  # a file that another includes is read

            for each in unread_files(found, load_config(found).declarations.files):
                warn(str(each))


class ConfigSources:
    """A directory's config (default: the working directory), and why a hook may be missing.

    `project` is the project's root.
    """

    def __init__(self, at: Workspace, cwd: str | None = None) -> None:
        self.cwd = cwd = cwd or at.directory
        self.home = at.home
        self.config = at.config
        self._found = find(cwd, at.home, config=at.config_from(cwd))
        # As for a run; the files are read only if they matter.
        compiled = load_compiled(self._found)
        self.hooks = compiled.hooks() if compiled is not None else []
        self.events = compiled.events if compiled is not None else []
        self.problems = compiled.problems if compiled is not None else []
        self.settings = compiled.settings if compiled is not None else {}
        self.project = self._found.project_root(compiled.root if compiled is not None else None)

    @cached_property
    def _examined(self) -> LoadedConfig:
        from hookrun.config.load import load_config  # only to list files, or if none has hooks

        return load_config(self._found)

    @property
    def files(self) -> list[str]:
        """The effective files."""
        return [file.path for file in self._examined.files if file.is_effective]

    def other_hooks(self, event: str) -> dict[str, list[str]]:
        """Return the hook names of every other event."""
        others: dict[str, list[str]] = {}
        for hook in self.hooks:
            for each in hook.events:
                if each != event:
                    others.setdefault(each, []).append(hook.name)
        return others

    def why_no_hooks(self) -> str:
        """Return why the event has no hook here."""
        if self.problems:
            return count(len(self.problems), "config error")
        effective = self.files
        ignored = self._ignored()
        if ignored is not None and not effective:
            return ignored
        also = self.overlooked()
        if not effective:
            root = self._found.repository
            return f"no config file here{f' or up to {root}' if root else ', outside a git repository'}{also}"
        return f"no hook for it in {', '.join(map(relative_path, effective))}{also}"

    def _ignored(self) -> str | None:
        """Return the first error or warning about a file without effect."""
        effective = self.files
        return next((localized(each.text) for each in self._examined.problems if each.path not in effective), None)

    def not_run(self) -> list[NotRun]:
        """Return the hooks here that hookrun does not run."""
        from hookrun.config.not_run import not_run

        return [] if self.config is not None else not_run(self._examined)

    def warn_not_run(self, *, plugins: bool = True) -> None:
        """Warn about them, or those that are no plugin's, with the next command."""
        from hookrun.config.not_run import notice

        if (message := notice([each for each in self.not_run() if plugins or each.hooks])) is not None:
            warn(message)

    def overlooked(self) -> str:
        """Return the ignored file or key and why, as the end of a sentence."""
        ignored = self._ignored()
        if ignored is not None:
            return f"; {ignored}"
        if self.config is not None:
            return ""
        from hookrun.config.config_file import load_file

        found, declared = self._found, self._examined.declarations
        for layer, path, _ in found.files:
            own = layer in ("project", "local") and path not in declared.files
            if own and "hooks" in load_file(path, layer).data:
                return f"; {relative_path(path)} is hidden by the nearer config file in {declared.root}"
        for top in upwards(os.path.dirname(found.repository or self.cwd), "/"):
            for name in (*PROJECT_FILES, LOCAL_FILE):
                path = os.path.join(top, name)
                if os.path.isfile(path) and "hooks" in load_file(path, "project").data:
                    outside = f"outside the repository {found.repository}" if found.repository else "but no .git"
                    return f"; {relative_path(path)} has hooks, {outside}, so it is ignored"
        return ""
