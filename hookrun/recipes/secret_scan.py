"""The recipe `secret-scan`: finds credentials in prompts, in the arguments of tools and in their output."""

from __future__ import annotations

from hookrun.globs import glob
from hookrun.recipes.recipe import Option, Recipe, choice_of, one_of, option, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACTIONS = ("block", "tell", "off")

TARGET = "hookrun.recipes.secret_scan:check"

RECIPE = Recipe(
    "secret-scan",
    "Looks for credentials in prompts, in the arguments of tools and in their output.",
    options=(
        Option(
            "prompt",
            "block",
            "What a credential in a prompt means: `block`, `tell` (only the person) or `off`.",
            choice_of(*ACTIONS),
        ),
        Option("arguments", "block", "The same for the arguments of a tool.", choice_of(*ACTIONS)),
        Option(
            "output",
            "block",
            "The same for what a tool has given; `block` tells the model not to repeat it.",
            choice_of(*ACTIONS),
        ),
        Option(
            "places", "no", "With `yes` also what its name or place gives away: `PASSWORD=...`, `user:...@host`.", yes
        ),
        Option("allow", "", "Globs of credentials that may be there, such as those of a test account."),
    ),
    catches="""
        - Keys and tokens by their form: Anthropic and others with `sk-`, AWS, Azure, Databricks, DigitalOcean, GitHub,
          GitLab, Google, Hugging Face, Linear, npm, PyPI, SendGrid, Shopify, Slack, Stripe, Telegram, Vault, webhooks
          of Slack and Discord, private keys, signed tokens (JWT).
        - A prompt that holds one: the model does not get it. A call of any tool that holds one: it is not made.
        - Output that holds one: the model is told not to repeat it, and you that it should be replaced.
    """,
    misses="""
        - Output that holds one has reached the model by then: hooks come after the tool. `protect-files` keeps the
          files from being read.
        - Passwords and keys without a form of their own (those of `places` excepted), encoded or cut ones, and those in
          files that a command names.
        - What looks like a placeholder: `EXAMPLE`, `your-key`, `xxxx`, the same character again and again.
        - What `edit` replaces (`old_string`), so that a credential can be taken out of a file.
    """,
)

SOURCES = {"user_prompt_submit": "prompt", "pre_tool_use": "arguments"}
"""Event -> what is scanned, which is also the name of the option; for other events it is the output."""

REMOVED_TEXT = frozenset({"old_string", "old_str"})
"""Arguments whose text is removed from a file."""

MAX_SCANNED = 4 << 20
"""Characters."""

MESSAGES = {
    "arguments": "This call holds {what}. Use a variable of the environment, or a file that is not committed, instead.",
    "prompt": "The prompt holds {what}. It was not sent; take it out, and replace the credential if others saw it.",
    "output": "The output holds {what}. Do not repeat it, write it anywhere or use it; tell the person to replace it.",
}


@RECIPE.hook(
    "post_tool_use",
    "Tells the model not to repeat a credential that a tool has shown",
    name="secret-scan-output",
    timeout=10,
    on_failure="continue",
)
@RECIPE.hook(
    "user_prompt_submit",
    "Keeps prompts that hold a credential from the model",
    name="secret-scan-prompt",
    timeout=10,
    on_failure="block",
)
@RECIPE.hook(
    "pre_tool_use", "Blocks tool calls whose arguments hold a credential", priority=30, timeout=10, on_failure="block"
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the answer for an event that holds a credential, None for any other."""
    source = SOURCES.get(str(context.get("event")), "output")
    action = one_of(RECIPE, source, ACTIONS)
    if action == "off":
        return None
    from hookrun.credentials import find_secrets

    allowed = option(RECIPE, "allow").split()
    by_place = yes(RECIPE, "places")
    found: dict[str, None] = {}
    for text in _texts(context, source):
        for each in find_secrets(text[:MAX_SCANNED], by_place=by_place):
            if not any(glob(pattern, each.value) for pattern in allowed):
                found[each.shown] = None
    if not found:
        return None
    message = MESSAGES[source].format(what=" and ".join(found))
    if action == "tell":
        return {"action": "continue", "system_message": f"secret-scan: {message}"}
    return {"action": "block", "message": message}


def _texts(context: Mapping[str, object], source: str) -> Iterator[str]:
    if source == "prompt":
        yield from _strings(context.get("user_prompt"))
    elif source == "arguments":
        yield from _strings(context.get("tool_args"))
    else:
        yield from _strings(context.get("tool_result_output"))
        yield from _strings(context.get("tool_result_error"))


def _strings(value: object) -> Iterator[str]:
    """Yield every string in a value, also the names in objects, except text that is removed."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            yield from (name for name in each if isinstance(name, str))
            waiting.extend(inner for name, inner in each.items() if name not in REMOVED_TEXT)
