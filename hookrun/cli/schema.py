"""`hookrun schema`: the JSON Schema of declaration files, for editors and other checkers."""

from __future__ import annotations

import json

import click

from hookrun.config.json_schema import schema

EXAMPLES = """\b
Examples:
  hookrun schema > hookrun.schema.json
  then, at the top of coder.json: "$schema": "./hookrun.schema.json"
"""


@click.command(name="schema", epilog=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="On one line; without it, indented.")
def command(*, as_json: bool) -> None:
    """Print the JSON Schema (draft 2020-12) of coder.json and hookrun.yaml."""
    click.echo(json.dumps(schema(), indent=None if as_json else 2))
