"""Documents that every reader of JSON takes."""

import json
import math

import numpy as np

from layoutrand.text.strict_json import json_text


def test_what_has_no_bounds_or_is_not_known_is_null():
    document = {
        "a": [1.5, math.inf, (-math.inf, {"b": math.nan})],
        "c": np.float64("inf"),
        "d": 7,
        "e": "inf",
        "f": None,
    }
    text = json_text(document)

    assert json.loads(text, parse_constant=str) == {
        "a": [1.5, None, [None, {"b": None}]],
        "c": None,
        "d": 7,
        "e": "inf",
        "f": None,
    }
    assert text.endswith("}\n")
