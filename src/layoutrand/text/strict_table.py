"""What every table of layoutrand.toml has in common: strict types, no unknown keys, nothing changed after checking."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

STRICT: Final = ConfigDict(extra="forbid", frozen=True, strict=True)

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
NAME_RULE: Final = "use letters, digits and . _ + - only, beginning with a letter or digit"
"""`NAME_PATTERN` in words."""

Name = Annotated[str, Field(pattern=NAME_PATTERN)]


def no_items() -> list[Any]:
    """An empty list, for fields: of `list` itself pydantic would ask the signature, a text that is tokenized for it."""
    return []


class StrictTable(BaseModel):
    """A table of layoutrand.toml."""

    model_config = STRICT
