"""The contract that every suite keeps; what each one does with its own harness is tested beside this."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from layoutrand.config.dacapo_settings import DacapoSuite
from layoutrand.config.readings import NUMBERS, Reading
from layoutrand.config.spec_settings import SpecSuite
from layoutrand.errors import ConfigError
from layoutrand.suites.known import by_kind, by_reading, suites
from layoutrand.suites.suite import HarnessOutput

NOTHING = HarnessOutput("ok", "", 0, "", "", files={})
SETTINGS = {
    "dacapo": {"jar": "nowhere/dacapo.jar", "benchmarks": ["fop"], "iterations": 3},
    "spec-cpu": {"root": "nowhere/spec", "benchmarks": ["505.mcf_r"]},
}


@pytest.fixture(params=suites(), ids=lambda suite: suite.kind)
def suite(request):
    return request.param


def reading_of(suite):
    (found,) = [
        each for each in get_args(Reading) if get_args(each.model_fields["kind"].annotation) == (suite.reading,)
    ]
    return found(kind=suite.reading, benchmark="b")


def settings_of(suite):
    tables = {get_args(table.model_fields["kind"].annotation)[0]: table for table in (DacapoSuite, SpecSuite)}
    return tables[suite.kind].model_validate({"kind": suite.kind, **SETTINGS[suite.kind]})


def test_it_is_found_by_its_table_and_by_its_readings(suite):
    assert by_kind(suite.kind) is by_reading(suite.reading) is suite
    assert suite.reading in NUMBERS
    assert reading_of(suite).kind == suite.reading


def test_a_harness_that_says_nothing_has_measured_nothing(suite):
    """Whatever its exit status."""
    verdict = suite.judge(reading_of(suite), NOTHING)
    assert verdict.status not in ("ok", "")
    assert verdict.reason


def test_where_nothing_is_installed_the_setting_is_named(suite, tmp_path):
    settings = settings_of(suite)
    place = tmp_path / suite.installed(settings)
    assert suite.place.startswith("suite.")
    with pytest.raises(ConfigError, match=suite.place):
        suite.identity(Path(place), str(place))


def test_a_folder_without_results_adds_nothing(suite, tmp_path):
    (tmp_path / "exe").mkdir()
    ended = suite.left_behind(NOTHING, tmp_path, {"exe/prog": "0" * 64})
    assert (ended.files, dict(ended.digests)) == ({}, {})
    assert suite.worth_keeping(tmp_path) == []
