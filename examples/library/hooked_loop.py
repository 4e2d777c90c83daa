"""Your own loop: `@hooked` on each tool. Run it: python hooked_loop.py"""

from collections.abc import Callable

from hookrun import Abort, Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.hooked import hooked

engine = Engine()


@engine.on(PreToolUse, matcher="send_mail")
def only_us(ctx: PreToolUse) -> Verdict | None:
    return None if ctx.tool_args["to"].endswith("@example.com") else Verdict.block("Mail to others is not sent.")


@hooked(engine, session_id="s1")
def send_mail(to: str) -> str:
    return f"sent to {to}"


TOOLS: dict[str, Callable[..., str]] = {"send_mail": send_mail}

if __name__ == "__main__":
    for name, args in [("send_mail", {"to": "ann@example.com"}), ("send_mail", {"to": "eve@example.org"})]:
        try:
            print(TOOLS[name](**args))  # in a real loop, the model names the tool and its arguments
        except Abort as refusal:
            print(refusal.reason)
