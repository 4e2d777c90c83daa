"""Writes down what a person decides about hooks of a project: the one place where commands change the store."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hookrun.trust import snapshots
from hookrun.trust.digest import place
from hookrun.trust.store import StoreError
from hookrun.trust.store_writer import locked_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.cli.project import Project, ProjectHook
    from hookrun.trust.snapshots import Texts
    from hookrun.trust.store import Refused, Store


@contextmanager
def changing(home: str, owners: list[int]) -> Iterator[Store]:
    """Give the store to be changed. Raises click.ClickException where it cannot be believed or written."""
    try:
        with locked_store(home, owners) as store:
            yield store
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        found = f"{error.filename or 'the store'}: it cannot be written ({error.strerror})"
        raise click.ClickException(f"{found}; nothing was decided: make room, or correct its permissions") from None


def approve(project: Project, found: ProjectHook, texts: Texts) -> None:
    """Approve a hook as it was found; `texts` is what the person was shown."""
    with changing(project.home, project.owners) as store:
        _lift(store, project, found)
        store.approved[found.digest] = {
            "name": found.hook.name,
            "source": place(found.hook.source, project.root, project.home),
            "root": project.root,
            "time": time.time(),
        }
    snapshots.keep(project.home, found.digest, texts)


def deny(project: Project, found: ProjectHook) -> None:
    """Decide that a hook never runs."""
    with changing(project.home, project.owners) as store:
        _lift(store, project, found)
        store.approved.pop(found.digest, None)
        store.denied.append(_refused(project, found))


def disable(project: Project, found: ProjectHook) -> None:
    """Switch a hook off, whatever else is decided about it."""
    with changing(project.home, project.owners) as store:
        store.disabled = [each for each in store.disabled if not is_about(each, project, found)]
        store.disabled.append(_refused(project, found))


def enable(project: Project, found: ProjectHook) -> bool:
    """Take back that a hook is disabled or denied; tell whether it was."""
    with changing(project.home, project.owners) as store:
        before = len(store.denied) + len(store.disabled)
        _lift(store, project, found)
        return before != len(store.denied) + len(store.disabled)


def forget(home: str, owners: list[int], *, digests: set[str], roots: set[str]) -> int:
    """Forget what is decided about these digests, and about the projects at these roots; return how much that was."""
    with changing(home, owners) as store:
        before = len(store.approved) + len(store.denied) + len(store.disabled)
        store.approved = {
            digest: each
            for digest, each in store.approved.items()
            if digest not in digests and os.path.realpath(each["root"]) not in roots
        }
        store.denied = [each for each in store.denied if not _is_meant(each, digests, roots)]
        store.disabled = [each for each in store.disabled if not _is_meant(each, digests, roots)]
        return before - len(store.approved) - len(store.denied) - len(store.disabled)


def _is_meant(each: Refused, digests: set[str], roots: set[str]) -> bool:
    return each["digest"] in digests or os.path.realpath(each["root"]) in roots


def is_about(each: Refused, project: Project, found: ProjectHook) -> bool:
    """Tell whether an entry is about this hook: by its name in this project, by its digest wherever it is."""
    here = each["name"] == found.hook.name and os.path.realpath(each["root"]) == os.path.realpath(project.root)
    return here or (found.digest != "" and each["digest"] == found.digest)


def _lift(store: Store, project: Project, found: ProjectHook) -> None:
    store.denied = [each for each in store.denied if not is_about(each, project, found)]
    store.disabled = [each for each in store.disabled if not is_about(each, project, found)]


def _refused(project: Project, found: ProjectHook) -> Refused:
    return {"name": found.hook.name, "root": project.root, "digest": found.digest, "time": time.time()}
