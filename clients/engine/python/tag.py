"""Names the systems that the wheel runs on: Linux on x86-64, with a C library at least as new as the newest symbol that the binary asks for."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tag(BuildHookInterface):  # type: ignore[type-arg]
    """Sets the wheel's tag from the binary itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        binary = (Path(self.root) / "factum").read_bytes()
        minors = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", binary)]
        if binary[:5] != b"\x7fELF\x02" or not minors:
            raise SystemExit("this is no program for Linux on x86-64 that uses the GNU C library")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{max(minors)}_x86_64"
