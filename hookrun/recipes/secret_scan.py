"""The recipe `secret-scan`: finds credentials in prompts, tool arguments and tool output."""

from __future__ import annotations

from hookrun.core.globs import glob
from hookrun.recipes.recipe import Option, Recipe, one_of, option, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What is done with a credential.
SCANS = ("block", "tell", "off")

RECIPE = Recipe(
    "secret-scan",
    "Scan prompts, tool arguments and tool output for credentials.",
    options=(
        Option(
            "prompt",
            "block",
            "A credential in a prompt: `block`, `tell` (notify you only) or `off`.",
            choices=SCANS,
        ),
        Option("arguments", "block", "The same for tool arguments.", choices=SCANS),
        Option(
            "output",
            "redact",
            "The same for tool output: `redact` replaces it by `[redacted]`, `block` tells the model not to repeat it.",
            choices=("redact", *SCANS),
        ),
        Option("places", "no", "With `yes`, also detect `PASSWORD=...` and `user:...@host`.", yes),
        Option("allow", "", "Globs of credentials to ignore, such as those of a test account."),
    ),
    catches="""
        - Keys and tokens by their form: Anthropic and others with `sk-`, AWS, Azure, Databricks, DigitalOcean, GitHub,
          GitLab, Google, Hugging Face, Linear, npm, PyPI, SendGrid, Shopify, Slack, Stripe, Telegram, Vault, webhooks
          of Slack and Discord, private keys, signed tokens (JWT).
        - Blocks a prompt that contains one before the model gets it, and a call of any tool that contains one.
        - If tool output contains one, the model gets `[redacted]` in its place, and tells you to replace it.
    """,
    misses="""
        - Where the agent cannot change a tool's output (see the tables of agents; of a tool that fails, few can), the
          model gets it. Use `protect-files` to keep files from being read.
        - Passwords and keys without a form of their own (except with `places`), encoded or truncated ones, and those in
          files that a command names.
        - Placeholders: `EXAMPLE`, `your-key`, `xxxx`, one character repeated.
        - Text that `edit` replaces (`old_string`), so that a credential can be removed from a file.
    """,
)

# What it scans -> the fields of the context.
SCANNED = {
    "prompt": ("user_prompt",),
    "arguments": ("tool_args",),
    "output": ("tool_result_output", "tool_result_error"),
}
# Arguments whose text is removed from a file.
REMOVED_TEXT = frozenset({"old_string", "old_str"})

# Characters.
MAX_SCANNED = 4 << 20

MESSAGES = {
    "arguments": "This call contains {what}. Use an environment variable or a file that is not committed instead.",
    "prompt": "The prompt contains {what} and was not sent. Remove it, and replace the credential if others saw it.",
    "output": "The output contains {what}. Do not repeat, store or use it; tell the user to replace it.",
    "redact": "The output contained {what}. Read `[redacted]` in its place, and tell the user to replace it.",
}


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether a scanned text may hold a credential. False is certain."""
    source = _source(context)
    action, by_place = one_of(RECIPE, source), yes(RECIPE, "places")
    if action == "off":
        return False
    from hookrun.core.credentials import may_hold_secret

    return by_place or any(may_hold_secret(text) for text in _texts(context, source))


@RECIPE.hook(
    ["post_tool_use", "post_tool_failure"],
    "Redact credentials in tool output",
    name="secret-scan-output",
    timeout=10,
    on_failure="continue",
    concerns=concerns,
)
@RECIPE.hook(
    "user_prompt_submit",
    "Block prompts that contain a credential",
    name="secret-scan-prompt",
    timeout=10,
    on_failure="block",
    concerns=concerns,
)
@RECIPE.hook(
    "pre_tool_use",
    "Block tool calls whose arguments contain a credential",
    priority=30,
    timeout=10,
    on_failure="block",
    concerns=concerns,
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the verdict on an event that contains a credential, None for any other."""
    source = _source(context)
    action = one_of(RECIPE, source)
    if action == "off":
        return None
    from hookrun.core.credentials import HIDDEN, find_secrets

    allowed = option(RECIPE, "allow").split()
    by_place = yes(RECIPE, "places")
    found: dict[str, str] = {}
    for text in _texts(context, source):
        for each in find_secrets(text[:MAX_SCANNED], by_place=by_place):
            if not any(glob(pattern, each.value) for pattern in allowed):
                found[each.value] = each.shown
    if not found:
        return None
    message = MESSAGES.get(action, MESSAGES[source]).format(what=" and ".join(dict.fromkeys(found.values())))
    if action == "redact":
        failed = context["event"] == "post_tool_failure"
        output = str(context.get("tool_result_error" if failed else "tool_result_output") or "")
        for value in sorted(found, key=len, reverse=True):
            output = output.replace(value, HIDDEN)
        return {"action": "modify", "modified_output": output, "message": message}
    if action == "tell":
        return {"action": "continue", "system_message": f"secret-scan: {message}"}
    return {"action": "block", "message": message}


def _source(context: Mapping[str, object]) -> str:
    """Return what is scanned at an event, also the name of its option."""
    return {"user_prompt_submit": "prompt", "pre_tool_use": "arguments"}.get(str(context.get("event")), "output")


def _texts(context: Mapping[str, object], source: str) -> Iterator[str]:
    """Yield every string to scan, with objects' keys, except text that an edit removes."""
    waiting = [context.get(name) for name in reversed(SCANNED[source])]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            yield from (name for name in each if isinstance(name, str))
            waiting.extend(inner for name, inner in each.items() if name not in REMOVED_TEXT)
