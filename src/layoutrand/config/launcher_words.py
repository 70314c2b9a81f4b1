"""``run.launcher``: words that stand before the program of a benchmark."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from layoutrand.config.command import placeholders_in


def _of_a_program(launcher: list[str]) -> list[str]:
    for word in launcher:
        if wrong := [name for name in placeholders_in(word) if name != "project"]:
            raise ValueError(f"{{{wrong[0]}}} in {word!r} is not a placeholder here; there is {{project}}")
    if launcher and "/" in launcher[0] and not launcher[0].startswith(("/", "{project}/")):
        raise ValueError(
            f"each execution has a fresh working directory, so {launcher[0]!r} names no file there: write "
            f"{{project}}/{launcher[0].removeprefix('./')}"
        )
    return launcher


LauncherWords = Annotated[list[Annotated[str, Field(min_length=1)]], AfterValidator(_of_a_program)]
