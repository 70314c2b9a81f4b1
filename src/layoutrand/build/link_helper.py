"""The helper of a build whose links are laid out: what it does for each, and what it keeps from one to the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from layoutrand.build.apply import RelinkOrders, relink_recorded
from layoutrand.capture.link_memory import LinkMemory
from layoutrand.platform.helper import Client, helper
from layoutrand.platform.process import SubprocessRunner


@contextmanager
def relinking(order: Path | None) -> Iterator[None]:
    """While it lasts, links are laid out by the order that was written to this path; None to lay out nothing."""
    if order is None:
        yield
        return
    with helper(order.parent, ["relink-helper", str(order)], RelinkOrders.read(order).place.temporary):
        yield


class RelinkService:
    """What the helper does; see `layoutrand.platform.helper.Service`."""

    def __init__(self, order: Path) -> None:
        """Lay out by the order that was written to this path."""
        self._order = RelinkOrders.read(order)
        self._memory = LinkMemory(order.parent / "known")
        self._runner = SubprocessRunner()

    def answer(self, request: str, client: Client) -> int:
        """Lay out the link whose record is asked for; what `relink_recorded` raises."""
        relink_recorded(Path(request), self._order, self._runner, self._memory, client.place)
        return 0

    def news(self) -> bytes:
        """What the link taught."""
        return self._memory.news()

    def learn(self, news: bytes) -> None:
        """Take in what a link taught."""
        self._memory.learn(news)
