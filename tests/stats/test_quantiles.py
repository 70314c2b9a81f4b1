"""What `scipy.special` is imported with, and that nothing of numpy is missing for it."""

from __future__ import annotations

import subprocess
import sys


def _in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_packages_of_numpy_that_nobody_uses_are_not_loaded():
    code = (
        "import sys; from layoutrand.stats.quantiles import normal_quantile; print(round(normal_quantile(0.95), 6)); "
        "print('numpy.f2py.crackfortran' in sys.modules)"
    )
    assert _in_a_new_process(code).split() == ["1.959964", "False"]


def test_they_are_there_for_whoever_uses_them_afterwards():
    code = (
        "import numpy; names = dir(numpy); from layoutrand.stats.quantiles import special; special(); "
        "numpy.testing.assert_allclose(1.0, 1.0); from numpy.polynomial import Polynomial; import numpy.f2py.auxfuncs; "
        "print(Polynomial([0, 1])(2.0), numpy.f2py.auxfuncs.isarray({}), set(names) <= set(dir(numpy)), 'f2py' in names)"
    )
    assert _in_a_new_process(code) == "2.0 False True True"


def test_all_that_numpy_has_can_be_imported_from_it_afterwards():
    code = (
        "from layoutrand.stats.quantiles import special; special(); from numpy import *; "
        "print(polynomial.Polynomial([0, 1])(2.0), testing.__name__)"
    )
    assert _in_a_new_process(code) == "2.0 numpy.testing"
