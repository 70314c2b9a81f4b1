"""Where a project is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from layoutrand.errors import UsageError

CONFIG_NAME: Final = "layoutrand.toml"


def possible(directory: Path) -> Path:
    """The directory, whether it is there or not; raises `UsageError` for what can be none, such as too long a name."""
    try:
        os.stat(directory)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise UsageError(f"{directory}: {getattr(error, 'strerror', None) or error}") from error
    return directory


def project_of(directory: Path) -> Path:
    """Where layoutrand.toml is: in the directory, or in the nearest one above it; else the directory itself.

    Raises `UsageError` for one above that is another user's: its commands would be executed.
    """
    if os.path.exists(possible(directory) / CONFIG_NAME) or not directory.is_dir():
        return directory
    for folder in directory.resolve().parents:
        try:
            owner = os.stat(folder / CONFIG_NAME).st_uid
        except OSError:
            continue
        if owner not in {os.geteuid(), 0}:
            raise UsageError(
                f"{folder / CONFIG_NAME} belongs to another user, so it is used only where {folder} is named itself "
                "(on the command line by -C)"
            )
        return Path(os.path.relpath(folder))
    return directory
