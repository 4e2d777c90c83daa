"""The one table of everything that can stand in a file of cases: the file's fields, a case's, an expectation's."""

from __future__ import annotations

from hookrun.agents import AGENTS
from hookrun.config.fields import EVENT, HOOK_FIELDS, NOT_BLANK, PATH, WORD, names
from hookrun.config.shapes import Anything, Choice, Field, Many, Table, Text
from hookrun.model import FAILURES, PRECEDENCE

NAME = Text("a name on one line", r"[^\u0000-\u001f\u007f]*[^\u0000-\u0020\u007f][^\u0000-\u001f\u007f]*")
HOOK = Text("the name of a hook", NAME.pattern)
ACTION = Text("an action", "|".join(PRECEDENCE), known=tuple(PRECEDENCE))
AGENT = Text("an agent: " + ", ".join(AGENTS), "|".join(AGENTS), known=tuple(AGENTS))

EXPECT_FIELDS = (
    Field(
        "action",
        Many(ACTION, "an action or a list of different actions", alone=ACTION, unique=True),
        "What all hooks together come to: one action, or those of which one is right.",
    ),
    Field("message", WORD, "A glob on the message; null: there is none."),
    Field("additional_context", WORD, "A glob on the text for the model; null: there is none."),
    Field("system_message", WORD, "A glob on the text for the person; null: there is none."),
    Field("args", Anything(), "The tool's arguments after the chain, all of them."),
    Field("failure", Choice(tuple(FAILURES)), "How a hook that ran failed; null, as by default: none failed."),
    Field(
        "fired",
        Many(HOOK, "a list of hooks, true or false", least=0),
        "The hooks that ran, in order; true: at least one did; false: none did.",
    ),
    Field(
        "files",
        Table(PATH, Text("a glob"), "an object of path and glob"),
        "Files in the case's own directory afterwards: a glob on what one holds; null: it is not there.",
    ),
)
"""What can be expected of a case."""

NULLABLE = frozenset({"message", "additional_context", "system_message", "failure"})
"""Expectations that may be null: that there is none."""

CASE_FIELDS = (
    Field("name", NAME, "What the case is called; unique in its file."),
    Field("event", EVENT, "The event that is fired, by any of its names."),
    Field(
        "hook",
        Many(HOOK, "the name of a hook or a list of them", alone=HOOK, unique=True),
        "Only these hooks; without it the whole chain.",
    ),
    Field("tool", WORD, "The context's `tool_name`."),
    Field("args", Anything(), "The context's `tool_args`."),
    Field("context", Anything(), "Other fields of the context."),
    Field("context_file", PATH, "A JSON file with a context, relative to the file of cases."),
    Field(
        "agents",
        Many(AGENT, "an agent or a list of different agents", alone=AGENT, unique=True),
        "Run once as each of these agents would have it.",
    ),
    Field("env", names(HOOK_FIELDS)["env"].shape, "Variables in the environment of the hooks."),
    Field(
        "files",
        Table(PATH, Text("text"), "an object of path and text"),
        "Files in the case's own temporary working directory.",
    ),
    Field("setup", Text("a shell command line", NOT_BLANK), "Run by /bin/sh in that directory before the event."),
    Field("workdir", Choice(("temporary",)), "A temporary working directory, also without files."),
    Field("expect", Anything(), "What has to come of it."),
)
"""What a case may say."""

FILE_FIELDS = (
    Field("config", PATH, "The declaration file, relative to this one."),
    Field("defaults", Anything(), "Fields for every case that does not have them itself."),
    Field("cases", Anything(), "The cases."),
)
"""What stands at the top of a file of cases."""

NOT_IN_DEFAULTS = frozenset({"name", "expect"})
"""Fields that are each case's own."""

LAID_OVER = frozenset({"context", "env", "files"})
"""Objects of a case that are laid over those of the defaults, key by key."""
