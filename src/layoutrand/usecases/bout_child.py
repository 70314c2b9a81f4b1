"""The process in which a node executes a bout."""

from __future__ import annotations

from layoutrand.platform.child import serve
from layoutrand.usecases.bout_node import execute_here


def main() -> None:
    """Answer the bout that the parent gives."""
    serve(execute_here)
