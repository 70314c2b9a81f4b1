"""What compilers and linkers are told by a system: the values of its keys, and what is wrong with one."""

from __future__ import annotations

import shlex
from typing import Annotated

from pydantic import AfterValidator, Field

from layoutrand.config.problems import suggest

PROFILE_SETTINGS = (
    "opt-level",
    "lto",
    "codegen-units",
    "panic",
    "debug",
    "debug-assertions",
    "overflow-checks",
    "strip",
    "split-debuginfo",
    "incremental",
    "rpath",
)
"""What a profile of Cargo consists of, as ``[profile.release]`` in Cargo.toml."""


def _splittable(flags: str) -> str:
    try:
        shlex.split(flags)
    except ValueError as error:
        raise ValueError(f"cannot be split into words as a shell does: {str(error).lower()}") from error
    return flags


def _of_files(flags: dict[str, str]) -> dict[str, str]:
    for path, given in flags.items():
        if not inside_the_source(path):
            raise ValueError(f"{path!r} must be a file's path relative to the source")
        if not shlex.split(_splittable(given)):
            raise ValueError(f"no flags are given for {path!r}")
    return flags


def inside_the_source(path: str) -> bool:
    """Whether it is how a file below the source's directory is called in a configuration."""
    return bool(path) and not path.startswith("/") and ".." not in path.split("/") and not path.endswith("/")


def _known_settings(profile: dict[str, str | int | bool]) -> dict[str, str | int | bool]:
    for key in profile:
        if key not in PROFILE_SETTINGS:
            wrong = f"{key!r} is no setting of a Cargo profile{suggest(key, PROFILE_SETTINGS)}"
            raise ValueError(f"{wrong}; there are {', '.join(PROFILE_SETTINGS)}")
    return profile


Flags = Annotated[str, AfterValidator(_splittable)]
FileFlags = Annotated[dict[str, str], AfterValidator(_of_files)]
Profile = Annotated[dict[str, str | int | bool], AfterValidator(_known_settings)]
Feature = Annotated[str, Field(pattern=r"^[^\s,-][^\s,]*$")]
