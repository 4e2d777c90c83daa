"""The hooks in examples/ as a newcomer meets them: real processes with real contexts, repositories and files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from tests.rows import rows
from tests.waiting import limit

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / "examples" / "hooks"
CONTEXTS = ROOT / "examples" / "contexts"
FIELDS = {
    "session_id",
    "event",
    "tool_name",
    "tool_args",
    "tool_result_output",
    "tool_result_error",
    "user_prompt",
    "assistant_response",
    "root_session_id",
    "file_path",
    "working_dir",
}
BLOCK = "block_destructive.py"
PROTECT = "protect_files.mjs"
TOOL = "use_project_tool.pl"
TICKET = "ticket_context.sh"


def needs(program: str) -> pytest.MarkDecorator:
    """Skip where `program` is not installed."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def has_json_pp() -> bool:
    """Return whether Perl is installed with its JSON module, which some distributions package separately."""
    perl = shutil.which("perl")
    if perl is None:
        return False
    return subprocess.run([perl, "-MJSON::PP", "-e", "1"], capture_output=True, check=False).returncode == 0


RUFF = shutil.which("ruff", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
needs_node = needs("node")
needs_git = needs("git")
needs_perl = pytest.mark.skipif(not has_json_pp(), reason="perl with JSON::PP is not installed")
needs_cc = needs("cc")


def run(
    program: str | Path,
    stdin: str | bytes,
    *,
    cwd: Path,
    env: dict[str, str] | None = None,
    interpreter: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a hook (by its name in examples/hooks, or by path) with `stdin` and, over the usual environment, `env`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HOOKRUN_", "GIT_"))}
    return subprocess.run(
        [*([interpreter] if interpreter else []), HOOKS / program],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        cwd=cwd,
        env=inherited | (env or {}),
        capture_output=True,
        check=False,
        timeout=limit(),
    )


def verdict(process: subprocess.CompletedProcess[bytes]) -> dict[str, object] | None:
    """Return the one JSON object the hook printed, None when it printed nothing; the hook must have gone well."""
    assert process.returncode == 0, process.stderr
    if process.stdout == b"":
        return None
    answer = json.loads(process.stdout)
    assert isinstance(answer, dict)
    assert process.stdout.count(b"\n") == 1
    return answer


def context(**fields: object) -> str:
    """Return a complete context as JSON, null where `fields` has no value."""
    assert set(fields) <= FIELDS
    return json.dumps(dict.fromkeys(FIELDS) | fields)


def bash(command: str, working_dir: Path | str = "/home/dev/shop") -> str:
    """Return the context before a shell command."""
    return context(event="pre_tool_use", tool_name="bash", tool_args={"command": command}, working_dir=str(working_dir))


def test_every_context_has_the_eleven_fields() -> None:
    """A context in examples/ has exactly the fields that are always there."""
    found = sorted(CONTEXTS.glob("*.json"))
    assert len(found) >= 6
    for path in found:
        assert set(json.loads(path.read_text(encoding="utf-8"))) == FIELDS, path


def test_every_script_can_be_run_and_the_table_names_each_hook() -> None:
    """Scripts are executable and have a shebang; README and coder.example.json know every hook."""
    declared = (ROOT / "coder.example.json").read_text(encoding="utf-8")
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for name in (BLOCK, PROTECT, TOOL, TICKET):
        assert os.access(HOOKS / name, os.X_OK)
        assert (HOOKS / name).read_bytes().startswith(b"#!/")
        assert f"./examples/hooks/{name}" in declared
        assert f"hooks/{name}" in readme
    assert "./examples/hooks/format_changed" in declared
    assert "hooks/format_changed.c" in readme


def test_the_guards_are_declared_to_block_when_they_fail() -> None:
    """The example declarations are unique by name, and a guard that fails means no."""
    hooks = json.loads((ROOT / "coder.example.json").read_text(encoding="utf-8"))["hooks"]
    assert len({hook["name"] for hook in hooks}) == len(hooks) == 5
    on_failure = {hook["name"]: hook.get("on_failure", "continue") for hook in hooks}
    assert on_failure["block-destructive"] == on_failure["protect-files"] == "block"


# --- block_destructive.py ---------------------------------------------------------------------------------------------

DESTRUCTIVE = [
    "rm -rf /",
    "rm -rf /*",
    "rm -rf //",
    "rm -rf ~",
    "rm -rf ~/*",
    "rm -rf $HOME",
    'rm -rf "${HOME}"/*',
    "rm -rf *",
    "rm -rf .[!.]*",
    "rm -rf .",
    "rm -rf $PWD",
    "rm -rf ..",
    "rm -rf /home/dev/shop",
    "rm -rf /home",
    "rm -rf /etc",
    "rm -rf /usr/lib/python3",
    "rm -rf /var/lib/../log",
    "rm -rf /u*",
    "rm -f -R /",
    "rm / -rf",
    "rm --rec --for /",
    "rm -rf -- /",
    "rm -rf --no-preserve-root /",
    "/bin/rm -rf /",
    "\\rm -rf /",
    "sudo -u root -E rm -rf /etc",
    "sudo -iu root rm -rf /etc",
    "env A=1 nice -n 5 nohup rm -rf ~",
    "timeout -k 1 10s rm -rf ~",
    "A=1 rm -rf ~",
    "cd / && rm -rf usr",
    "cd /tmp; cd ..; rm -rf etc",
    "(cd /; rm -rf *);echo done",
    "ls &&\\\nrm \\\n -rf /",
    "if true; then rm -rf ~; fi",
    "{ rm -rf ~; }",
    "bash -lc 'cd / && rm -rf *'",
    "bash -o pipefail -c 'rm -rf /'",
    "sudo sh -c 'rm -rf /'",
    "eval 'rm -rf /'",
    'echo "$(rm -rf ~)"',
    'x="`rm -rf ~`"',
    "bash <<EOF\nrm -rf /\nEOF",
    "cat <<EOF | sudo sh\nrm -rf /\nEOF",
    "cat > notes <<EOF\nhello\nEOF\nrm -rf /",
    "ls  # don't\nrm -rf /",
    "ls | xargs -n 1 rm -rf /",
    "mkfs.ext4 /dev/sda1",
    "sudo mkfs -t xfs /dev/nvme0n1",
    "dd if=/dev/zero of=/dev/sda bs=1M",
    "cd /dev && dd of=sda",
    "git push --force",
    "git push -uf origin main",
    "git push origin +main",
    "git push --force --force-with-lease",
    "git -C sub -c user.name=x push -f",
    "git push --mirror backup",
    "git reset --hard",
    "git reset --hard HEAD~3",
    "git fetch && git reset --ha origin/main",
    "git clean -fdx",
    "git clean -d -x --force",
    "chmod -R 777 /",
    "sudo chmod -R 777 /usr",
    "chmod 777 --recursive /",
    "chown -R me ~",
    "echo x > /dev/sda",
    "(cat image.iso)>/dev/sda",
    ":(){ :|:& };:",
    ":(){ :|: & };:",
    "bomb() { bomb | bomb & }; bomb",
]

HARMLESS = [
    "ls -la",
    'echo "rm -rf /"',
    "git commit -m \"$(cat <<'EOF'\nDon't rm -rf /\n\nrm -rf / is bad\nEOF\n)\"",
    "man rm -rf",
    "rm -rf ./build dist *.egg-info",
    "rm -rf ../other-worktree",
    "rm -rf /tmp/scratch",
    "rm -rf /tmp/pytest-*",
    'rm -rf "$HOME/.cache/pip"',
    "rm -rf ''",
    "rm -f *.pyc",
    "cd build && rm -rf lib",
    "cat > cleanup.md <<'EOF'\nIt's said: rm -rf / is bad.\nrm -rf /\nEOF\nls",
    "cat <<-X\n\trm -rf /\n\tX",
    "echo $((1<<3))",
    "rm -rf build  # don't keep it",
    "# rm -rf /",
    "git push",
    "git push --force-with-lease origin main",
    "git push --force-with-lease=main --force-if-includes",
    "git push -o ci.force origin main",
    "git log --oneline -f",
    "git reset --soft HEAD~1",
    "git reset HEAD file",
    "git clean -ndfx",
    "git stash && git pull --force",
    "mkdir -p mkfs",
    "dd if=disk.img of=copy.img",
    "dd if=disk.img of=/dev/null",
    "head -c 512 < /dev/sda",
    "make > /dev/null 2>&1",
    "make &> /dev/stderr",
    "echo x > /dev/shm/x",
    "chmod -R 755 build",
    "chmod 777 script.sh",
    "chmod -R u+w .",
    "f() { ls | wc; }; f",
    'for f in a b; do rm -r "$f"; done',
    "find . -name '*.pyc' -print0 | xargs -0 rm -rf",
    "sudo",
    "awk '{print $(NF)}' file",
    "",
]


@cache
def guard() -> Callable[[], int]:
    """Return the guard's main function, loaded once for the many commands below."""
    main: Callable[[], int] = runpy.run_path(str(HOOKS / BLOCK))["main"]
    return main


def run_block(command: str, home: Path, working_dir: str = "/home/dev/shop") -> dict[str, object] | None:
    """Run the guard with a separate home directory, in this process."""
    stdin, stdout = io.BytesIO(bash(command, working_dir).encode()), io.StringIO()
    with (
        mock.patch.dict(os.environ, HOME=str(home), HOOKRUN_PROJECT_DIR=working_dir),
        mock.patch.object(sys, "stdin", SimpleNamespace(buffer=stdin)),
        contextlib.redirect_stdout(stdout),
    ):
        status = guard()()
    return verdict(subprocess.CompletedProcess(BLOCK, status, stdout.getvalue().encode()))


@rows("command", DESTRUCTIVE)
def test_destructive_commands_are_blocked(command: str, tmp_path: Path) -> None:
    """A command that destroys something is blocked with a reason for the model."""
    answer = run_block(command, tmp_path)
    assert answer is not None
    assert answer["action"] == "block"
    assert isinstance(answer["message"], str)
    assert len(answer["message"]) > 30


@rows("command", HARMLESS)
def test_harmless_commands_pass(command: str, tmp_path: Path) -> None:
    """A command that destroys nothing, or only mentions it, gets no answer."""
    assert run_block(command, tmp_path) is None


@rows("working_dir", ["/usr/src/app", "/opt/shop/app", "/var/www/shop/"])
def test_a_project_in_a_system_directory_can_be_cleaned(working_dir: str, tmp_path: Path) -> None:
    """What is below the project may be deleted wherever the project lives; the project itself may not."""
    assert run_block("rm -rf node_modules", tmp_path, working_dir) is None
    assert run_block(f"rm -rf {working_dir}", tmp_path, working_dir) is not None
    assert run_block("rm -rf /usr/src", tmp_path, working_dir) is not None


def test_a_huge_command_is_judged_in_reasonable_time(tmp_path: Path) -> None:
    """A file of a megabyte in a here-document does not slow the guard down, and what follows it is still seen."""
    body = "it's a line << of text\n" * 40_000
    assert run_block(f"cat > big.txt <<'EOF'\n{body}EOF\nls", tmp_path) is None
    assert run_block(f"cat > big.txt <<'EOF'\n{body}EOF\nrm -rf ~", tmp_path) is not None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("stdin", ["", "not json", "[]", "{}", '{"tool_args": null}', '{"tool_args": {"command": []}}'])
@pytest.mark.parametrize("hook", [BLOCK, pytest.param(PROTECT, marks=needs_node), pytest.param(TOOL, marks=needs_perl)])
def test_a_context_without_what_is_judged_is_a_failure(hook: str, stdin: str, tmp_path: Path) -> None:
    """A hook that cannot judge exits 1 with one line on stderr and nothing on stdout: a failure, not a verdict."""
    process = run(hook, stdin, cwd=tmp_path)
    assert process.returncode == 1
    assert process.stdout == b""
    assert process.stderr.startswith(Path(hook).stem.encode() + b": ")
    assert process.stderr.count(b"\n") == 1


@rows("name, blocked", [("rm_rf", True), ("force_push", True), ("harmless", False)])
def test_the_shell_contexts_do_what_the_readme_says(name: str, blocked: bool, tmp_path: Path) -> None:
    """The contexts in examples/ show a block and a free pass."""
    answer = verdict(run(BLOCK, (CONTEXTS / f"{name}.json").read_bytes(), cwd=tmp_path))
    assert (answer is not None) is blocked


# --- protect_files.mjs ------------------------------------------------------------------------------------------------


def run_protect(file_path: Path | str, project: Path, tool: str = "write") -> dict[str, object] | None:
    """Run the guard on a file of a project."""
    stdin = context(
        event="pre_tool_use", tool_name=tool, tool_args={"file_path": str(file_path)}, working_dir=str(project)
    )
    return verdict(run(PROTECT, stdin, cwd=project, env={"HOOKRUN_PROJECT_DIR": str(project)}))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return an empty project with a directory beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "project" / "src").mkdir(parents=True)
    return tmp_path / "project"


@pytest.mark.sampled(5)
@needs_node
@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "config/.env.production",
        ".ENV",
        "server.pem",
        "deploy/id_rsa",
        "id_ed25519",
        "credentials.json",
        "service-account-prod.json",
        ".netrc",
        ".git/config",
        ".git/hooks/pre-commit",
        "vendor/lib/.git/HEAD",
        ".git",
        ".ssh/authorized_keys",
    ],
)
@pytest.mark.parametrize("tool", ["write", "delete"])
def test_secrets_are_protected(name: str, tool: str, project: Path) -> None:
    """A file that holds secrets or belongs to git is refused, whether it exists or not."""
    answer = run_protect(project / name, project, tool)
    assert answer is not None
    assert answer["action"] == "block"
    assert "is protected" in str(answer["message"])


@pytest.mark.sampled(4)
@needs_node
@pytest.mark.parametrize(
    "name",
    [
        "src/main.py",
        "src/new/deep/file.txt",
        ".env.example",
        "config/.env.sample",
        ".gitignore",
        ".github/workflows/ci.yml",
        ".environment",
        "id_rsa.pub",
        "docs/credentials.md",
        "src/../README.md",
        "..hidden",
        "src/ünïcode ☃.txt",
    ],
)
def test_files_of_the_project_are_free(name: str, project: Path) -> None:
    """An ordinary file below the project gets no answer, by absolute and by relative path."""
    assert run_protect(f"{project}/{name}", project) is None
    assert run_protect(name, project) is None


@pytest.mark.sampled(3)
@needs_node
@pytest.mark.parametrize(
    "name",
    [
        "/etc/hosts",
        *(f"PROJECT/{each}" for each in ("../outside/x", "src/../../outside/x", "../project-two/x", ".", "..")),
    ],
)
def test_files_outside_the_project_are_refused(name: str, project: Path) -> None:
    """A path that leads out of the project is refused, a sibling with the same beginning too."""
    answer = run_protect(name.replace("PROJECT", str(project)), project)
    assert answer is not None
    assert "is not a file in the project" in str(answer["message"])


@pytest.mark.slow
@needs_node
def test_symbolic_links_do_not_lead_out(project: Path) -> None:
    """Links are followed as the kernel does it: through directories, before `..`, dangling, in chains, to secrets."""
    outside = project.parent / "outside"
    (project / "dir").symlink_to(outside)
    (project / "dangling").symlink_to("../outside/not-there")
    (project / "chain").symlink_to("dangling")
    (project / "notes.txt").symlink_to(".env")
    (project / "loop").symlink_to("loop")
    assert "it is really" in str((run_protect(project / "dir" / "new" / "file", project) or {})["message"])
    for name in ("dangling", "chain", "dir/../x", "notes.txt"):
        assert run_protect(f"{project}/{name}", project) is not None, name
    stdin = context(tool_args={"file_path": str(project / "loop")})
    process = run(PROTECT, stdin, cwd=project)
    assert process.returncode == 1
    assert b"too many symbolic links" in process.stderr


@pytest.mark.slow
@needs_node
def test_symbolic_links_within_the_project_are_free(project: Path) -> None:
    """A link from the project into the project is fine, and so is a project that is reached by a link."""
    (project / "alias").symlink_to("src")
    assert run_protect(project / "alias" / "x.py", project) is None
    by_link = project.parent / "by-link"
    by_link.symlink_to(project)
    assert run_protect(by_link / "src" / "x.py", by_link) is None
    assert run_protect(project / "src" / "x.py", by_link) is None
    assert run_protect(by_link / "src" / "x.py", project) is None


@needs_node
def test_the_file_contexts_do_what_the_readme_says(tmp_path: Path) -> None:
    """The contexts in examples/ show two blocks and a free pass."""
    env = {"HOOKRUN_PROJECT_DIR": "/home/dev/shop"}
    actions = {}
    for name in ("write_env", "edit_outside", "write_code"):
        answer = verdict(run(PROTECT, (CONTEXTS / f"{name}.json").read_bytes(), cwd=tmp_path, env=env))
        actions[name] = answer and answer["action"]
    assert actions == {"write_env": "block", "edit_outside": "block", "write_code": None}


@needs_node
def test_a_large_context_that_comes_in_pieces_is_read_whole(project: Path) -> None:
    """A context far larger than a pipe is read to its end before it is judged."""
    stdin = context(tool_args={"content": "é" * 2_000_000, "file_path": str(project / ".env")})
    answer = verdict(run(PROTECT, stdin, cwd=project))
    assert answer is not None
    assert answer["action"] == "block"


# --- use_project_tool.pl ----------------------------------------------------------------------------------------------


def run_tool(command: str, project: Path, *lock_files: str) -> str | None:
    """Return the rewritten command of a project with these lock files, None when the hook leaves it alone."""
    for name in lock_files:
        (project / name).touch()
    answer = verdict(run(TOOL, bash(command), cwd=project.parent, env={"HOOKRUN_PROJECT_DIR": str(project)}))
    if answer is None:
        return None
    assert answer["action"] == "modify"
    assert lock_files[0] in str(answer["message"])
    patch = answer["args_patch"]
    assert isinstance(patch, dict)
    assert list(patch) == ["command"]
    return str(patch["command"])


@needs_perl
@pytest.mark.parametrize(
    ("lock_file", "expected"),
    [("uv.lock", "uv add requests"), ("poetry.lock", "poetry add requests"), ("Pipfile", "pipenv install requests")],
)
def test_pip_install_becomes_the_tool_of_the_project(lock_file: str, expected: str, project: Path) -> None:
    """The lock file at the project's root decides which tool is used."""
    assert run_tool("pip install requests", project, lock_file) == expected


@needs_perl
@rows(
    "command, expected",
    [
        ("pip3 install requests flask", "uv add requests flask"),
        ("python -m pip install requests", "uv add requests"),
        ("python3 -m pip install -q requests", "uv add requests"),
        ("  pip   install   requests\n", "uv add requests"),
        ("pip install --break-system-packages requests", "uv add requests"),
        ("pip install 'requests>=2.31,<3'", "uv add 'requests>=2.31,<3'"),
        ('pip install "requests[socks]==2.31.*"', 'uv add "requests[socks]==2.31.*"'),
        ("pip install requests==2.31.0 ruamel.yaml", "uv add requests==2.31.0 ruamel.yaml"),
        ("pip install requests && pytest -q", "uv add requests && pytest -q"),
        ("ls; pip install a || echo 'it broke'", "ls ; uv add a || echo 'it broke'"),
        ("pip install a && pip install b", "uv add a && uv add b"),
        ("'pip' install a", "uv add a"),
    ],
)
def test_what_is_understood_is_rewritten(command: str, expected: str, project: Path) -> None:
    """Plain requirements go into the new command as they were spelled; the rest of the line stays."""
    assert run_tool(command, project, "uv.lock") == expected


@needs_perl
@rows(
    "command",
    [
        "pip install -r requirements.txt",
        "pip install -e .",
        "pip install .",
        "pip install ./package",
        "pip install dist/package-1.0.whl",
        "pip install package.whl",
        "pip install -U requests",
        "pip install --user requests",
        "pip install --index-url https://example.org/simple requests",
        "pip install git+https://example.org/x.git",
        "pip install",
        "pip install -q",
        "pip install pip",
        "pip install uv",
        "pip uninstall requests",
        "pip list",
        "pip install $PACKAGE",
        'pip install "$PACKAGE"',
        "pip install requests>=2",
        "pip install requests | tee log",
        "pip install requests > log",
        "pip install requests &",
        "pip install `cat names`",
        "cd /elsewhere && pip install requests",
        "source venv/bin/activate && pip install requests",
        "sudo pip install requests",
        "PIP_INDEX_URL=x pip install requests",
        "uv pip install requests",
        "pipx install requests",
        "python3.12 -m pip install requests",
        "venv/bin/pip install requests",
        "echo 'pip install requests'",
        "echo pip install requests",
        "pip install 'requests",
        "pip install réquests",
        "",
    ],
)
def test_what_is_not_understood_is_left_alone(command: str, project: Path) -> None:
    """Any option, path, expansion or change of place the hook does not know means: no answer."""
    assert run_tool(command, project, "uv.lock") is None


@needs_perl
def test_a_project_that_names_no_tool_or_two_is_left_alone(project: Path) -> None:
    """Without a lock file pip is right; with two it is ambiguous."""
    assert run_tool("pip install requests", project) is None
    assert run_tool("pip install requests", project, "uv.lock", "poetry.lock") is None


@needs_perl
def test_text_beside_the_install_keeps_its_characters(project: Path) -> None:
    """Characters outside ASCII survive the way through JSON and back."""
    command = "pip install requests && echo 'grün ☃ 😀 \"quoted\"'"
    assert run_tool(command, project, "uv.lock") == command.replace("pip install", "uv add")


@needs_perl
def test_the_pip_context_does_what_the_readme_says(project: Path) -> None:
    """The context in examples/ is rewritten in a project with a lock file, and left alone in one without."""
    stdin = (CONTEXTS / "pip_install.json").read_bytes()
    assert verdict(run(TOOL, stdin, cwd=project)) is None
    (project / "poetry.lock").touch()
    answer = verdict(run(TOOL, stdin, cwd=project))
    assert answer is not None
    assert answer["args_patch"] == {"command": "poetry add 'requests[socks]>=2.31' && python -m pytest -q"}


# --- ticket_context.sh ------------------------------------------------------------------------------------------------


def git(*args: str | bytes, cwd: Path) -> None:
    """Run git with no configuration but its own defaults."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *args], cwd=cwd, env=env, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a git repository with one commit."""
    path = tmp_path / "repository"
    path.mkdir()
    git("init", "--quiet", cwd=path)
    git("commit", "--quiet", "--allow-empty", "--message", "first", cwd=path)
    return path


def run_ticket(repository: Path, cwd: Path | None = None, interpreter: Path | None = None) -> str | None:
    """Return what the hook adds to the prompt in this repository, None when it adds nothing."""
    stdin = (CONTEXTS / "prompt.json").read_bytes()
    env = {"GIT_CEILING_DIRECTORIES": str(repository.parent)}
    if cwd is not None:
        env["HOOKRUN_WORKING_DIR"] = str(repository)
    answer = verdict(run(TICKET, stdin, cwd=cwd or repository, env=env, interpreter=interpreter))
    if answer is None:
        return None
    assert answer["action"] == "continue"
    return str(answer["additional_context"])


@needs_git
@rows(
    "branch, ticket",
    [
        ("feature/ABC-123-foo", "ABC-123"),
        ("ABC-123", "ABC-123"),
        ("ABC-123_fix", "ABC-123"),
        ("users/me/fix-X2-9", "X2-9"),
        ("feature/ABC-1-and-DEF-2", "ABC-1"),
        ("bugfix/AB-1/part", "AB-1"),
    ],
)
def test_the_ticket_of_the_branch_is_added(branch: str, ticket: str, repository: Path) -> None:
    """The first ticket number in the branch's name is reported, and so is the branch."""
    git("switch", "--quiet", "--create", branch, cwd=repository)
    added = run_ticket(repository)
    assert added is not None
    assert f"ticket {ticket}." in added
    assert f"branch is {branch}," in added


@needs_git
@rows("branch", ["feature/no-ticket", "abc-123", "feature/myABC-123", "ABC-123beta", "A-1", "release-2"])
def test_a_branch_without_a_ticket_adds_nothing(branch: str, repository: Path) -> None:
    """A name that only resembles a ticket is none."""
    git("switch", "--quiet", "--create", branch, cwd=repository)
    assert run_ticket(repository) is None


@needs_git
def test_nothing_is_added_without_a_branch(repository: Path, tmp_path: Path) -> None:
    """A detached HEAD, a directory outside any repository and one that is gone add nothing, without an error."""
    git("switch", "--quiet", "--create", "ABC-123", cwd=repository)
    git("checkout", "--quiet", "--detach", cwd=repository)
    assert run_ticket(repository) is None
    outside = tmp_path / "outside"
    outside.mkdir()
    assert run_ticket(outside) is None
    assert run_ticket(tmp_path / "gone", cwd=outside) is None


@needs_git
def test_the_branch_of_the_agents_directory_counts(repository: Path, tmp_path: Path) -> None:
    """A worktree has its own branch, even before its first commit, and that is the one reported."""
    git("worktree", "add", "--quiet", "-b", "feature/TREE-7", str(tmp_path / "tree"), cwd=repository)
    assert "TREE-7" in (run_ticket(tmp_path / "tree", cwd=repository) or "")
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git("init", "--quiet", "--initial-branch", "NEW-1-start", cwd=fresh)
    assert "NEW-1" in (run_ticket(fresh) or "")


@needs_git
@rows(
    "branch, shown",
    [
        (b'ABC-1-say-"hi"', 'ABC-1-say-"hi"'),
        ("ABC-1-größe-☃".encode(), "ABC-1-größe-☃"),
        (b"ABC-1-$HOME-`id`-%s", "ABC-1-$HOME-`id`-%s"),
    ],
)
def test_the_name_of_the_branch_is_escaped(branch: bytes, shown: str, repository: Path) -> None:
    """Quotes, non-ASCII characters and text that a shell or printf would expand are unchanged."""
    git("switch", "--quiet", "--create", branch, cwd=repository)
    assert f"branch is {shown}," in (run_ticket(repository) or "")


@needs_git
def test_bytes_that_are_no_text_are_left_out(repository: Path) -> None:
    """A branch name that is not UTF-8 still gives valid JSON."""
    (repository / ".git" / "HEAD").write_bytes(b"ref: refs/heads/ABC-1-\xff\xfe-x\n")
    assert "branch is ABC-1--x," in (run_ticket(repository) or "")


@needs_git
@pytest.mark.parametrize("shell", [pytest.param(name, marks=needs(name)) for name in ("dash", "bash", "busybox")])
def test_any_posix_shell_runs_it(shell: str, repository: Path, tmp_path: Path) -> None:
    """The hook gives the same answer under other shells."""
    git("switch", "--quiet", "--create", 'feature/ABC-1-"x"', cwd=repository)
    program = Path(shutil.which(shell) or shell)
    (tmp_path / "sh").symlink_to(program)
    assert run_ticket(repository, interpreter=tmp_path / "sh") == run_ticket(repository)


def test_without_git_it_fails_aloud(tmp_path: Path) -> None:
    """A missing git is a failure with a reason, not silence."""
    for name in ("cat", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    process = run(TICKET, "{}", cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert process.returncode == 1
    assert process.stdout == b""
    assert process.stderr == b"ticket_context: git is not on PATH\n"


# --- format_changed.c -------------------------------------------------------------------------------------------------

FAKE = Path(__file__).parent / "programs" / "formatter.sh"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program, built by the line at the top of its source and without a warning."""
    source = HOOKS / "format_changed.c"
    assert "Build: cc -O2 -o format_changed format_changed.c" in source.read_text(encoding="utf-8")
    directory = tmp_path_factory.mktemp("built")
    shutil.copy(source, directory)
    line = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-o", "format_changed", "format_changed.c"]
    subprocess.run(line, cwd=directory, check=True)
    return directory / "format_changed"


class Workshop:
    """A directory with a fake formatter on a separate PATH, and files to format."""

    def __init__(self, directory: Path, program: Path) -> None:
        """Make the directories."""
        self.directory = directory
        self.program = program
        self.bin = directory / "bin"
        self.notes = directory / "notes"
        self.bin.mkdir()

    def install(self, *names: str) -> None:
        """Put the fake formatter on PATH under these names."""
        for name in names:
            shutil.copyfile(FAKE, self.bin / name)
            (self.bin / name).chmod(0o755)

    def file(self, name: str, text: str = "a  b\n") -> Path:
        """Write a file."""
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, stdin: str | bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
        """Run the hook with the fake formatters before the system's programs."""
        path = f"{self.bin}:/usr/bin:/bin"
        return run(self.program, stdin, cwd=self.directory, env={"PATH": path, "NOTES": str(self.notes), **env})

    def change(self, path: Path | str, **env: str) -> dict[str, object] | None:
        """Return the answer to a change of this file."""
        return verdict(self.run(context(event="file_changed", file_path=str(path)), **env))

    def formatted(self) -> list[str]:
        """Return the program and arguments the fake formatter was started with, empty when it was not."""
        if not self.notes.exists():
            return []
        program, *args = self.notes.read_text(encoding="utf-8").splitlines()
        return [Path(program).name, *args]


@pytest.fixture
def workshop(tmp_path: Path, request: pytest.FixtureRequest) -> Workshop:
    """Return a workshop; the program is built on first use, so that a machine without cc skips before."""
    built = request.getfixturevalue("built")
    assert isinstance(built, Path)
    return Workshop(tmp_path, built)


@needs_cc
@rows(
    "name, command",
    [
        ("a.py", ["ruff", "format"]),
        ("a.go", ["gofmt", "-w"]),
        ("a.rs", ["rustfmt", "--edition", "2021"]),
        ("a.ts", ["prettier", "--write"]),
        ("a.json", ["prettier", "--write"]),
        ("a.css", ["prettier", "--write"]),
        ("a.test.js", ["prettier", "--write"]),
        ("a.c", ["clang-format", "-i"]),
        ("a.h", ["clang-format", "-i"]),
        ("a.sh", ["shfmt", "-w"]),
    ],
)
def test_a_file_is_formatted_with_the_tool_for_its_ending(name: str, command: list[str], workshop: Workshop) -> None:
    """The formatter gets the file as its last argument; the answer names both; nothing else reaches stdout."""
    workshop.install(command[0])
    path = workshop.file(name)
    assert workshop.change(path) == {
        "action": "continue",
        "additional_context": f"{name} was formatted with {command[0]}",
    }
    assert workshop.formatted() == [*command, str(path)]
    assert path.read_text(encoding="utf-8") == "ab\n"
    assert Path(f"{workshop.notes}.stdin").read_bytes() == b""


@needs_cc
def test_the_second_formatter_is_used_where_the_first_is_missing(workshop: Workshop) -> None:
    """Black formats Python where there is no ruff; with both, ruff does."""
    workshop.install("black")
    path = workshop.file("a.py")
    assert workshop.change(path) is not None
    assert workshop.formatted() == ["black", "--quiet", str(path)]
    workshop.install("ruff")
    assert workshop.change(workshop.file("a.py")) is not None
    assert workshop.formatted() == ["ruff", "format", str(path)]


@needs_cc
def test_a_file_that_does_not_change_is_not_mentioned(workshop: Workshop) -> None:
    """The formatter ran, the bytes are the same: no answer."""
    workshop.install("ruff")
    assert workshop.change(workshop.file("a.py", "ab\n")) is None
    assert workshop.formatted() != []


@needs_cc
def test_nothing_to_format_means_no_answer(workshop: Workshop) -> None:
    """Other endings, no ending, a missing file or formatter, a directory, no path: silence and exit 0."""
    assert workshop.change(workshop.file("a.go"), PATH=str(workshop.bin)) is None  # gofmt may be in /usr/bin
    workshop.install("ruff", "prettier")
    for name in ("a.txt", "py", "Makefile", "a.py.orig", "a.PY"):
        assert workshop.change(workshop.file(name)) is None, name
    (workshop.directory / "d.py").mkdir()
    assert workshop.change(workshop.directory / "d.py") is None
    assert workshop.change(workshop.directory / "gone.py") is None
    for stdin in ("{}", '{"file_path": null}', '{"file_path": 7}', '{"file_path": ""}', '{"file_path": ["a.py"]}'):
        assert verdict(workshop.run(stdin)) is None, stdin
    assert workshop.formatted() == []


@needs_cc
def test_a_program_of_that_name_in_the_project_is_not_run(workshop: Workshop) -> None:
    """An empty entry in PATH means the current directory to a shell; here it means nothing."""
    (workshop.directory / "ruff").write_text("#!/bin/sh\ntouch pwned\n", encoding="utf-8")
    (workshop.directory / "ruff").chmod(0o755)
    path = workshop.file("a.py")
    assert workshop.change(path, PATH=":/usr/bin:/bin:") is None
    assert not (workshop.directory / "pwned").exists()


@needs_cc
def test_a_failing_formatter_is_a_failure(workshop: Workshop) -> None:
    """Exit 1, the formatter's own message and ours on stderr, nothing on stdout."""
    workshop.install("ruff")
    path = workshop.file("a.py")
    process = workshop.run(context(file_path=str(path)), FAIL="3")
    assert process.returncode == 1
    assert process.stdout == b""
    assert f"cannot parse {path}" in process.stderr.decode()
    assert process.stderr.decode().endswith(f"format_changed: ruff failed with exit 3 on {path}\n")


@needs_cc
def test_a_formatter_that_is_killed_is_a_failure(workshop: Workshop) -> None:
    """A signal and a program that cannot be started are reported as such."""
    (workshop.bin / "ruff").write_text("#!/bin/sh\nkill -9 $$\n", encoding="utf-8")
    (workshop.bin / "ruff").chmod(0o755)
    stdin = context(file_path=str(workshop.file("a.py")))
    process = workshop.run(stdin)
    assert (process.returncode, process.stdout) == (1, b"")
    assert b"ruff was killed by signal 9" in process.stderr
    (workshop.bin / "ruff").write_text("#!/not/there\n", encoding="utf-8")
    process = workshop.run(stdin)
    assert (process.returncode, process.stdout) == (1, b"")
    assert b"cannot start" in process.stderr


@needs_cc
@rows(
    "name",
    [
        "sp ace.py",
        "-v.py",
        "$(touch pwned).py",
        "a;b.py",
        "ünï-☃.py",
        "emoji-😀.py",
        'quo"te.py',
        "back\\slash.py",
        "tab\t\n.py",
    ],
)
@rows("ascii_only", [True, False])
def test_any_name_is_one_argument_and_comes_back_as_it_is(name: str, ascii_only: bool, workshop: Workshop) -> None:
    """Escapes, surrogate pairs and raw UTF-8 give the same file; no name is an option or a piece of shell."""
    workshop.install("ruff")
    path = workshop.file(name)
    for given in (str(path), name):
        path.write_text("a  b\n", encoding="utf-8")
        stdin = json.dumps({"file_path": given}, ensure_ascii=ascii_only)
        answer = verdict(workshop.run(stdin))
        assert answer is not None
        assert answer["additional_context"] == f"{name} was formatted with ruff"
        assert path.read_text(encoding="utf-8") == "ab\n"
    assert not (workshop.directory / "pwned").exists()


@needs_cc
@rows(
    "stdin",
    [
        '{"tool_args": {"file_path": "WRONG"}, "file_path": "RIGHT"}',
        '{"file_path": "RIGHT", "tool_args": {"file_path": "WRONG", "deep": [{"file_path": "WRONG"}]}}',
        '{"text": "\\"file_path\\": \\"WRONG\\"", "file_path": "RIGHT"}',
        '{"text": "},{\\"file_path\\": \\"WRONG\\", \\\\", "file_path": "RIGHT"}',
        '{"x": ["file_path", "WRONG"], "file_path": "RIGHT"}',
        '{"x": "file_path", "y": "WRONG", "file_path": "RIGHT"}',
        '{"file_path_old": "WRONG", "file_pat": "WRONG", "file_path": "RIGHT"}',
        '{"file\\u005fpath": "RIGHT"}',
        '{"file_path": "WRONG", "file_path": "RIGHT"}',
        ' \r\n\t{ "a" : -1.5e3 , "b" : [ ] , "c" : { } , "d" : [ [ true , null ] ] , "file_path" : "RIGHT" } \n',
        '{"\\ud800": "\\ud800", "file_path": "RIGHT"}',
    ],
)
def test_only_the_key_of_the_outermost_object_counts(stdin: str, workshop: Workshop) -> None:
    """The same key deeper inside, in a text, or one that resembles it names no file."""
    workshop.install("ruff")
    workshop.file("wrong.py")
    workshop.file("right.py")
    answer = verdict(workshop.run(stdin.replace("RIGHT", "right.py").replace("WRONG", "wrong.py")))
    assert answer is not None
    assert answer["additional_context"] == "right.py was formatted with ruff"


@needs_cc
@rows(
    "stdin",
    [
        "",
        "null",
        "[]",
        '"file_path"',
        "{",
        '{"file_path"',
        '{"file_path":',
        '{"file_path": "a.py',
        '{"file_path": "a.py"',
        '{"file_path": "a.py" "x": 1}',
        '{"a": [1, {"file_path": "a.py"}',
        '{"file_path": "a\\',
        '{"file_path": "a\\u00"}',
        '{"file_path": "a\\x.py"}',
        '{"file_path": "a\\u0000.py"}',
        '{"file_path": "\\ud83d.py"}',
        '{"file_path": "\\ude00.py"}',
        '{"file_path": "\\ud83d\\u0041.py"}',
    ],
)
def test_a_context_that_cannot_be_read_is_a_failure(stdin: str, workshop: Workshop) -> None:
    """Broken JSON and texts that can name no file end with exit 1 and a reason, and format nothing."""
    workshop.install("ruff")
    workshop.file("a.py")
    process = workshop.run(stdin)
    assert process.returncode == 1
    assert process.stdout == b""
    assert process.stderr.startswith(b"format_changed: ")
    assert workshop.formatted() == []


@needs_cc
def test_a_context_of_megabytes_is_read(workshop: Workshop) -> None:
    """The size of a context does not matter."""
    workshop.install("ruff")
    path = workshop.file("a.py")
    big = {"content": 'x\\"' * 3_000_000, "file_path": "wrong.py"}
    assert verdict(workshop.run(context(tool_args=big, file_path=str(path)))) is not None


@needs_cc
@pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
def test_real_ruff_formats_a_real_file(workshop: Workshop) -> None:
    """The example in the README, with the real formatter."""
    assert RUFF is not None
    path_of_ruff = str(Path(RUFF).parent)
    (workshop.directory / "src").mkdir()
    path = workshop.file("src/cart.py", "x = [ 1,2 ]\n")
    stdin = (
        (CONTEXTS / "file_changed.json").read_text(encoding="utf-8").replace("/home/dev/shop", str(workshop.directory))
    )
    answer = verdict(workshop.run(stdin, PATH=path_of_ruff))
    assert answer == {"action": "continue", "additional_context": "cart.py was formatted with ruff"}
    assert path.read_text(encoding="utf-8") == "x = [1, 2]\n"
    assert verdict(workshop.run(stdin, PATH=path_of_ruff)) is None
    path.write_text("x = [\n", encoding="utf-8")
    process = workshop.run(stdin, PATH=path_of_ruff)
    assert (process.returncode, process.stdout) == (1, b"")
    assert b"ruff failed with exit" in process.stderr
