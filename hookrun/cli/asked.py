"""What `explain` and `bench` are asked about: an event, its context from a file or from words, an agent's message."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun import context as contexts
from hookrun.agents.base import Message, UnreadableMessageError, message_from_context, native_event
from hookrun.cli.wiring import agents
from hookrun.config.diagnostics import quote
from hookrun.config.schema import CONTEXT_FIELDS
from hookrun.events import UnknownEventError, resolve_event
from hookrun.foresee import Known
from hookrun.model import file_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.agents.types import Agent

Function = TypeVar("Function", bound="Callable[..., None]")

CANONICAL = frozenset(CONTEXT_FIELDS)
ONLY_CANONICAL = frozenset({"tool_args", "event", "user_prompt", "assistant_response", "tool_result_output"})
"""Fields by which a context in hookrun's own form is known, whatever else is in it."""
BY_AGENT = frozenset({"agent", "agent_event", "agent_tool_name"})


class Asked:
    """One question: `event` by hookrun's name, and the contexts to answer it for; `agent` and `message` if one asks.

    `fields` are the contexts as they are given, one for each call that the message is about; `known` is what is known
    of them. `notes` are doubts about what was given.
    """

    def __init__(self, event: str, agent: Agent | None) -> None:
        self.event = event
        self.agent = agent
        self.message: Message | None = None
        self.fields: list[dict[str, object]] = [{}]
        self.known = Known(only=frozenset({"event", "version"}))
        self.notes: list[str] = []

    @property
    def directory(self) -> str | None:
        """Where the agent's message says that the project is, None where it says nothing that is there."""
        roots = self.message.roots if self.message is not None else ()
        return next((root for root in roots if os.path.isabs(root) and os.path.isdir(root)), None)


def context_options(function: Function) -> Function:
    """Add the options that say what a context is."""
    for add in (
        click.option("--arg", "args", multiple=True, metavar="K=V", help="One of its arguments; K:=V for V as JSON."),
        click.option("--tool", metavar="NAME", help="The tool that is called."),
        click.option("--ctx", "source", metavar="FILE", help="The context as JSON; - is stdin."),
    ):
        function = add(function)
    return function


def agent_named(name: str | None) -> Agent | None:
    """Return the agent of this name, None for none. Raises click.ClickException for one that is unknown."""
    return agents([name])[0] if name is not None else None


def canonical_event(given: str, own: Sequence[str], agent: Agent | None = None) -> str:
    """Return hookrun's name of an event. Raises click.ClickException, with the nearest, for one that is unknown."""
    try:
        return resolve_event(given, own, agent.EVENTS if agent is not None else None)
    except UnknownEventError as error:
        raise click.ClickException(str(error)) from None


def asked(event: str, agent: Agent | None, ctx: str | None, tool: str | None, args: Sequence[str]) -> Asked:
    """Return the question that the options make. Raises click.ClickException for what they cannot say."""
    question = Asked(event, agent)
    if ctx is not None and (tool is not None or args):
        raise click.UsageError("--ctx holds the whole context: leave --tool and --arg out")
    if ctx is not None:
        _take_context(question, ctx)
    else:
        _take_words(question, tool, args)
    return question


def _take_context(question: Asked, source: str) -> None:
    where = "stdin" if source == "-" else source
    try:
        data = contexts.from_stdin(float("inf")) if source == "-" else contexts.from_file(source, float("inf"))
        agent = question.agent
        if agent is not None and not _is_canonical(data):
            _take_message(question, agent.read(data, native_event(agent, question.event)), where)
            return
        contexts.check(data, where)
    except (contexts.ContextError, UnreadableMessageError) as error:
        raise click.ClickException(str(error)) from None
    question.notes += contexts.suspicious_fields(data, question.event)
    question.known = Known(but=BY_AGENT - set(data))
    question.fields = [data]
    if agent is not None:
        _of_agent(question, agent)


def _is_canonical(data: dict[str, object]) -> bool:
    return not ONLY_CANONICAL.isdisjoint(data) or CANONICAL.issuperset(data)


def _take_message(question: Asked, message: Message, where: str) -> None:
    calls = [call.fields for call in message.calls if (call.event or message.native) == question.event]
    if not calls:
        has = ", ".join(dict.fromkeys(call.event or message.native for call in message.calls))
        found = f"the message is one of {has}" if has else f"the message ({message.native}) is one that fires nothing"
        raise click.ClickException(f"{where}: {found}, expected {question.event}")
    question.message, question.fields, question.known = message, calls, Known()


def _of_agent(question: Asked, agent: Agent) -> None:
    """Make of a context in hookrun's names what it is when the agent fires it."""
    question.message = message_from_context(agent, question.event, question.fields[0])
    question.fields = [call.fields for call in question.message.calls]


def _take_words(question: Asked, tool: str | None, args: Sequence[str]) -> None:
    fields: dict[str, object] = {}
    known = {"event", "version"}
    if tool is not None:
        fields["tool_name"] = tool
        known.add("tool_name")
    if args:
        fields["tool_args"] = dict(map(_argument, args))
        known |= {"tool_args", "file_path"}
        fields["file_path"] = file_path({"working_dir": os.getcwd(), **fields})
    question.fields = [fields]
    if question.agent is not None:
        known |= BY_AGENT
        _of_agent(question, question.agent)
    question.known = Known(only=frozenset(known))


def _argument(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        found = f"--arg {quote(text)}"
        raise click.UsageError(f'found {found}, expected NAME=TEXT or NAME:=JSON, such as --arg "command=git push"')
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value)
    except ValueError as error:
        raise click.UsageError(f"--arg {quote(text)}: what stands after := is not JSON ({error})") from None


def somebody_can_answer() -> bool:
    """Tell whether a question would be seen and answered."""
    return sys.stdin.isatty() and sys.stdout.isatty()
