"""Which of many values can be analysed; apart from `digits`, which what starts quickly imports without numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from layoutrand.text.digits import LARGEST_VALUE, SMALLEST_VALUE


def are_measurable(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """As `digits.is_measurable` of each."""
    sizes = np.abs(values)
    return np.asarray((values == 0) | ((sizes >= SMALLEST_VALUE) & (sizes <= LARGEST_VALUE)))
