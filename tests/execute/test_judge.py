"""What becomes of one execution whose output is not what it should be: a failure that is recorded, and nothing else."""

from types import SimpleNamespace

import pytest

from layoutrand.config.config import Benchmark
from layoutrand.config.metric import Metric
from layoutrand.execute.judge import judge, of_the_program
from layoutrand.execute.measure import Outcome


def judged(output, metric, *, written=None, instrument="native"):
    """The judgement of an execution that ended well and left this."""
    outcome = Outcome(1, 0.0, 1.0, "ok", "", 0, None, {})
    place = SimpleNamespace(
        stdout=output.encode,
        stderr=lambda: b"",
        written=lambda _name: written,
        sandbox=SimpleNamespace(bin=None),
    )
    warmups = {name: SimpleNamespace(iterations=0, setting="") for name in ("iteration_s", "value")}
    benchmark = Benchmark(name="x", command=["x"], metric=metric)
    return judge(outcome, benchmark, instrument, place, reference=None, warmups=warmups)


DACAPO = Metric.model_validate({"suite": {"kind": "dacapo", "benchmark": "fop", "iterations": 1}})


def harness(ms):
    return f"===== DaCapo 9.12 fop starting =====\n===== DaCapo 9.12 fop PASSED in {ms} msec =====\n"


def test_one_garbled_line_of_a_harness_is_one_failure():
    good = judged(harness(221), DACAPO)
    assert (good.status, [each.value for each in good.measurements if each.metric == "iteration_s"]) == ("ok", [0.221])
    for digits in ("9" * 400, "9" * 5000):
        bad = judged(harness(digits), DACAPO)
        assert (bad.status, bad.measurements) == ("no-measurement", ())
        assert bad.reason.startswith("the harness printed a number that is none")


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e-320", "1e400", "nan", "inf", "-1e61"])
@pytest.mark.parametrize("source", [{"regex": "t=(.*)"}, {"json": "/t"}])
def test_a_number_that_cannot_be_analysed_is_one_failure(source, number):
    printed = f"t={number}\n" if "regex" in source else f'{{"t": {number}}}\n'
    bad = judged(printed, Metric.model_validate(source))
    assert (bad.status, bad.measurements) == ("no-measurement", ())


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 5000, "18446744073709551616"])
def test_a_count_of_more_than_64_bits_is_one_failure(digits):
    events = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim"
    profile = f"events: {events}\nsummary: {digits} {'1 ' * 12}\n"
    bad = judged("", Metric(cachegrind=True), written=profile, instrument="cachegrind")
    assert bad.status == "no-measurement"
    assert "cachegrind's out-file is garbled" in bad.reason
    perf = f"{digits};;cycles;1000;100.00;;\n"
    bad = judged("", Metric(counters=["cycles"]), written=perf, instrument="perf")
    assert bad.status == "no-measurement"
    assert "as the count of 'cycles'" in bad.reason


@pytest.mark.parametrize(
    ("instrument", "number", "told"), [("cachegrind", 4, True), ("native", 4, False), ("cachegrind", 11, False)]
)
def test_of_an_instruction_that_a_simulated_processor_does_not_know_the_usual_cause_is_told(instrument, number, told):
    """Makefiles have -march=native, and valgrind knows no AVX-512."""
    ended = Outcome(1, 0.0, 1.0, "signal", f"killed by signal {number}", None, number, {})
    said = of_the_program(ended, SimpleNamespace(argv=()), instrument, SimpleNamespace(stderr=lambda: b""))
    assert ("-march=native" in said.reason) is told
    assert said.reason.startswith(ended.reason)


@pytest.mark.parametrize(("instrument", "told"), [("cachegrind", True), ("native", False)])
@pytest.mark.parametrize(("status", "reason"), [("exit", "exit status 1"), ("ok", "")])
def test_that_valgrind_gave_up_is_no_exit_status_of_the_program(instrument, told, status, reason):
    """Its log alone says so; a program that is to end with 1 would have ended well."""
    ended = Outcome(1, 0.0, 1.0, status, reason, 1, None, {})
    log = "==7== Valgrind: debuginfo reader: Possibly corrupted debuginfo file.\n"
    place = SimpleNamespace(stderr=lambda: b"", all_written=lambda prefix: [log] if prefix == "valgrind.log" else [])
    said = of_the_program(ended, SimpleNamespace(argv=()), instrument, place)
    assert ("Possibly corrupted debuginfo file" in said.reason, said.status) == (
        (True, "no-measurement") if told else (False, status)
    )
