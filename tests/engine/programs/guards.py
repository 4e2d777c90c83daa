import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookrun import Abort, Skip, Verdict as Checked

Verdict: Any = Checked


class Reason(enum.Enum):
    NO = "no way"


class Mute:
    def __str__(self) -> str:
        raise ZeroDivisionError


def returns(make: Callable[[], object]) -> Callable[[object], object]:
    return lambda _: make()


def block(**fields: object) -> Callable[[object], object]:
    return lambda _: {"action": "block", "message": "no way", **fields}


circle: dict[str, object] = {}
circle["circle"] = circle

exception_as_message = returns(lambda: Verdict.block(ValueError("no way")))
number_as_message = block(message=5)
enum_as_message = block(action="skip", message=Reason.NO)
path_as_message = returns(lambda: Verdict.stop(Path("/no way")))
mute_message = returns(lambda: Verdict.block(Mute()))
list_as_args = block(modified_args=[])
set_as_context = returns(lambda: Verdict("block", "no way", modified_context={"a": {1, 2}}))
circular_context = block(modified_context=circle)
odd_keys = block(modified_context={(1, 2): 3})
nan = block(action="stop", modified_context={"a": float("nan")})
ask_with_set = returns(lambda: Verdict("ask", "no way", modified_args={"a": {1}}))
unknown_action = returns(lambda: Verdict("blok", "no way"))
unknown_method = returns(lambda: Verdict.blck("no way"))
unknown_keyword = returns(lambda: Verdict.block(mesage="no way"))


def raised_from(_: object) -> object:
    try:
        return Verdict("blok")
    except ValueError as error:
        raise RuntimeError("no way") from error


def aborts(_: object) -> object:
    raise Abort("no way")


def skips(_: object) -> object:
    raise Skip("no way")


async def later(_: object) -> object:
    return Verdict("deny", "no way")
