"""The configuration of a project, and which of its systems are meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.errors import UsageError
from layoutrand.library.project_directory import CONFIG_NAME

if TYPE_CHECKING:
    from layoutrand.config.config import Config


def read_config(directory: Path, *, elsewhere: str = "") -> tuple[Config, list[str]]:
    """The configuration of the project in a directory, and what to warn of.

    Raises `UsageError` where there is none, with what to do (``elsewhere``: how another directory is named), and
    `ConfigError` for what is wrong with it.
    """
    from layoutrand.config.config import parse
    from layoutrand.harnesses.command_words import with_harness_words
    from layoutrand.instruments.asked_for import check_asked
    from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

    path = directory / CONFIG_NAME
    try:
        text = text_of_regular(path, largest=WRITTEN_BY_HAND)
    except FileNotFoundError as error:
        raise UsageError(
            f"no {CONFIG_NAME} in {directory.absolute()}; `layoutrand init` writes one{elsewhere}"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    config = with_harness_words(parse(text, path=str(path)), str(path))
    check_asked(config.benchmarks, str(path))
    if config.suite is None:
        from layoutrand.cluster.inputs import missing_in_directory

        return config, [f"{path}: {sentence}" for sentence in missing_in_directory(config, directory)]
    from layoutrand.suites.expand import expanded

    return expanded(config, directory), []


def choose_systems(config: Config, wanted: Sequence[str] | None) -> list[str]:
    """The systems named, or all."""
    from layoutrand.config.config import choose

    return choose("system", list(wanted or []), list(config.systems))


def match_systems(config: Config, wanted: Sequence[str] | None) -> list[str]:
    """The systems named, or matched by a pattern such as ``gcc-*``; all where none is asked for."""
    from layoutrand.config.matrix import matching

    return choose_systems(config, matching("system", list(wanted or []), list(config.systems)))
