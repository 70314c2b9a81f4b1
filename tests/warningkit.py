"""Warnings as a reader sees them."""


def said(warnings):
    """Their sentences, in order."""
    return tuple(map(str, warnings))
