"""``[cluster]``: where layouts are linked and executed besides here, through an engine that is there already.

What an engine is told is a table of its own (`layoutrand.engines`); which one it is says ``kind``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Union

from pydantic import Field, SerializeAsAny, TypeAdapter, ValidatorFunctionWrapHandler, WrapValidator

from layoutrand.engines import known
from layoutrand.engines.engine import Remote
from layoutrand.text.strict_table import StrictTable

HERE: Final = "local"
"""``kind`` where no machine but this one is used."""


class Local(StrictTable):
    """No machine but this one."""

    kind: Literal["local"] = "local"


def tables() -> dict[str, type[StrictTable]]:
    """What ``[cluster]`` may be, by ``kind``."""
    return {HERE: Local, **{engine.name: engine.table for engine in known.engines()}}


def _checked(table: Any, _own: ValidatorFunctionWrapHandler) -> Local | Remote:
    """The table as the one of its ``kind``; looked up at the time, so that an engine need only be there."""
    if isinstance(table, Local | Remote):
        return table
    one_of: Any = Union[tuple(tables().values())]  # noqa: UP007 - made of a list
    found: Local | Remote = TypeAdapter(Annotated[one_of, Field(discriminator="kind")]).validate_python(table)
    return found


Cluster = Annotated[Local | SerializeAsAny[Remote], WrapValidator(_checked)]
