"""Public names of the previous release, which moved, work for one more release and warn with the new location."""

from __future__ import annotations

import importlib
import warnings

import pytest

import hookrun
from hookrun import bundles
from hookrun.agents.base import NameMap
from hookrun.observe import ObserverDatabase
from hookrun.observe.error_chains import ErrorChain

NAMES = [
    (old_module, module, name)
    for old_module, new in bundles.MOVED.items()
    for module, names in new.items()
    for name in names.split()
]


def test_a_name_that_moved_is_still_there() -> None:
    """It is the same object, with a warning that names its new place."""
    wrong = []
    for old_module, module, name in NAMES:
        old, _, new = name.partition("=")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = getattr(importlib.import_module(old_module), old, None)
        said = [each.category for each in warned if f"{old_module}.{old} is now {module}.{new or old}" in str(each)]
        if (found, said) != (getattr(importlib.import_module(module), new or old), [DeprecationWarning]):
            wrong.append((old_module, name, found, [str(each.message) for each in warned]))
    assert wrong == []


def test_a_name_is_imported_from_a_module_that_moved() -> None:
    """The warning points at the line that imports it."""
    with pytest.warns(DeprecationWarning, match="is now") as warned:
        from hookrun.observe.chains import Chain  # type: ignore[import-not-found]
    assert Chain is ErrorChain
    assert [each.filename for each in warned] == [__file__]


@pytest.mark.parametrize(
    ("owner", "old", "new"),
    [
        (hookrun.Hook, "where", "location"),
        (hookrun.Handler, "where", "location"),
        (ObserverDatabase, "told", "as_store_errors"),
        (NameMap, "own_arguments", "to_native"),
    ],
)
def test_a_method_has_its_former_name_too(owner: type, old: str, new: str) -> None:
    """Methods of public classes."""
    assert getattr(owner, old) is getattr(owner, new)


@pytest.mark.parametrize("module", bundles.MOVED)
def test_another_name_is_not_there(module: str) -> None:
    """As in any module."""
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
        importlib.import_module(module).Nothing  # noqa: B018  # asking is what is tested


@pytest.mark.parametrize("module", ["hookrun.nothing", "hookrun.observe.nothing"])
def test_another_module_is_not_there(module: str) -> None:
    """As in any package."""
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{module}'"):
        importlib.import_module(module)
