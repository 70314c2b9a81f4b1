"""Warnings as a reader sees them."""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass

from layoutrand.warning import AnyWarning
from sourcekit import SOURCE


def said(warnings):
    """Their sentences, in order."""
    return tuple(map(str, warnings))


def unwrapped(text):
    """What `--full` printed, each sentence in one line."""
    return text.replace("\n  ", " ")


@dataclass(frozen=True)
class Sentence(AnyWarning):
    """A warning of any words."""

    text: str

    def __str__(self):
        return self.text


def kinds():
    """Every concrete kind of warning that the package has."""
    for module in pkgutil.walk_packages([str(SOURCE)], "layoutrand."):
        if "quickstart" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found, left = set(), [AnyWarning]
    while left:
        for kind in left.pop().__subclasses__():
            left.append(kind)
            if kind.__module__.startswith("layoutrand.") and not inspect.isabstract(kind):
                found.add(kind)
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))
