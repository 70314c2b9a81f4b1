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
    Candidate mean / baseline mean, always with its interval.

The packages are stages of the work, and each imports only from those before it: ``errors``; ``model`` and ``stats``;
``platform``, ``text``, ``objects``, ``layout``, ``engines``, ``config``, ``instruments``, ``linkers``, ``host``,
``cache``; ``link``, ``capture``, ``results``, ``suites``, ``jvm``, ``build``, ``execute``; ``analysis``; ``report``,
``interop`` and ``explain``; ``cluster``; ``cli``.  ARCHITECTURE.md says what is where.
"""

__version__ = "0.1.0"
