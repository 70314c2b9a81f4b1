"""The process in which a node executes a task."""

from __future__ import annotations

from layoutrand.cluster.measuring_node import execute_here
from layoutrand.platform.child import serve


def main() -> None:
    """Answer the task that the parent gives."""
    serve(execute_here)
