"""The process in which a node executes a bout."""

from __future__ import annotations

from layoutrand.cluster.measuring_node import execute_here
from layoutrand.platform.child import serve


def main() -> None:
    """Answer the bout that the parent gives."""
    serve(execute_here)
