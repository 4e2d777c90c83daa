"""Word errors in a command line. Loaded only where there is one."""

from __future__ import annotations

import re

import click

from hookrun.text import closest, escape, quote


def usage_message(error: click.UsageError) -> str:
    """Return the message for a usage error, with a hint: what was meant, or where the help is."""
    text = _text(error)
    if "\nhint: " in text:
        return text
    path = error.ctx.command_path if error.ctx is not None else "hookrun"
    return f"{text}\nhint: `{path} --help`"


def _text(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        options = [name for each in error.ctx.command.params for name in each.opts] if error.ctx is not None else []
        near = closest(error.option_name, options)
        return f"unknown option `{escape(error.option_name)}`" + (f"\nhint: did you mean `{near}`?" if near else "")
    if isinstance(error, click.BadOptionUsage):
        return f"option `{error.option_name}` needs a value" if "requires" in error.message else _plain(error.message)
    name = _parameter_name(error) if isinstance(error, click.BadParameter) else ""
    if isinstance(error, click.MissingParameter):
        return f"missing {'option' if name.startswith('-') else 'argument'} `{name}`"
    if isinstance(error, click.BadParameter):
        message = error.message
        if isinstance(error.param, click.Parameter) and isinstance(error.param.type, click.Choice):
            value = message.partition("'")[2].partition("' is not one of")[0]
            near = closest(value, map(str, error.param.type.choices))
            message = f"{quote(value)} is not one of {', '.join(map(str, error.param.type.choices))}"
            message += f"\nhint: did you mean `{near}`?" if near else ""
        return f"invalid value for `{name}`: {_plain(message)}" if name else _plain(message)
    message = error.format_message()
    if message.startswith("No such command") and error.ctx is not None and isinstance(error.ctx.command, click.Group):
        given = message.partition("'")[2].partition("'")[0]
        near = closest(given, error.ctx.command.commands)
        return f"unknown command {quote(given)}" + (f"\nhint: did you mean `{near}`?" if near else "")
    return _plain(message)


def _parameter_name(error: click.BadParameter) -> str:
    """Return the option as it is given most often (`--name`), or the argument in capitals."""
    if error.param_hint is not None:
        hint = error.param_hint
        return (hint if isinstance(hint, str) else hint[-1]).strip("'")
    if error.param is None:
        return ""
    longest = max(error.param.opts, key=len)
    return longest if longest.startswith("-") else error.param.human_readable_name


def _plain(message: str) -> str:
    """Return a message in lower case without its full stop: click's own begin like a sentence."""
    message = message.replace("a valid float", "a number").replace("a valid integer", "a whole number")
    message = re.sub(r"'([^'`]*)'", r'"\1"', message.removesuffix("."))
    return message[:1].lower() + message[1:] if message[1:2].islower() else message
