"""Systems at captures, and what people are told that they are."""

from types import SimpleNamespace

import pytest

from layoutrand.build.build import SystemBuild
from layoutrand.build.by_capture import called_by_commits


def built(system, capture):
    """What was built of a system at a commit; no capture where it could not be."""
    captured = None if capture is None else SimpleNamespace(id=capture)
    return SystemBuild(system, captured, cached=False, binaries=(), failures=(), notes=())


@pytest.mark.parametrize(
    ("captures", "expected"),
    [
        (["f" * 64, "e" * 64], {"O2 @ffffffffffff": "O2 @one", "O2 @eeeeeeeeeeee": "O2 @two"}),
        (["f" * 64, "f" * 64], {"O2 @ffffffffffff": "O2 @one"}),
        ([None, "e" * 64], {"O2 @eeeeeeeeeeee": "O2 @two"}),
    ],
    ids=["two programs", "one program", "one not built"],
)
def test_people_are_told_the_first_commit_of_a_capture(captures, expected):
    """Both are twelve hexadecimal digits behind @: those of a capture would be looked for in git."""
    results = [built(f"O2 @{name}", capture) for name, capture in zip(("one", "two"), captures, strict=True)]
    assert called_by_commits(results) == expected
