"""What a comparison says of one benchmark beside its ratio, as JSON values."""

from __future__ import annotations

from typing import Any

from layoutrand.analysis.compare import BenchmarkRatio
from layoutrand.analysis.conclusion import CANNOT_TELL, SAME_PROGRAM, Conclusion, stated
from layoutrand.stats import Interval
from layoutrand.text.quantities import finite


def comparison_json(pair: BenchmarkRatio, concluded: Conclusion) -> dict[str, Any]:
    """Which ratio leads, the other one, and what single binaries and the default builds would say.

    No single binaries mislead where there is no verdict (``concluded``).
    """
    unpaired, single, own, median = pair.unpaired, pair.single_pairs, pair.as_built, pair.median
    same = None if pair.same_program is None else stated(SAME_PROGRAM)
    return {
        "primary": pair.primary,
        "unpaired": None
        if unpaired is None
        else {"ratio": unpaired.centre, **interval_json(unpaired), "verdict": same or pair.unpaired_verdict},
        "new_pair": None if pair.new_pair is None else {"ratio": pair.new_pair.centre, **interval_json(pair.new_pair)},
        "could_miss": pair.could_miss,
        "median": None
        if median is None
        else {
            "ratio": median.ratio.centre,
            **interval_json(median.ratio),
            "verdict": same or median.verdict,
            "of": median.of,
        },
        "single_pairs": None if single is None or concluded.verdict == CANNOT_TELL else vars(single),
        "as_built": None
        if own is None
        else {
            "ratio": own.ratio.centre,
            **interval_json(own.ratio),
            "verdict": same or own.verdict,
            "luck": None if own.luck is None else {"ratio": own.luck.centre, **interval_json(own.luck)},
        },
    }


def interval_json(interval: Interval) -> dict[str, Any]:
    """The keys that every interval has in JSON."""
    return {
        "interval": [finite(interval.low), finite(interval.high)],
        "confidence": interval.confidence,
        "half_width": finite(interval.half_width),
        "relative_half_width": finite(interval.relative_half_width),
        "method": interval.method,
    }
