"""Documents as JSON that every reader takes, which has neither infinity nor NaN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from layoutrand.text.quantities import finite


def json_text(document: Any) -> str:
    """The document, indented, with a line end; null for numbers without bounds, and for those that are not known."""
    return json.dumps(_expressible(document), indent=2, allow_nan=False) + "\n"


def _expressible(value: Any) -> Any:
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Mapping):
        return {key: _expressible(inner) for key, inner in value.items()}
    return [_expressible(inner) for inner in value] if isinstance(value, list | tuple) else value
