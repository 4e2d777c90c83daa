"""What of a value is kept in a log: JSON whatever it was, no credentials, no more than so many characters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache

from hookrun.credentials import HIDDEN, redact

DEEPEST = 50
"""How deep a value may be nested; what lies below is kept as text."""
LOOKED_AT = 4096
"""Characters past the cut in which a credential is looked for, so that none is cut in two and then not seen."""
MEMBERS = 8
"""How many times `longest` an object with long members may come to."""
SECRETS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
"""Names of values that are credentials as a whole, besides those that `redact` knows."""


class Kept:
    """Makes values fit for a log: at most `longest` characters each, and how many there were; redacted or not."""

    def __init__(self, longest: int, *, redact: bool) -> None:
        self._longest = longest
        self._redact = redact

    def value(self, value: object, name: str = "") -> object:
        """Return what is kept of a value that is called `name`.

        Long strings in it are cut. An object that is too long nevertheless keeps its members as far as each is short;
        what is too long even then is kept as a string, the beginning of its JSON.
        """
        known = self._json(value, name, 0)
        if isinstance(known, dict) and not self._fits(known):
            known = {key: self._cut_json(each) for key, each in known.items()}
            return known if len(_dumps(known)) <= self._longest * MEMBERS else self._cut_json(known)
        return self._cut_json(known)

    def text(self, text: str, name: str = "") -> str:
        """Return what is kept of a string that is called `name`."""
        if self._redact and (name.lower() in SECRETS or (name and _is_secret(name))):
            return HIDDEN
        kept = text[: self._longest + LOOKED_AT]
        if self._redact:
            kept = redact(kept)
        return kept if len(text) <= self._longest else f"{kept[: self._longest]}... ({len(text)} characters)"

    def _fits(self, value: object) -> bool:
        return len(_dumps(value)) <= self._longest

    def _cut_json(self, value: object) -> object:
        if value is None or isinstance(value, (str, bool, float)) or self._fits(value):
            return value
        text = _dumps(value)
        return f"{text[: self._longest]}... ({len(text)} characters of JSON)"

    def _json(self, value: object, name: str, depth: int) -> object:
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if depth < DEEPEST and isinstance(value, Mapping):
            return {str(key): self._json(each, str(key), depth + 1) for key, each in value.items()}
        if depth < DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
            return [self._json(each, name, depth + 1) for each in value]
        return self.text(value if isinstance(value, str) else str(value), name)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    """Tell whether what is called so is a credential."""
    return redact(f"{name}=12345678") != f"{name}=12345678"
