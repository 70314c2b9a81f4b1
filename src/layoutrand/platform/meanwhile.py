"""What is imported while something else is waited for."""

from __future__ import annotations

from importlib import import_module
from threading import Thread


def import_meanwhile(name: str) -> None:
    """Import a module by a thread: who imports it later waits for what is left of that, or for nothing.

    An error is that of the later import, too, which tells of it.
    """
    Thread(target=_import, args=(name,), daemon=True).start()


def _import(name: str) -> None:
    try:
        import_module(name)
    except ImportError:  # raised again where it is used
        return
