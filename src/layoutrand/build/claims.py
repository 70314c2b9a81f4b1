"""What can be claimed of a finished artefact and its link; `layoutrand.build.descent` finds out which of it holds."""

from __future__ import annotations

from typing import Final

AS_LINKED: Final = "file as linked"
LOADED: Final = "loaded contents as linked"
CODE: Final = "code as linked"
NOT_COMPARABLE: Final = "not comparable"

STRONGEST_FIRST: Final = (AS_LINKED, LOADED, CODE, NOT_COMPARABLE)
"""How much of the link is proved to be in the artefact: all; what is loaded; the code; nothing."""
