"""Presets of CMake: settings that a project keeps beside its CMakeLists.txt, without which some do not build."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Final

from layoutrand.platform.process import Runner

_FILES: Final = ("CMakePresets.json", "CMakeUserPresets.json")
_NAMED: Final = re.compile(r'^\s+"([^"]+)"', re.MULTILINE)
_MOST: Final = 3


def preset_lines(directory: Path, build: str, runner: Runner) -> tuple[str, ...]:
    """Lines of shell that configure by a preset each and build in ``build``, those that are called releases first.

    CMake is asked which there are: what a file includes, hides or makes depend on the machine is its to say.  ``-B``
    has the last word over the preset's own directory, and ``--build`` then needs no preset for the build.
    """
    if not any((directory / name).is_file() for name in _FILES):
        return ()
    listed = runner.run(["cmake", "--list-presets"], cwd=directory, env=os.environ)
    if listed.returncode != 0:
        return ()
    names = sorted(_NAMED.findall(listed.stdout.decode("utf-8", "replace")), key=lambda name: "rel" not in name.lower())
    return tuple(
        f"cmake --preset {shlex.quote(name)} -B {build} && cmake --build {build} -j {{jobs}}" for name in names[:_MOST]
    )
