"""Edits of JSON and YAML documents by spans; each result is checked against the expected data."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Self

from hookrun.config.parse import KeyPath, ParseError


class EditError(Exception):
    """A document cannot be edited: a YAML alias, for example, would change another place too."""

    def __init__(self, message: str = "it cannot be edited in place (a YAML alias?); change it by hand") -> None:
        super().__init__(message)


class SpanEditor(ABC):
    """One document. Every edit returns a new one and leaves this one unchanged; a blank text is an empty object.

    All edits raise EditError where the edited text would not hold exactly the data that is meant.
    """

    def __init__(self, text: str, data: object) -> None:
        self.text = text
        self.data = data
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def at(self, path: KeyPath) -> object:
        """Return the value at a path, None if there is none."""
        try:
            return _walk(self.data, path)
        except (KeyError, IndexError, TypeError):  # TypeError: a key in a list, an index in an object or a number
            return None

    def add(self, path: KeyPath, value: object, key: str | None = None) -> Self:
        """Append a value to the list at `path`, or a member `key` to the object there."""
        expected = copy.deepcopy(self.data)
        container = _walk(expected, path)
        if key is None and isinstance(container, list):
            container.append(copy.deepcopy(value))
        elif key is not None and isinstance(container, dict):
            container[key] = copy.deepcopy(value)
        else:
            raise EditError
        return self._checked(self._with_item(path, value, key), expected)

    def set(self, path: KeyPath, value: object) -> Self:
        """Replace the value at `path`."""
        expected = copy.deepcopy(self.data)
        _walk(expected, path[:-1])[path[-1]] = copy.deepcopy(value)
        return self._checked(self._with_value(path, value), expected)

    def put(self, path: KeyPath, value: object) -> Self:
        """Replace the value at `path`, or add it where its last step is a new key, or the length of a list."""
        if self._has(path):
            return self.set(path, value)
        step = path[-1]
        return self.add(path[:-1], value, step if isinstance(step, str) else None)

    def remove(self, path: KeyPath) -> Self:
        """Remove the item at `path` from its list or object."""
        expected = copy.deepcopy(self.data)
        del _walk(expected, path[:-1])[path[-1]]
        for text in self._without(path):
            try:
                return self._checked(text, expected)
            except EditError:
                continue
        raise EditError

    def _checked(self, text: str, expected: object) -> Self:
        try:
            edited = self._parsed(text)
        except ParseError:
            raise EditError from None
        if edited.data != expected:
            raise EditError
        return edited

    @abstractmethod
    def _parsed(self, text: str) -> Self:
        """Return the editor of another text in the same format. Raises ParseError."""

    @abstractmethod
    def _has(self, path: KeyPath) -> bool:
        """Return whether the value at `path` is written there, not merged in from elsewhere. Raises EditError."""

    @abstractmethod
    def _with_item(self, path: KeyPath, value: object, key: str | None) -> str:
        """Return the text with one more item in the container at `path`."""

    @abstractmethod
    def _with_value(self, path: KeyPath, value: object) -> str:
        """Return the text with another value at `path`."""

    @abstractmethod
    def _without(self, path: KeyPath) -> Iterator[str]:
        """Yield the ways to write the text without the item at `path`, the best first."""


def _walk(data: object, path: KeyPath) -> dict[str | int, object]:
    for step in path:
        data = data[step]  # type: ignore[index]  # what cannot be indexed raises TypeError
    return data  # type: ignore[return-value]  # a list or an object: both are indexed and deleted from alike
