"""Strings as TOML has them."""

from __future__ import annotations

import json


def toml_string(value: object) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but TOML wants DEL escaped too."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
