"""layoutrand: how much of a timing difference is only where the code happened to land in memory?

The nouns, each with one meaning in code, files and output:

system
    One side of a comparison: source revision, toolchain and flags.
capture
    The immutable record of one instrumented build: per artefact the exact linker command and every input by content.
section
    An input section of a captured object; the unit that is placed.
factor
    One thing that is randomised, such as ``function-order``.
seed
    An integer 0 ... 2^64-1 that names one layout. Two layouts have no number: ``stock`` (the user's own build) and
    ``identity`` (the tool's flags, original order).
layout
    The total order of the sections that a capture, the factors and a seed yield.
binary
    A capture linked in a layout.
execution
    One process started from one binary; an ``iteration`` is one measured repetition inside it.
level
    binary > execution > iteration. Nothing else is called a level.
ratio
    Candidate over baseline, always with its interval: the geometric mean over rounds, else the quotient of the means.

The packages are stages of the work, and each imports only from those before it: ``errors``, ``version`` and
``warning``; ``model`` and ``stats``; ``platform``, ``text``, ``objects``, ``permute``, ``layout``, ``engines``,
``config``, ``harnesses``, ``instruments``, ``linkers``, ``host``, ``cache``; ``link``, ``capture``, ``results``,
``suites``, ``jvm``, ``build``, ``execute``; ``analysis``; ``history``; ``report``, ``interop``, ``explain`` and
``check``; ``screens``; ``cluster``; ``library``; ``cli``.  ARCHITECTURE.md says what is where.

For programs and notebooks there is what ``__all__`` names, stable as docs/library.md says: `load` gives results of a
project, `load_files` those of other harnesses.  Nothing is imported before it is asked for.
"""

from typing import TYPE_CHECKING, Any

from layoutrand.version import __version__

if TYPE_CHECKING:
    from layoutrand.errors import LayoutrandError
    from layoutrand.library.analysed_layouts import AnalysedLayouts, LayoutsOfSystem
    from layoutrand.library.compared_systems import BenchmarkVerdict, ComparedSystems, SuiteVerdict
    from layoutrand.library.loaded_results import Results, load, load_files
    from layoutrand.library.sample_rows import FailureRow, SampleRow

__all__ = [
    "AnalysedLayouts",
    "BenchmarkVerdict",
    "ComparedSystems",
    "FailureRow",
    "LayoutrandError",
    "LayoutsOfSystem",
    "Results",
    "SampleRow",
    "SuiteVerdict",
    "__version__",
    "load",
    "load_files",
]

_PLACES = {
    "AnalysedLayouts": "library.analysed_layouts",
    "BenchmarkVerdict": "library.compared_systems",
    "ComparedSystems": "library.compared_systems",
    "FailureRow": "library.sample_rows",
    "LayoutrandError": "errors",
    "LayoutsOfSystem": "library.analysed_layouts",
    "Results": "library.loaded_results",
    "SampleRow": "library.sample_rows",
    "SuiteVerdict": "library.compared_systems",
    "load": "library.loaded_results",
    "load_files": "library.loaded_results",
}


def __getattr__(name: str) -> Any:
    """What programs get, imported when it is asked for: the command line starts without."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
