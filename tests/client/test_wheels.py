"""Wheels with the client for every platform, without one, and the builds of an sdist and an editable install."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.client.conftest import RECORDER
from tests.client.fake_server import FakeServer, answering, listen
from tests.python_launcher import socket_path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM, WATCHER = "hookrun/launch/client/hookrun-client", "hookrun/launch/client/hookrun-watcher"
MANYLINUX = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACH_O_MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
LOAD_DYLIB, CODE_SIGNATURE, BUILD_VERSION, INTERPRETER = 0x0C, 0x1D, 0x32, 3

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


class Wheel(NamedTuple):
    """A wheel: its tag, and the client with its mode if it has one."""

    path: Path
    tag: str
    client: bytes | None
    mode: int


class Builder:
    """An environment in which hookrun can be built."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.python = make_environment(directory / "builder")
        self.install("hatchling", "editables")

    def install(self, *packages: str) -> None:
        """Install packages into it, or skip the test where they cannot be had."""
        done = subprocess.run(
            [self.python, "-m", "pip", "install", "--quiet", *packages], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"{' '.join(packages)} cannot be installed: {done.stderr.strip()[-200:]}")

    def pip(self, *arguments: str | Path, **environment: str) -> str:
        """Run pip with what is installed in it and return what it printed."""
        return subprocess.run(
            [self.python, "-m", "pip", *arguments],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        ).stdout

    def wheel(self, source: Path, name: str, **environment: str) -> Wheel:
        """Build a wheel of the source."""
        directory = self.directory / name
        self.pip("wheel", "--no-deps", "--no-build-isolation", "-w", directory, source, **environment)
        (path,) = directory.iterdir()
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            assert "hookrun/launch/client/__init__.py" in names
            assert not [name for name in names if name.endswith((".c", ".code", ".tmp"))]
            assert (PROGRAM in names) == (WATCHER in names)
            client = archive.read(PROGRAM) if PROGRAM in names else None
            mode = archive.getinfo(PROGRAM).external_attr >> 16 if client else 0
        return Wheel(path, path.name.removesuffix(".whl").split("-", 2)[2], client, mode)


def make_environment(directory: Path) -> Path:
    """Make a virtual environment and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    return directory / "bin" / "python"


def installed_client(python: Path) -> str:
    """Return the path that the hookrun of an environment names, empty for none."""
    code = "from hookrun.launch.client import compiled_client; print(compiled_client() or '')"
    return subprocess.check_output([python, "-I", "-c", code], cwd="/", text=True).strip()


def check_runs(client: str, directory: Path) -> None:
    """Run the client as a launcher against a server."""
    launcher, conf = directory / "claude", directory / "launcher.conf"
    launcher.write_bytes(Path(client).read_bytes())
    launcher.chmod(0o755)

    with tempfile.TemporaryDirectory(prefix="hookrun-") as run:  # a socket's path must be short
        program = Path(run) / "program.py"
        program.write_text(RECORDER)
        command = [sys.executable, "-I", str(program)]
        words = "".join(f"exec {word}\n" for word in (*command, "fire"))
        conf.write_text(f"hookrun-launcher 1\nsocket {run}/s\n{words}")
        conf.chmod(0o600)
        serve = answering(b"X\x2a", argv=[b"fire", b"--agent", b"claude", b"Stop"])
        server = FakeServer(listen(command, Path(socket_path(f"{run}/s"))), serve)
        assert subprocess.run([launcher, "Stop"], check=False).returncode == 42
        server.close()


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Return an environment with the build backend."""
    return Builder(tmp_path_factory.mktemp("wheels"))


def elf(program: bytes) -> tuple[str, bool, bool]:
    """Return the machine of an ELF program, whether it is static and whether it is stripped."""
    assert program[:6] == b"\x7fELF\x02\x01"
    (machine,) = struct.unpack_from("<H", program, 18)
    (start,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = [struct.unpack_from("<I", program, start + at * size)[0] for at in range(count)]
    return ELF_MACHINES[machine], INTERPRETER not in kinds, b".symtab" not in program


def mach_o(program: bytes) -> tuple[str, list[bytes], tuple[int, int], bool]:
    """Return the machine of a Mach-O program, its libraries, the oldest system and whether it is signed."""
    magic, machine, _, kind, count = struct.unpack_from("<5I", program)
    assert (magic, kind) == (0xFEEDFACF, 2)
    at, libraries, system, signed = 32, [], (0, 0), False
    for _ in range(count):
        command, size = struct.unpack_from("<2I", program, at)
        if command == LOAD_DYLIB:
            libraries.append(program[at + struct.unpack_from("<I", program, at + 8)[0] : at + size].rstrip(b"\0"))
        elif command == BUILD_VERSION:
            (version,) = struct.unpack_from("<I", program, at + 12)
            system = version >> 16, version >> 8 & 255
        signed = signed or command == CODE_SIGNATURE
        at += size
    return MACH_O_MACHINES[machine], libraries, system, signed


def test_wheels_of_all_platforms(builder: Builder, tmp_path: Path) -> None:
    """Each has a client for its machine that needs nothing but the system; this machine's runs."""
    builder.install("ziglang>=0.13")
    for machine in ("x86_64", "aarch64"):
        wheel = builder.wheel(ROOT, machine, HOOKRUN_WHEEL=f"linux-{machine}")
        assert wheel.tag == f"py3-none-{MANYLINUX.format(machine)}"
        assert wheel.client is not None
        assert elf(wheel.client) == (machine, True, True)
        assert len(wheel.client) < 60_000
        assert wheel.mode & 0o777 == 0o755
        if sys.platform == "linux" and os.uname().machine == machine:
            python = make_environment(tmp_path / "fresh")
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel.path], check=True)
            client = installed_client(python)
            assert client.startswith(str(tmp_path / "fresh"))
            check_runs(client, tmp_path)
    for machine in ("x86_64", "arm64"):
        wheel = builder.wheel(ROOT, f"macos-{machine}", HOOKRUN_WHEEL=f"macos-{machine}")
        assert wheel.tag == f"py3-none-macosx_11_0_{machine}"
        assert wheel.client is not None
        assert mach_o(wheel.client) == (machine, [b"/usr/lib/libSystem.B.dylib"], (11, 0), machine == "arm64")
        assert wheel.mode & 0o777 == 0o755


def test_a_pure_wheel(builder: Builder) -> None:
    """It has no client and is for every machine."""
    wheel = builder.wheel(ROOT, "pure", HOOKRUN_WHEEL="pure")
    assert (wheel.tag, wheel.client) == ("py3-none-any", None)


def test_an_unknown_platform(builder: Builder) -> None:
    """It is an error, not a wheel without a client."""
    with pytest.raises(subprocess.CalledProcessError) as error:
        builder.wheel(ROOT, "vax", HOOKRUN_WHEEL="vax")
    assert "HOOKRUN_WHEEL=vax: expected `pure` or one of linux-x86_64, linux-aarch64, macos" in error.value.stdout


def test_an_sdist_and_an_editable_install(builder: Builder, tmp_path: Path) -> None:
    """They compile the client where there is a compiler, and go on where there is none."""
    subprocess.run([builder.python, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], cwd=ROOT, check=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    compiled = builder.wheel(sdist, "compiled")
    assert compiled.client is not None
    assert compiled.tag == f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    without = builder.wheel(sdist, "without", CC="/no/compiler")
    assert (without.tag, without.client) == ("py3-none-any", None)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    assert not (tree / PROGRAM).exists()
    for compiler, client in (("/no/compiler", ""), ("cc", str(tree / PROGRAM))):
        builder.pip("install", "--no-deps", "--no-build-isolation", "-e", tree, CC=compiler)
        assert installed_client(builder.python) == client
    check_runs(str(tree / PROGRAM), tmp_path)
    assert os.access(tree / WATCHER, os.X_OK)
    assert {path.name for path in (tree / "hookrun/launch/client").iterdir() if path.is_file()} == {
        *("__init__.py", "client.c", "gate.h", "watcher.c", "hookrun-client", "hookrun-watcher")
    }
    again = builder.wheel(tree, "again", HOOKRUN_WHEEL="pure")
    assert (again.tag, again.client) == ("py3-none-any", None)
