"""The answer to an agent: what its hooks came to, degraded to what its event can say, as the bytes it reads."""

from __future__ import annotations

from hookrun.agents.degrade import degraded, wanted
from hookrun.agents.said import Said, lines
from hookrun.fastjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.agents.agent import Agent
    from hookrun.agents.message import Message

ARGUMENTS = frozenset({"modify", "allow with arguments", "ask with arguments"})
NO_WORDS: frozenset[str] = frozenset()


class Answer:
    """What is said to an agent: `data` is the JSON object, empty for nothing; `degraded` are names of DEGRADATIONS.

    `said` is what of the verdict could be said.
    """

    __slots__ = ("data", "degraded", "said")

    def __init__(self, data: dict[str, object], said: Said, names: list[str]) -> None:
        self.data = data
        self.said = said
        self.degraded = names

    def stdout(self) -> bytes:
        """Return the bytes for stdout: nothing, or one line of JSON in ASCII."""
        return (dumps(whole_texts(self.data)) + "\n").encode("ascii") if self.data else b""


def answer(
    agent: Agent,
    message: Message,
    saids: Sequence[Said],
    notice: Callable[[list[str]], str | None] = lambda _names: None,
) -> Answer:
    """Return what is said to an agent that sent this message, of which the calls came to these, in order.

    `notice` is given the names of the degradations and returns what the person is to be told of them: it is only asked
    where the person can be told.
    """
    together, own = as_one(message, saids)
    form = agent.FORMS.get(message.native)
    able = form.able if form is not None else NO_WORDS
    said, names = degraded(together, able if own else able - ARGUMENTS, message.event, message.tool)
    if form is None:
        return Answer({}, said, names)
    names += form.at_a_cost(said, message)
    if names and "person" in able and (text := notice(names)):
        said.person = lines(said.person, text)
    return Answer(form.say(said, message), said, names)


def as_one(message: Message, saids: Sequence[Said]) -> tuple[Said, bool]:
    """Return the one that all come to, its arguments by the agent's names, and whether the tool can be given those."""
    together = Said()
    for said in saids:
        together = together.and_then(said)
    changed = [said.args for said in saids]
    if together.args is None:
        return together, True
    own = message.own(changed)
    if own is not None:
        together.args = own
        return together, True
    if len([args for args in changed if args is not None]) > 1:
        each = [wanted(message.tool, args) for args in changed if args is not None]
        together.context = lines(together.context, *each[:-1])
    return together, False


def whole_texts(value: object) -> object:
    """Return a JSON value whose texts have no half characters (lone surrogates): some parsers refuse all of it."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, dict):
        return {str(whole_texts(key)): whole_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [whole_texts(each) for each in value]
    return value
