"""Every public function, given what is no measurement, or hardly one: a result or a clear error, never a crash."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError

HUGE = 10**400
"""An integer of 401 digits, which no floating point number is."""

GOOD = [1.0, 2.0, 3.0, 1.5, 2.5, 1.2, 2.2, 1.7]
NUMBERS = {
    "denormal": [5e-324, 1e-323, 1.5e-323, 5e-324, 2e-323, 1e-322, 5e-323, 1e-323],
    "tiny": [1e-300, 2e-300, 1.5e-300, 1.1e-300, 1.2e-300],
    "largest": [1e308, 1.1e308, 1.2e308, 1.3e308, 1.05e308],
    "of all sizes": [1e-308, 1e308, 1.0, 2.0, 3.0],
    "huge integers": [HUGE, HUGE + 1, 2 * HUGE, 3 * HUGE, HUGE],
    "one huge integer": [1.0, 2.0, 3.0, HUGE, 2.0],
    "masked": np.ma.array([1.0, 2.0, 3.0, 4.0, 1e9], mask=[0, 0, 0, 0, 1]),
    "masked inside": [np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[0, 0])],
    "masked nowhere": np.ma.array(GOOD),
    "decimals": [Decimal(1), Decimal(2), Decimal("1.5"), Decimal("2.5"), Decimal(3)],
    "fractions": [Fraction(1), Fraction(2), Fraction(3, 2), Fraction(5, 2), Fraction(3)],
    "truth values": [True, False, True, False, True],
    "texts": ["1", "2", "3", "4", "5"],
    "text": "12345",
    "bytes": b"123",
    "objects": np.array([1.0, 2.0, None, 4, 5], dtype=object),
    "numbers as objects": np.array(GOOD, dtype=object),
    "not a number": [1.0, math.nan, 2.0, 3.0, 4.0],
    "infinite": [1.0, math.inf, 2.0, 3.0, 4.0],
    "empty": [],
    "an empty row": [[1.0, 2.0], [], [3.0]],
    "no dimension": np.array(3.0),
    "a number": 3.0,
    "nothing": None,
    "ragged": [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]],
    "ragged in depth": [[1.0, 2.0], 3.0, [4.0]],
    "a mapping": {"a": 1},
    "complex": [1 + 2j, 2.0, 3.0, 4.0, 5.0],
    "one": [1.0],
    "constant": [2.0] * 5,
    "zeros": [0.0] * 5,
    "around zero": [-1.0, 1.0, -1.0, 1.0, 0.0],
    "dates": np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]"),
    "small integers": np.array([1, 2, 3, 4, 5], dtype=np.uint8),
    "beyond doubles": np.array([1, 2, 3, 4, 5], dtype=np.longdouble) * np.longdouble("1e4000"),
    "six levels": [[[[[[1.0, 2.0]]]]], [[[[[1.0, 3.0]]]]]],
}
SCALARS = [HUGE, -HUGE, -1, 0, math.nan, math.inf, -math.inf, 5e-324, True, "x", None, 1e308, Decimal("0.5"), []]
STUDIES = {"coverage_study", "false_alarm_study", "power_study", "published_models", "watching_study"}
"""They simulate by themselves, and take long."""

QUICK = {"n_resamples": 40, "n_datasets": 2, "n_permutations": 40, "limit": 30}
FUNCTIONS = sorted(name for name in stats.__all__ if inspect.isfunction(getattr(stats, name)) and name not in STUDIES)


def _usual(parameter):
    """An argument that the function takes."""
    kind = str(parameter.annotation)
    if parameter.name in QUICK:
        return QUICK[parameter.name]
    known = {
        "Callable": lambda _: stats.mean_interval(GOOD),
        "Mapping": {"b": GOOD, "c": GOOD},
        "Measurements": GOOD,
        "Interval": stats.mean_interval(GOOD),
        "PairSpread": stats.pair_spread(GOOD, GOOD[::-1]),
        "HierarchicalModel": stats.HierarchicalModel(mean=1.0, sds=(1.0,), layout="normal"),
        "Hashable": [1, 2] * (len(GOOD) // 2),
        "Sequence[int": (5,),
        "Sequence": [0.1, 0.2, 0.3, 0.4],
    }
    if parameter.default is not parameter.empty:
        return parameter.default
    found = next((value for word, value in known.items() if word in kind), None)
    return {"float": 0.5, "int": 5, "str": "log", "bool": True}.get(kind, found)


def _trials(parameter, usual):
    """What is tried in its place: measurements and numbers; what is a kind of its own has a type of its own."""
    kind = str(parameter.annotation)
    if "Mapping" in kind and isinstance(usual, Mapping):
        yield from ({"b": nasty, "c": GOOD} for nasty in NUMBERS.values())
        yield from (nasty for nasty in NUMBERS.values() if not isinstance(nasty, Mapping))
    elif any(word in kind for word in ("Measurements", "ArrayLike", "FloatArray", "Sequence[float", "Values")):
        yield from NUMBERS.values()
        yield from SCALARS
    elif kind in {"float", "int", "float | None", "int | None", "str"}:
        is_count = parameter.name in QUICK
        yield from (value for value in SCALARS if not (is_count and value == 1e308))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_or_a_clear_error(name):
    """Every parameter in turn; warnings of numpy are not what a user should see, but they are no crash."""
    function = getattr(stats, name)
    parameters = inspect.signature(function).parameters.values()
    usual = {each.name: _usual(each) for each in parameters}
    crashes = []
    for parameter in parameters:
        for nasty in _trials(parameter, usual[parameter.name]):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**{**usual, parameter.name: nasty})
            except AnalysisError as error:
                crashes += [(parameter.name, "said nothing", "")] if len(str(error)) < 10 else []
            except Exception as error:
                crashes.append((parameter.name, f"{nasty!r:.60}", repr(error)[:100]))
    assert crashes == []


@pytest.mark.parametrize("masked", ["masked", "masked inside"])
def test_what_is_masked_is_never_counted(masked):
    """An array would forget the mask, and the mean would be of what was to be left out."""
    with pytest.raises(AnalysisError, match="some measurements are masked; leave them out"):
        stats.mean_interval(NUMBERS[masked])


def test_a_mask_of_nothing_is_none():
    assert stats.mean_interval(NUMBERS["masked nowhere"]) == stats.mean_interval(GOOD)


def test_denormals_have_a_ratio():
    """Of the same denormal numbers it is 1, and an interval around it."""
    small = NUMBERS["denormal"]
    found = stats.ratio_interval(small, small)

    assert found.low < 1 == found.centre < found.high
    assert stats.ratio_test(small, small).p_value == 1


def test_an_integer_of_hundreds_of_digits_is_refused_in_words():
    with pytest.raises(AnalysisError, match=r"the number at \[3\] is beyond the range of floating point"):
        stats.mean_interval(NUMBERS["one huge integer"])
    with pytest.raises(AnalysisError, match="so many digits"):
        stats.mean_interval(GOOD, method="bootstrap", confidence=HUGE)


MODEL = stats.HierarchicalModel(mean=100.0, sds=(1.0, 1.0, 1.0), layout="normal")
FEW = {"n_datasets": 1, "n_resamples": 20, "tests": ["t"]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # Anything but "less" used to turn the verdict round.
        (lambda: stats.decide(stats.mean_interval([0.9, 0.91, 0.92]), better="lower"), "unknown better 'lower'"),
        (
            lambda: stats.missed_share(np.int64(30)),
            r"integer of at least 1, got (np.int64\()?30\)?; give int\(30\), Python",
        ),
        (lambda: stats.mean_interval(GOOD, seed=np.int64(3)), r"got (np.int64\()?3\)?; give int\(3\), Python"),
        (lambda: stats.mean_interval(GOOD, method="bca", n_resamples=np.int64(99)), r"give int\(99\), Python"),
        (lambda: stats.watching_study(noises=["normal"], differences=[-1.5]), "give more than -1"),
        (lambda: stats.coverage_study(MODEL, lower_counts=(2,)), "lower_counts: 1 for the 2 levels"),
        (lambda: stats.power_study([25.0], [-1.0], **FEW), "a standard deviation is at least 0, got -1"),
        (lambda: stats.power_study([25.0], [1.0], n_different=[2], **FEW), "2 of 1 benchmarks cannot differ"),
        (lambda: stats.power_study([25.0], [1.0], n_different=[-1], **FEW), "n_different must be an integer"),
        (lambda: stats.power_study([25.0], [1.0], significance=5, **FEW), "significance must lie strictly between"),
        (lambda: stats.power_study([25.0], [1.0], difference=math.nan, **FEW), "difference must be a finite number"),
    ],
)
def test_what_gave_an_answer_to_no_question_is_refused(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()


@pytest.mark.parametrize("values", [[1.6e308, 1.7e308], [-1.7e308, 1.7e308], [5e-324, 5e-324], [1.0, 2.0]])
def test_a_median_lies_between_the_values_of_any_size(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert min(values) <= stats.median_interval(values).centre <= max(values)
