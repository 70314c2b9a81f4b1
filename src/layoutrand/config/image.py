"""``[build.image]``: a directory of many files of which one is the artefact, as a JDK home is with its libjvm.so."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from layoutrand.config.command import placeholders_in
from layoutrand.text.strict_table import StrictTable


def _below(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/") or path.endswith("/"):
        raise ValueError(f"{path!r} must be a file's path relative to the template")
    return path


class Image(StrictTable):
    """What every execution gets a directory of: the files of ``template``, one of them replaced by the layout's own.

    ``path`` is where the artefact goes, and ``artefact`` which one, the first by default.  ``exclude`` are patterns of
    files to leave out.  ``setup`` is executed once in such a directory, and the files that it makes there belong to
    the template of all layouts from then on.  ``check`` is executed before the first execution of each binary: the
    file at ``path`` must then be in its memory.
    """

    template: Annotated[str, Field(min_length=1)]
    path: Annotated[str, Field(min_length=1)]
    artefact: str | None = None
    exclude: list[str] = Field(default=[])
    setup: list[str] = Field(default=[])
    check: Annotated[list[str], Field(min_length=1)]

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        return _below(path)

    @field_validator("setup", "check")
    @classmethod
    def _known_placeholders(cls, command: list[str]) -> list[str]:
        for word in command:
            for name in placeholders_in(word):
                if name != "home":
                    raise ValueError(f"{{{name}}} in {word!r} is not a placeholder here; there is {{home}}")
        return command
