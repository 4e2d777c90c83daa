# Tests that leave their process or their account changed; tests/test_isolation.py runs them.

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

from tests.isolation import Account


def test_directory() -> None:
    os.chdir("/")


def test_umask() -> None:
    os.umask(0)


def test_handlers() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_environment() -> None:
    os.environ["LEFT"] = "1"


def test_what_the_others_left_is_gone() -> None:
    assert Path.cwd() != Path("/")
    assert os.umask(0o022) == 0o022
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    assert "LEFT" not in os.environ


def test_the_account_is_not_seen() -> None:
    assert not {"FORCE_COLOR", "HTTP_PROXY", "CLAUDE_PROJECT_DIR", "HOOKRUN_CHAIN"} & set(os.environ)
    assert Path(os.environ["GIT_CONFIG_GLOBAL"]).read_text() == ""
    assert Path("~").expanduser() != Account.home


def test_log(tmp_path: Path) -> None:
    log = Account.home / ".local/state/hookrun/audit.jsonl"
    log.write_text(log.read_text() + f'{{"cwd": "{tmp_path}"}}\n')


def test_log_of_another_run() -> None:
    (Account.home / ".config/hookrun/hooks.json").write_text('{"hooks": []}')


def test_link(tmp_path: Path) -> None:
    (Account.temporary / "left").symlink_to(tmp_path)


def test_own_folder() -> None:
    Path(tempfile.mkdtemp()).joinpath("file").touch()
