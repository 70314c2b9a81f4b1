"""That a build goes on is told while it does, and no longer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from keptkit import wait_until
from layoutrand.capture.long_builds import told_while_it_goes_on

LOG = Path("/cache/logs/build-O2.log")


def test_a_build_that_goes_on_is_told_again_and_again():
    said = []
    with told_while_it_goes_on(said.append, "O2: instrumented build", LOG, every_s=0.001):
        assert wait_until(lambda: len(said) > 2)
    count = len(said)
    assert said[0].startswith("O2: instrumented build: ")
    assert said[0].endswith(f" so far; what it prints: {LOG}")
    assert said[1].endswith(" so far")
    assert len(said) == count
    assert not [each for each in threading.enumerate() if each.name == "long build"]


def test_nothing_is_said_of_a_short_build_nor_of_one_that_failed():
    said = []
    with pytest.raises(KeyError), told_while_it_goes_on(said.append, "O2: stock build", LOG):
        raise KeyError
    assert said == []
    assert not [each for each in threading.enumerate() if each.name == "long build"]
