"""The hook runner that most people would write in an afternoon: what hookrun is measured against."""

from __future__ import annotations

import asyncio
import fnmatch
import sys
from pathlib import Path
from typing import Any

import click
import orjson  # type: ignore[import-not-found, unused-ignore]
import yaml


async def run_hook(command: str, context: bytes, seconds: float) -> dict[str, Any]:
    """Run one hook and return the verdict that it prints."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_shell(command, stdin=pipe, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(seconds):
        stdout, stderr = await process.communicate(context)
    if process.returncode:
        return {"action": "block", "message": stderr.decode()}
    verdict: dict[str, Any] = orjson.loads(stdout)
    return verdict


async def run_hooks(hooks: list[dict[str, Any]], context: dict[str, Any]) -> dict[str, Any]:
    """Run the hooks that match one after another, until one blocks."""
    verdict: dict[str, Any] = {"action": "continue"}
    for hook in hooks:
        tool = context.get("tool_name") or ""
        if hook["event"] == context["event"] and fnmatch.fnmatch(tool, hook.get("matcher", "*")):
            verdict = await run_hook(hook["command"], orjson.dumps(context), hook.get("timeout", 30))
            if verdict["action"] == "block":
                break
            context["tool_args"] = verdict.get("modified_args") or context["tool_args"]
    return verdict


@click.command()
@click.argument("event")
@click.option("--ctx", type=click.Path(path_type=Path), required=True)
@click.option("--config", type=click.Path(path_type=Path), required=True)
def main(event: str, ctx: Path, config: Path) -> None:
    """Fire EVENT."""
    declared = yaml.safe_load(config.read_text()) if config.suffix != ".json" else orjson.loads(config.read_bytes())
    context = orjson.loads(ctx.read_bytes()) | {"event": event}
    verdict = asyncio.run(run_hooks(declared["hooks"], context))
    click.echo(orjson.dumps(verdict))
    sys.exit(2 if verdict["action"] == "block" else 0)


if __name__ == "__main__":
    main()
