"""Compile the client and the watcher when the package is built: the hook of hatchling's wheels.

`HOOKRUN_WHEEL=linux-x86_64` (or another of WHEELS) makes that platform's wheel with Zig's compiler, on any machine;
`HOOKRUN_WHEEL=pure` makes one without them. Without the variable `cc` compiles them for this machine, also when an
sdist is installed; without a compiler the wheel is pure. An editable install has them beside their sources.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CLIENT = "hookrun/launch/client/client.c"
PROGRAMS = {
    CLIENT: "hookrun/launch/client/hookrun-client",
    "hookrun/launch/client/watcher.c": "hookrun/launch/client/hookrun-watcher",
}
"""Source -> program."""
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
    """Add the compiled programs to a wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build needs: Zig's compiler for the wheel of a named platform."""
        return ["ziglang>=0.13"] if os.environ.get("HOOKRUN_WHEEL") in WHEELS else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the programs, and name the wheel after the platform."""
        wanted = os.environ.get("HOOKRUN_WHEEL", "")
        if wanted not in {"", "pure", *WHEELS}:
            raise ValueError(f"HOOKRUN_WHEEL={wanted}: expected `pure` or one of {', '.join(WHEELS)}")
        if wanted == "pure":
            return
        if wanted:
            target, platform = WHEELS[wanted]
            static = ["-static"] if "linux" in target else []
            compilers = [[sys.executable, "-m", "ziglang", "cc", "-target", target, *static]]
        else:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            plain = os.environ.get("CC", "cc").split()
            compilers = [[*plain, "-static"], plain]  # a static program starts faster, where the system can link one
        # beside the sources, so that a program is put in place at once
        beside = os.path.join(self.root, os.path.dirname(CLIENT)) if version == "editable" else None
        self._directory = tempfile.mkdtemp(dir=beside)
        programs: dict[str, str] = {}
        try:
            for source, program in PROGRAMS.items():
                programs[self._compiled(compilers, source, os.path.basename(program))] = program
        except (OSError, subprocess.CalledProcessError) as error:
            self.finalize(version, build_data, "")
            if wanted:
                raise
            self.app.display_warning(f"the client is not compiled, so hooks start with Python: {error}")
            return
        if version == "editable":
            for made, program in programs.items():
                os.replace(made, os.path.join(self.root, program))
            self.finalize(version, build_data, "")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"].update(programs)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the programs, which are in the wheel now."""
        if hasattr(self, "_directory"):
            shutil.rmtree(self._directory)
            del self._directory

    def _compiled(self, compilers: list[list[str]], source: str, name: str) -> str:
        """Compile a program by the first compiler that can, and return its temporary path.

        It has its own `name` there: macOS's signature has the file's, and wheels are the same byte for byte.
        """
        made = os.path.join(self._directory, name)
        for compiler in compilers:
            is_last = compiler == compilers[-1]
            try:
                stderr = None if is_last else subprocess.DEVNULL
                command = [*compiler, *FLAGS, "-o", made, os.path.join(self.root, source)]
                subprocess.run(command, check=True, stdout=sys.stderr, stderr=stderr)
                break
            except (OSError, subprocess.CalledProcessError):
                if is_last:
                    raise
        os.chmod(made, 0o755)  # noqa: S103  # it is a program
        return made
