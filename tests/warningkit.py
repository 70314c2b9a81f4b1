"""Warnings as a reader sees them."""

from dataclasses import dataclass

from layoutrand.warning import AnyWarning


def said(warnings):
    """Their sentences, in order."""
    return tuple(map(str, warnings))


@dataclass(frozen=True)
class Sentence(AnyWarning):
    """A warning of any words."""

    text: str

    def __str__(self):
        return self.text
