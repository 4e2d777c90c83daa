"""Compile the client when the package is built: the hook of hatchling's wheels.

`HOOKRUN_WHEEL=linux-x86_64` (or another of WHEELS) makes that platform's wheel with Zig's compiler, on any machine;
`HOOKRUN_WHEEL=pure` makes one without a client. Without the variable `cc` compiles the client for this machine, also
when an sdist is installed; without a compiler the wheel is pure. An editable install has it beside its source.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE, PROGRAM = "hookrun/client/client.c", "hookrun/client/hookrun-client"
FLAGS = ("-O2", "-Wall", "-Wextra", "-s")

MANYLINUX = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
WHEELS = {
    "linux-x86_64": ("x86_64-linux-musl", MANYLINUX.format("x86_64")),
    "linux-aarch64": ("aarch64-linux-musl", MANYLINUX.format("aarch64")),
    "macos-x86_64": ("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-arm64": ("aarch64-macos.11.0", "macosx_11_0_arm64"),
}
"""Platform -> Zig's name of it and the wheel's. A static program of musl runs on every Linux."""


class ClientHook(BuildHookInterface):
    """Add the compiled client to a wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build needs: Zig's compiler for the wheel of a named platform."""
        return ["ziglang>=0.13"] if os.environ.get("HOOKRUN_WHEEL") in WHEELS else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the client, and name the wheel after the platform."""
        wanted = os.environ.get("HOOKRUN_WHEEL", "")
        if wanted not in {"", "pure", *WHEELS}:
            raise ValueError(f"HOOKRUN_WHEEL={wanted}: expected `pure` or one of {', '.join(WHEELS)}")
        if wanted == "pure":
            return
        directory = os.path.dirname(os.path.join(self.root, SOURCE))
        descriptor, program = tempfile.mkstemp(dir=directory if version == "editable" else None)
        os.close(descriptor)
        try:
            if wanted:
                target, platform = WHEELS[wanted]
                static = ["-static"] if "linux" in target else []
                self._compile([sys.executable, "-m", "ziglang", "cc", "-target", target, *static], program)
            else:
                platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
                compiler = os.environ.get("CC", "cc").split()
                try:  # a static program starts faster, where the system has the libraries for one
                    self._compile([*compiler, "-static"], program, stderr=subprocess.DEVNULL)
                except (OSError, subprocess.CalledProcessError):
                    self._compile(compiler, program)
        except (OSError, subprocess.CalledProcessError) as error:
            os.unlink(program)
            if wanted:
                raise
            self.app.display_warning(f"the client is not compiled, so hooks start with Python: {error}")
            return
        os.chmod(program, 0o755)  # noqa: S103  # it is a program
        if version == "editable":
            os.replace(program, os.path.join(self.root, PROGRAM))
            return
        self._program = program
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][program] = PROGRAM

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the program, which is in the wheel now."""
        if hasattr(self, "_program"):
            os.unlink(self._program)

    def _compile(self, compiler: list[str], program: str, stderr: int | None = None) -> None:
        """Compile the client into `program`."""
        subprocess.run(
            [*compiler, *FLAGS, "-o", program, os.path.join(self.root, SOURCE)],
            check=True,
            stdout=sys.stderr,
            stderr=stderr,
        )
