"""What SPEC CPU's tools print and write: every ending of an execution, and why a build failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutrand.config.readings import SpecReading
from layoutrand.suites.spec_output import build_problems, judge, stored_exehashes
from layoutrand.suites.suite import HarnessOutput

SAMPLES = Path(__file__).parents[3] / "shared/samples/spec"
EXE = "benchspec/CPU/505.mcf_r/exe/mcf_r_base.layoutrand"
COPY = "benchspec/CPU/505.mcf_r/run/run_base_test_layoutrand.0000/mcf_r_base.layoutrand"
OURS, OTHERS = "a" * 64, "b" * 64
FINISHED = "runcpu finished at 2026-11-22 01:11:33; 0 total seconds elapsed\n"
READING = SpecReading(kind="spec-rsf", benchmark="505.mcf_r")


def rsf(*iterations, benchmark="505_mcf_r", year=2017, tune="base"):
    """A raw file with these records, each a table of keys."""
    lines = [f"spec.cpu{year}.lognum: 001.0"]
    for place, record in enumerate(iterations):
        keys = {"benchmark": benchmark.replace("_", ".", 1), "valid": "S", "reported_time": "12.054889", **record}
        prefix = f"spec.cpu{year}.results.{benchmark}.{tune}.{place:03}"
        lines += [f"{prefix}.{key}: {value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def ended(raw=None, *, log=FINISHED, output="", messages="", status="ok", reason="", files=None, **changes):
    """An execution that left this raw file and log."""
    found = {"result/CPU2017.001.log": log, **(files or {})}
    if raw is not None:
        found["result/CPU2017.001.intrate.test.rsf"] = raw
    proof = {"expected": {EXE: OURS}, "digests": {EXE: OURS, COPY: OURS}} | changes
    return HarnessOutput(status, reason, 0, output, messages, found, **proof)


def outcome(*arguments, **changes):
    verdict = judge(READING, ended(*arguments, **changes))
    assert (verdict.status == "ok") == bool(verdict.values)
    return verdict.status, verdict.reason


def test_the_reported_time_is_the_measurement():
    """In full precision."""
    verdict = judge(READING, ended(rsf({"exehash": OURS})))

    assert (verdict.status, verdict.values) == ("ok", (12.054889,))


@pytest.mark.parametrize(
    ("record", "log", "status", "words"),
    [
        (
            {"valid": "VE", "errors000": "Output miscompare"},
            "*** Miscompare of inp.out; for details see\n    /x/inp.out.mis\n",
            "wrong-output",
            ["VE", "miscompare of inp.out", "first: 0001:  obj 1 | obj 2"],
        ),
        (
            {
                "valid": "RE",
                "errors000": "copy 0 non-zero return code (exit code=127, signal=0)",
                "reported_time": "0.000570",
            },
            "",
            "exit",
            ["exited with status 127", "RE"],
        ),
        (
            {"valid": "RE", "errors000": "copy 0 non-zero return code (exit code=0, signal=11)"},
            "",
            "signal",
            ["killed by signal 11"],
        ),
        (
            {"valid": "CE", "errors000": "Error with make!", "reported_time": "--"},
            "",
            "start",
            ["CE", "Error with make!"],
        ),
        ({"valid": "SE"}, "", "start", ["SE", "set-up error"]),
    ],
)
def test_a_failed_iteration_is_no_measurement(record, log, status, words):
    """Though a failed one reports a time like any other."""
    found, reason = outcome(rsf(record), log=log + FINISHED, files={"benchspec/x/inp.out.mis": "0001:  obj 1\nobj 2\n"})

    assert found == status
    assert [word for word in [*words, "log: CPU2017.001.log"] if word not in reason] == []


def test_another_number_of_iterations_than_one_is_no_measurement():
    """Which of them would it be?"""
    assert outcome(rsf({}, {}))[0] == "no-measurement"
    assert "2 results of 505.mcf_r" in outcome(rsf({}, {}))[1]
    assert "0 results of 505.mcf_r" in outcome(rsf({}, benchmark="502_gcc_r"))[1]


def test_a_raw_file_that_was_cut_off_is_no_measurement():
    """In the middle of a line, or before the time."""
    whole = rsf({})

    for cut in (whole[: whole.index("12.05")], whole[:-40]):
        status, reason = outcome(cut)
        assert (status, "cannot be read" in reason) == ("no-measurement", True)


def test_success_with_an_exit_status_is_a_failure():
    """The documentation says so little of the exit status that a bad one is not explained away."""
    assert outcome(rsf({}), status="exit", reason="exit status 1") == (
        "exit",
        "exit status 1, though its raw results report success (log: CPU2017.001.log)",
    )


@pytest.mark.parametrize(
    ("digests", "exehash", "changes", "problem"),
    [
        (
            {EXE: OURS, COPY: OTHERS},
            OURS,
            {},
            "run_base_test_layoutrand.0000/mcf_r_base.layoutrand is not the binary of this layout",
        ),
        ({EXE: OTHERS, COPY: OURS}, OURS, {}, "exe/mcf_r_base.layoutrand is not the binary of this layout"),
        ({COPY: OURS}, OURS, {}, "is gone after the execution"),
        ({EXE: OURS}, OTHERS, {}, "no proof of which binary was executed"),
        ({EXE: OURS, COPY: OURS}, OTHERS, {"hash_is_sha256": True}, "is of another binary than this layout's"),
        ({EXE: OURS, COPY: OURS}, OTHERS, {}, ""),
        ({EXE: OURS}, OURS, {}, ""),
    ],
)
def test_the_binary_that_was_executed_is_proved(digests, exehash, changes, problem):
    """By the file that was executed, and by the suite's own hash of it where that is known to be a SHA-256."""
    status, reason = outcome(rsf({"exehash": exehash}), digests=digests, **changes)

    assert status == ("no-measurement" if problem else "ok")
    assert problem in reason


def test_a_binary_that_was_built_anew_is_no_measurement():
    """--nobuild forbids it; if it happens all the same, the time is not this layout's."""
    log = "  Building 505.mcf_r base layoutrand: (build_base_layoutrand.0000) [2026-11-22 01:11:32]\n" + FINISHED

    assert outcome(rsf({}), log=log)[0] == "start"
    assert "505.mcf_r was built anew" in outcome(rsf({}), log=log)[1]


@pytest.mark.parametrize(
    ("told", "status", "words"),
    [
        (
            {
                "output": "*** Error during benchmark setup for 505.mcf_r\nNOTICE: Nothing to run!  No results will be generated.\n"
            },
            "start",
            "the set-up of 505.mcf_r failed, so there was nothing to run",
        ),
        ({"output": "NOTICE: Nothing to run!  No results will be generated.\n"}, "start", "Nothing to run!"),
        (
            {"output": "ERROR: The label 'x' defines no settings in the config file!\n"},
            "start",
            "The label 'x' defines no settings",
        ),
        (
            {"output": "Can't find benchmark '505.gcc_r'\nNo benchmark suite selected!  Expected one\n"},
            "start",
            "Can't find benchmark '505.gcc_r'; No benchmark suite selected!",
        ),
        ({"messages": "layoutrand: spec-cpu: /spec has no shrc\n"}, "start", "/spec has no shrc"),
        (
            {"messages": "specperl: The SPEC environment variable is not set!\n"},
            "start",
            "SPEC environment variable is not set",
        ),
        ({"output": "*** Error building 505.mcf_r base\n"}, "start", "505.mcf_r has no usable binary"),
        ({"output": "Invalid run; unable to continue.\n"}, "start", "Invalid run; unable to continue."),
        ({"output": ""}, "no-measurement", "finished without raw results"),
    ],
)
def test_why_there_are_no_results(told, status, words):
    """In the suite's own words."""
    found, reason = outcome(**told)

    assert found == status
    assert words in reason


def test_an_execution_that_was_killed_in_the_middle_says_where():
    """No "finished", no raw results: the last step in the log."""
    log = "Benchmarks selected: 505.mcf_r\n  Running 505.mcf_r test base layoutrand (1 copy) [2026-11-22]\n"
    where = "the last step was 'Running 505.mcf_r test base layoutrand (1 copy) [2026-11-22]'"

    assert outcome(log=log) == ("no-measurement", f"the output ends in the middle, {where} (log: CPU2017.001.log)")
    for status in ("signal", "timeout"):
        found, reason = outcome(log=log, status=status, reason="killed by SIGKILL")
        assert found == status
        assert reason == f"killed by SIGKILL, {where}; no raw results (log: CPU2017.001.log)"


def test_why_a_build_failed():
    """Each benchmark with the compiler's first error, which is in SPEC's log."""
    log = (
        "  Building 505.mcf_r base layoutrand: (build_base_layoutrand.0000)\nmcf.c:3:5: error: unknown type name 'x'\n"
        "make: *** [Makefile:20: mcf.o] Error 1\n*** Error building 505.mcf_r base\n"
        f"  Building 519.lbm_r base layoutrand: (b)\nld: undefined reference to `y'\n*** Error building 519.lbm_r base\n{FINISHED}"
    )

    assert build_problems("*** Error building 505.mcf_r base\n", log) == [
        "505.mcf_r cannot be built: mcf.c:3:5: error: unknown type name 'x'",
        "519.lbm_r cannot be built: ld: undefined reference to `y'",
    ]
    assert build_problems("ERROR: Undefined macro 'x'\n", "") == ["ERROR: Undefined macro 'x'"]
    assert build_problems("", f"Build Complete\n{FINISHED}") == []
    assert build_problems("  Building 505.mcf_r base l: (x)\n", "") == [
        "the output ends in the middle, the last step was 'Building 505.mcf_r base l: (x)'"
    ]


def test_hashes_of_executables_are_found_in_the_config():
    """Where they follow __HASH__; a config of CPU2006 has other sums."""
    section = "505.mcf_r=base=l:\n# Last updated\nopthash=1\nbaggage=\ncompile_options=\\\n@eNo\\\nexehash=abc\n\n519.lbm_r=peak=l:\nexehash=def\n"

    assert stored_exehashes(f"label = l\n__HASH__\n{section}") == {
        ("505.mcf_r", "base"): "abc",
        ("519.lbm_r", "peak"): "def",
    }
    assert stored_exehashes(f"label = l\n{section}") == {}
    assert stored_exehashes("__MD5__\n400.perlbench=base=e=default:\noptmd5=1\nexemd5=2\n") == {}


def sample(name):
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"{path} is not here: real files of SPEC CPU may not be handed on")
    return path.read_text("utf-8", "backslashreplace")


def real(benchmark, log, raw=None):
    """The verdict on a real run of one benchmark, its binary taken on trust."""
    files = {f"result/{log}": sample(log)} | ({f"result/{raw}": sample(raw)} if raw else {})
    return judge(SpecReading(kind="spec-rsf", benchmark=benchmark), HarnessOutput("ok", "", 0, "", "", files))


def test_real_results_of_cpu2017_are_read():
    """One benchmark that succeeded; one that could not be built, among others that ran."""
    log, raw = "CPU2017.003.log", "CPU2017.003.intrate.test.rsf"
    assert real("500.perlbench_r", log, raw).values == (26.191351,)
    raw = "CPU2017.006.intrate.test.rsf"
    assert real("505.mcf_r", log, raw).values
    failed = real("548.exchange2_r", log, raw)
    assert (failed.status, "CE" in failed.reason, "Error with make!" in failed.reason) == ("start", True, True)


def test_real_results_of_cpu2006_with_three_iterations_are_refused():
    """One is asked for."""
    verdict = real("400.perlbench", "CPU2006.014.log", "CINT2006.014.ref.rsf")

    assert (verdict.status, "3 results of 400.perlbench" in verdict.reason) == ("no-measurement", True)


def test_real_logs_without_results_are_explained():
    """A benchmark that does not exist, and builds that made nothing to run."""
    unknown = real("505.gcc_r", "CPU2017.005.log")
    assert (unknown.status, "Can't find benchmark '505.gcc_r'" in unknown.reason) == ("start", True)
    assert build_problems("", sample("CPU2006.013.log")) == []
