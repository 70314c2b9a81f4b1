"""How link-time optimisation divides a program, and which factors have a meaning then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import FUNCTION_ORDER_IN_MODULE, LINK_ORDER, MODULE_ORDER

BALANCED: Final = "balanced"
PER_MODULE: Final = "1to1"
FULL: Final = "full"
THIN: Final = "thin"
KEEPS_MODULES: Final = frozenset({PER_MODULE, THIN})
"""The ways to divide a program in which each native object is made of one module (functions inlined apart)."""

_MODULE_FACTORS: Final = (MODULE_ORDER, FUNCTION_ORDER_IN_MODULE)


def require_factors(division: str, factors: Iterable[str], artefact: str) -> None:
    """Raise `FeatureUnsupported` for a factor that has no meaning where the link generates the code.

    ``division`` is the partitioning, "" for a link without link-time optimisation.
    """
    if not division:
        return
    for factor in factors:
        if factor in _MODULE_FACTORS and division not in KEEPS_MODULES:
            raise FeatureUnsupported(
                f"{artefact}: {factor!r} needs modules, which link-time optimisation mixes (here: {_named(division)}). "
                f"gcc's -flto-partition={PER_MODULE} (in ldflags) and clang's -flto=thin keep them apart; or use "
                "'function-order'"
            )
        if factor == LINK_ORDER:
            raise FeatureUnsupported(
                f"{artefact}: {factor!r} moves objects on the link line, but with link-time optimisation these hold no "
                "code, and another order would change what is generated. Use 'function-order'"
            )


def _named(division: str) -> str:
    return "clang's -flto=full" if division == FULL else f"gcc's partitioning {division!r}"
