"""A LangChain agent with hooks. Run it: python langchain_agent.py

Needs `pip install "hookrun[langchain]"`. The model is LangChain's fake one, which says what a list says, so that it
runs anywhere: put a real one in its place, `create_agent("openai:...", ...)`.
"""

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from hookrun import Engine, Verdict
from hookrun.agents.base import NameMap
from hookrun.events import PreToolUse
from hookrun.integrations.langchain import HookrunMiddleware

engine = Engine()


@engine.on("pre_tool_use", matcher="bash")
def no_sudo(ctx: PreToolUse) -> Verdict | None:
    return Verdict.block("No sudo here.") if "sudo" in ctx.tool_args["command"] else None


@engine.on("pre_tool_use", matcher="mail_*")
def only_us(ctx: PreToolUse) -> Verdict | None:
    if ctx.tool_args["to"].endswith("@example.com"):
        return None
    return Verdict.patch({"to": "outbox@example.com"}, "Mail to others goes to the outbox; a person sends it.")


@tool
def run_shell(cmd: str) -> str:
    """Run a shell command."""
    return f"(would run {cmd})"


@tool
def mail_send(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent to {to}: {text}"


class FakeModel(GenericFakeChatModel):
    def bind_tools(self, *_: object, **__: object) -> "FakeModel":  # a real model gets the tools here
        return self


def call(name: str, **args: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{name}"}])


def main() -> None:
    script = [
        call("run_shell", cmd="sudo rm -r /srv"),
        call("mail_send", to="press@example.org", text="All well."),
        AIMessage("Done."),
    ]
    # The same hooks guard other agents' shells: they know it as `bash` with a `command`.
    names = NameMap({"run_shell": "bash"}, {"run_shell": {"cmd": "command"}})
    hooks = HookrunMiddleware(engine, names=names)
    agent = create_agent(FakeModel(messages=iter(script)), [run_shell, mail_send], middleware=[hooks])
    for message in agent.invoke({"messages": [HumanMessage("Tidy up, and tell the press.")]})["messages"]:
        print(f"{message.type:>5}: {message.text or message.tool_calls}")


if __name__ == "__main__":
    main()
