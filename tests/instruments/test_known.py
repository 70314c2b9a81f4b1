"""The contract that every instrument and every profiler keeps; what each one reads exactly is tested beside this."""

from __future__ import annotations

import json
import stat

import pytest

from layoutrand.config.metric import Metric
from layoutrand.config.warmup_choices import InForce
from layoutrand.errors import FeatureUnsupported, NoMeasurement, ToolNotFound
from layoutrand.harnesses.case_names import metric_of
from layoutrand.harnesses.harness import Case, CaseQuantity
from layoutrand.instruments import known
from layoutrand.instruments.instrument import EndedExecution, InstrumentFiles
from layoutrand.instruments.profile import ProfiledExecution
from layoutrand.model import Measurement

WRITTEN = {
    "cachegrind.7": (
        "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim\n"
        "summary: 1000 20 3 400 50 6 70 8 9 100 11 12 13\n"
    ),
    "qemu": "begin 7 0\nend 7 4711\n",
    "qemu-caches": "begin 7 0 0 0 0 0 0 0\nend 7 4711 20 3 400 70 58 12\n",
    "perf": "5;;page-faults;1203945;100.00;;\n3.5;msec;task-clock;1203945;100.00;;\n",
}
ASKING = {
    "native": [{"wall": True}, {"regex": "t=([0-9]+)", "name": "t"}, {"wall": True, "regex": "t=([0-9]+)"}],
    "cachegrind": [{"cachegrind": True}, {"instruments": ["cachegrind"]}],
    "simulating-harness": [{"suite": {"kind": "harness", "harness": name}} for name in ("iai-callgrind", "gungraun")],
    "perf": [{"counters": ["page-faults"]}, {"counters": ["task-clock", "page-faults"]}],
}
"""What asks for each instrument; one without an entry is asked for by its name."""


def asking(instrument):
    return [Metric(**given) for given in ASKING.get(instrument.name, [{"instruments": [instrument.name]}])]


CASES = (Case("few", {"instructions": CaseQuantity("1", (7.0,))}),)


def ended(metric, *, written=None, output=b"t=3\n", messages=b"a message\n", cases=CASES):
    return EndedExecution(
        metric,
        7,
        1.5,
        {"user_s": 0.5, "max_rss_bytes": 4096.0},
        output=lambda: output,
        messages=lambda: messages,
        written=(WRITTEN if written is None else written).get,
        harness=None,
        warmups={number.name: InForce(0, "metric.warmup") for number in metric.numbers().values()},
        cases=cases if metric.by_case else (),
    )


@pytest.fixture(params=known.starters(), ids=lambda each: each.name)
def starter(request):
    return request.param


@pytest.fixture(params=known.instruments(), ids=lambda each: each.name)
def instrument(request):
    return request.param


@pytest.fixture(params=known.profilers(), ids=lambda each: each.name)
def profiler(request):
    return request.param


@pytest.fixture
def files(tmp_path):
    (tmp_path / "output").mkdir()
    (tmp_path / "scratch").mkdir()
    return InstrumentFiles(tmp_path / "output", scratch=tmp_path / "scratch")


# --- both ---------------------------------------------------------------------------------------------------------


def test_results_know_it_by_a_name_that_never_changes():
    """Another name would have everything executed anew, and another order would be another schedule."""
    kept = {"native", "cachegrind", "perf", "qemu", "perf-record", "callgrind"}
    assert [each.name for each in known.instruments() if each.name in kept] == [
        "native",
        "cachegrind",
        "perf",
        "qemu",
    ]
    assert [each.name for each in known.profilers() if each.name in kept] == ["perf-record", "callgrind"]


def test_it_is_found_by_its_name(starter):
    assert known.starter(starter.name) is starter
    assert [each.name for each in known.starters()].count(starter.name) == 1


def test_a_name_that_is_none_is_told_with_those_that_are():
    with pytest.raises(FeatureUnsupported, match="no instrument is called 'sundial'; there are native, "):
        known.starter("sundial")
    with pytest.raises(FeatureUnsupported, match="callgrind measures nothing"):
        known.instrument("callgrind")


def test_a_machine_without_its_program_is_told_what_to_install(starter, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    if not starter.program:
        assert starter.find() == ""
        return
    with pytest.raises(ToolNotFound, match=starter.program) as caught:
        starter.find()
    assert starter.how_to_install() in str(caught.value)


def test_its_program_is_found_as_absolute_path(starter, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in {each.program for each in known.starters()} - {""}:
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", "bin")
    monkeypatch.chdir(tmp_path)
    assert starter.find() == (str(tmp_path / "bin" / starter.program) if starter.program else "")


def test_a_program_under_it_may_take_as_long_as_by_itself(starter):
    assert starter.slowdown >= 1
    assert starter.slowdown > 1 or not starter.simulated or not starter.program  # which a harness starts, as ever


# --- those that measure -------------------------------------------------------------------------------------------


def test_it_is_asked_for_by_its_keys_alone(instrument):
    for metric in asking(instrument):
        assert known.asked(metric) == (instrument,)


def test_one_reads_what_the_program_prints():
    (one,) = [each for each in known.instruments() if each.reads_output]
    assert known.program_itself() is one is known.instruments()[0]
    assert not one.program
    assert known.reads_output(one.name)
    assert not known.reads_output("sundial")


def test_a_prefix_starts_its_program_and_writes_where_it_may(instrument, files):
    for metric in asking(instrument):
        words = instrument.prefix("/x/program", metric, files)
        assert words == instrument.prefix("/x/program", metric, files)
        assert words[:1] == (("/x/program",) if instrument.program else ())
        assert all(isinstance(word, str) for word in words)


def test_what_it_prepares_lies_where_it_may(instrument, files):
    instrument.prepare(files)
    may = (files.scratch, files.output)
    made = [path for path in files.scratch.parent.rglob("*") if path not in may]
    assert all(any(path.is_relative_to(place) for place in may) for path in made), made
    assert all(stat.S_ISFIFO(path.stat().st_mode) or path.is_file() for path in made)


def test_what_decides_its_numbers_is_json_and_the_same_every_time(instrument):
    digests = {json.dumps(instrument.definition(metric)) for metric in asking(instrument)}
    assert digests == {json.dumps(instrument.definition(metric)) for metric in asking(instrument)}
    assert instrument.described
    assert instrument.settings


def test_it_measures_the_metrics_that_it_names(instrument):
    """The one to judge by first; each once in every iteration, and finite."""
    for metric in asking(instrument):
        names = [metric_of("few", "instructions")] if metric.by_case else instrument.metrics(metric)
        found = instrument.measurements(ended(metric))
        assert names
        assert len(set(names)) == len(names)
        assert set(names) <= {measurement.metric for measurement in found}
        assert all(isinstance(each, Measurement) and each.unit is not None for each in found)
        assert len({(each.metric, each.iteration) for each in found}) == len(found)
        assert {instrument.summing_up} - {""} <= set(names)


def test_an_execution_that_left_nothing_has_measured_nothing(instrument):
    """Or only what is known without files and output."""
    for metric in asking(instrument):
        nothing = ended(metric, written={}, output=b"", messages=b"", cases=())
        if instrument.reads_output and not metric.numbers():
            assert instrument.measurements(nothing)
            continue
        with pytest.raises(NoMeasurement):
            instrument.measurements(nothing)


def test_a_program_that_ended_well_died_of_no_signal(instrument, files):
    for metric in asking(instrument):
        argv = (*instrument.prefix("/x/program", metric, files), "prog")
        assert instrument.fatal_signal(lambda: b"words\n", argv) is None


def test_what_is_not_known_here_is_of_a_real_processor_and_counts():
    """Imported results have instruments of their own."""
    assert "sundial" not in known.simulated()
    assert known.counts("sundial")
    assert known.simulated() >= {"cachegrind", "callgrind"}


def test_a_harness_that_has_no_processor_simulated_is_read_with_the_program_itself():
    metric = Metric(suite={"kind": "harness", "harness": "criterion"})
    assert [each.name for each in known.asked(metric)] == ["native"]


# --- profilers ----------------------------------------------------------------------------------------------------


def test_no_metric_asks_for_a_profiler(profiler):
    assert profiler.name not in [each.name for each in known.instruments()]
    assert profiler.option
    assert len({each.option for each in known.profilers()}) == len(known.profilers())
    assert profiler.option in profiler.words("cycles:u")
    assert profiler.option in profiler.alternative()


def test_a_profilers_prefix_starts_its_program(profiler, files):
    words = profiler.prefix("/x/program", "cycles:u", files)
    assert words[0] == "/x/program"
    assert any(str(files.output) in word for word in words)


def test_an_execution_without_samples_or_files_has_no_profile_of_the_artefact(profiler, files):
    nothing = ProfiledExecution(["/x/prog"], files, segments=list, written=lambda _: [], say=lambda _: "")
    try:
        assert not profiler.profile("/x/program", nothing).cost
    except NoMeasurement:
        pass
