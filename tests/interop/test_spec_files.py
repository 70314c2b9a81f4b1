"""SPEC CPU's rates, failures and reports, and which of its files may be compared."""

import pytest

from layoutrand.analysis.same_program import same_program
from layoutrand.errors import UnreadableResults, UsageError
from layoutrand.interop.formats import parse
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.interop.interop_warnings import OtherThreads

HEADER = (
    'Benchmark,"Base # Copies","Base Run Time","Base Rate","Base Selected","Base Status","Peak # Copies",'
    '"Peak Run Time","Peak Rate","Peak Selected","Peak Status",Description'
)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(*lines):
    return "\n".join(["valid,1", "", '"Full Results Table"', "", HEADER, *lines, "", '"Selected Results Table"', ""])


def namd(copies, seconds, size="refrate(ref)", peak=None):
    """Two iterations of a benchmark."""
    other = ",,,,NR" if peak is None else f"{peak[0]},{{}},1,1,S"
    lines = []
    for n in (0, 1):
        half = other.format("" if peak is None else peak[1] + n)
        lines.append(f'508.namd_r,{copies},{seconds + n},1,1,S,{half},"{size} iteration #{n + 1}"')
    return lines


def load(**files):
    for name, text in files.items():
        with open(f"{name}.csv", "w", encoding="utf-8") as file:
            file.write(text)
    return import_selection(ImportQuestion([f"{name}.csv" for name in files], None, "benchmarks", 0, (), ()))


def test_more_copies_in_more_time_are_a_throughput():
    """As published: 128 copies in 400 s are slower than 256 in 680 s, whose time is longer."""
    content = parse(table(*namd(128, 400.0, peak=(256, 680.0))), "f.csv", None)[1]
    assert [(r.variant, r.metric, r.unit, r.better, r.value, r.copies, r.workload) for r in content.rows] == [
        ("", "throughput", "copies/s", "more", 128 / 400, 128, "ref"),
        ("", "throughput", "copies/s", "more", 128 / 401, 128, "ref"),
        ("peak", "throughput", "copies/s", "more", 256 / 680, 256, "ref"),
        ("peak", "throughput", "copies/s", "more", 256 / 681, 256, "ref"),
    ]


def rsf(**facts):
    every = {"benchmark": "508.namd_r", "reported_time": "10", "valid": "S"} | facts
    lines = [f"spec.cpu2017.results.508_namd_r.base.000.{key}: {value}" for key, value in every.items()]
    return "spec.cpu2017.size: refrate\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("facts", "value", "copies"),
    [
        ({"runmode": "rate", "copies": "4"}, 0.4, 4),
        ({"runmode": "speed", "copies": "1"}, 10.0, None),
        ({"rate": "1", "clcopies": "8"}, 0.8, 8),
        ({"rate": "0", "clcopies": "1"}, 10.0, None),
    ],
)
def test_a_raw_file_says_whether_it_is_of_a_rate(facts, value, copies):
    (row,) = parse(rsf(**facts), "f.rsf", None)[1].rows
    assert (row.value, row.copies, row.workload) == (value, copies, "ref")


@pytest.mark.parametrize("copies", ["", "0", "-1", "x", "9" * 40])
def test_a_rate_without_a_number_of_copies_is_an_error(copies):
    with pytest.raises(UnreadableResults, match="copies of result 000 of 508.namd_r .base. is"):
        parse(rsf(runmode="rate", copies=copies), "f.rsf", None)
    with pytest.raises(UnreadableResults, match=r"line 6: base # copies is"):
        parse(table(*namd(copies, 10.0)), "f.csv", None)


def test_a_rate_in_no_time_is_an_error_and_no_division():
    with pytest.raises(UnreadableResults, match="executed in no time"):
        parse(rsf(runmode="rate", copies="4", reported_time="0"), "f.rsf", None)


def test_failures_of_base_and_of_peak_are_no_copies():
    failed = '508.namd_r,4,--,--,0,CE,4,--,--,0,CE,"ref iteration #1"'
    content = parse(table(failed), "f.csv", None)[1]
    assert content.remarks == ()
    assert [(f.variant, f.reason) for f in content.failures] == [
        ("", "SPEC status CE (compile error)"),
        ("peak", "SPEC status CE (compile error)"),
    ]


def test_files_of_one_kind_are_read_together():
    found = load(a=table(*namd(4, 10.0, peak=(8, 15.0))), b=table(*namd(4, 11.0, peak=(16, 29.0))[:0], *namd(4, 11.0)))
    assert [(s.system, s.better) for s in found.samples] == [("a", "more"), ("a-peak", "more"), ("b", "more")]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (namd(8, 20.0), r"508.namd_r: 4 copies in a.csv, and 8 copies in b.csv"),
        (namd(4, 0.1, size="test"), r"508.namd_r: its input is ref in a.csv, and test in b.csv"),
    ],
)
def test_files_that_cannot_be_compared_are_errors_that_name_them(other, message):
    with pytest.raises(UsageError, match=message):
        load(a=table(*namd(4, 10.0)), b=table(*other))


def test_base_of_one_file_is_not_compared_with_peak_of_another():
    both = {"a": table(*namd(4, 10.0, peak=(4, 9.0))), "b": table(*namd(4, 10.5, peak=(4, 9.5)))}
    load(**both)
    question = ImportQuestion(["a.csv", "b.csv"], None, "benchmarks", 0, ["a", "b-peak"], ())
    with pytest.raises(UsageError, match=r"508.namd_r: base in a.csv against peak in b.csv"):
        import_selection(question)
    import_selection(ImportQuestion(["a.csv", "b.csv"], None, "benchmarks", 0, ["a", "a-peak"], ()))


REPORT = """\
                       SPEC(R) CPU2017 Integer Rate Result
                                  Nobody Inc.

                       Estimated                       Estimated
                 Base     Base        Base        Peak     Peak        Peak
Benchmarks       Copies  Run Time     Rate       Copies  Run Time     Rate
--------------- -------  ---------  ---------    -------  ---------  ---------
500.perlbench_r     112        678        263  S       56        272        327  S
500.perlbench_r     112        671        266  *       56        275        324  *
502.gcc_r           112       96.9       1050  *
505.mcf_r           112        700        250  *      112        700        250  *
541.leela_r         112       4978            VE
557.xz_r                                      NR      112        500        200  *
=================================================================================
500.perlbench_r     112        671        266  *       56        275        324  *
 SPECrate(R)2017_int_base              266

                          Peak Optimization Flags

C benchmarks:

 505.mcf_r: basepeak = yes
"""


def test_the_report_that_is_published_is_read():
    name, content = parse(REPORT, "r.txt", None)
    assert name == "spec-report"
    assert [(r.benchmark, r.variant, r.execution, r.copies, round(r.copies / r.value, 6)) for r in content.rows] == [
        ("500.perlbench_r", "", 0, 112, 678),
        ("500.perlbench_r", "peak", 0, 56, 272),
        ("500.perlbench_r", "", 1, 112, 671),
        ("500.perlbench_r", "peak", 1, 56, 275),
        ("502.gcc_r", "", 0, 112, 96.9),
        ("505.mcf_r", "", 0, 112, 700),
        ("557.xz_r", "peak", 0, 112, 500),
    ]
    assert {r.workload for r in content.rows} == {"ref"}
    (failure,) = content.failures
    assert (failure.benchmark, failure.status) == ("541.leela_r", "wrong-output")
    assert "peak is a copy of base for 505.mcf_r" in str(content.remarks[0])
    assert "three digits" in str(content.remarks[1])


SPEED = """\
                                  Estimated                       Estimated
                Base     Base       Base        Peak     Peak       Peak
Benchmarks      Ref.   Run Time     Ratio       Ref.   Run Time     Ratio
-------------- ------  ---------  ---------    ------  ---------  ---------
400.perlbench                               NR                                 \n\
464.h264ref        --       73.4         -- S                                  \n\
==============================================================================
"""


def test_the_report_of_a_speed_metric_has_times():
    (row,) = parse(SPEED, "r.txt", None)[1].rows
    assert (row.benchmark, row.value, row.unit, row.copies, row.workload) == ("464.h264ref", 73.4, "s", None, "not ref")
    told = SPEED + "    Input set must be 'ref' for a valid run (set to 'train' for\n    this run)\n"
    assert parse(told, "r.txt", None)[1].rows[0].workload == "train"


def speed(threads, peak=None):
    """The report of a speed metric of CPU2017, whose table counts threads."""
    half = f"{peak}  40.0  1.00 *" if peak else ""
    return f"""\
Benchmarks       Threads  Run Time     Ratio      Threads  Run Time     Ratio
--------------- --------  ---------  ---------   --------  ---------  ---------
603.bwaves_s      {threads:6}       50.1       1177 *     {half}
619.lbm_s         {threads:6}       60.1       87.2 *     {half}
===============================================================================
"""


def raw(threads):
    return rsf(runmode="speed", threads=threads)


@pytest.mark.parametrize(
    ("files", "benchmarks", "told"),
    [
        ({"a": speed(8), "b": speed(64)}, "603.bwaves_s, 619.lbm_s", "a with 8, b with 64"),
        ({"a": speed(8, 16)}, "603.bwaves_s, 619.lbm_s", "a with 8, a-peak with 16"),
        ({"a": raw("8"), "b": raw("64")}, "508.namd_r", "a with 8, b with 64"),
    ],
)
def test_other_numbers_of_threads_are_said(files, benchmarks, told):
    (warning,) = [each for each in load(**files).warnings if isinstance(each, OtherThreads)]
    assert str(warning).startswith(f"{benchmarks}: other numbers of threads, {told};")


@pytest.mark.parametrize("files", [{"a": speed(8), "b": speed(8)}, {"a": raw("8"), "b": raw("")}])
def test_nothing_is_said_of_threads_that_are_as_many_or_unknown(files):
    assert not [each for each in load(**files).warnings if isinstance(each, OtherThreads)]


def test_a_number_of_threads_that_is_none_is_an_error():
    with pytest.raises(UnreadableResults, match="threads of result 000 of 508.namd_r .base. is 'x'"):
        parse(raw("x"), "f.rsf", None)
    with pytest.raises(UnreadableResults, match="line 3: the number of threads is '0'"):
        parse(speed(0), "r.txt", None)


def test_a_table_has_a_column_of_threads():
    text = table(*namd(1, 10.0)).replace("# Copies", "# Threads")
    assert {(r.threads, r.copies) for r in parse(text, "f.csv", None)[1].rows} == {(1, None)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (REPORT[: REPORT.index("541.leela")], "ends within the table"),
        (REPORT.replace("263  S", "263   "), "line 8: base has two statuses|expected 3 numbers"),
        (REPORT.replace("       678", "       6x8"), "line 8: the run time is '6x8'"),
        (REPORT.replace("500.perlbench_r     112        678", "perlbench 112 678"), "does not begin with a benchmark"),
        (REPORT.replace("1050  *", "1050   "), "line 10: .* does not end with a status"),
        (REPORT.replace("       96.9", "           "), r"line 10: '112 1050' before the status; expected 3 numbers"),
        (SPEED.replace("464.h264ref        --       73.4         -- S", ""), "nothing was run"),
        (REPORT.replace("  ---------  ---------\n", "\n"), "line 7: a table of 5 columns"),
    ],
)
def test_a_damaged_report_is_an_error_with_its_line(text, message):
    with pytest.raises(UnreadableResults, match=message):
        parse(text, "r.txt", None)


def executed(tmp_path, name, exehash="a" * 64, machine="i5", code="", **facts):
    """A raw file whose benchmark, of this executable, was executed on this machine."""
    text = f"spec.cpu2017.hw_cpu_name: {machine}\n{rsf(**{'exehash': exehash, 'threads': '1'} | facts)}"
    if code:
        of = "spec.cpu2017.results.508_namd_r.base.001."
        text += f"{of}benchmark: 508.namd_r\n{of}reported_time: --\n{of}valid: {code}\n"
    (tmp_path / f"{name}.rsf").write_text(text)


def compared():
    selection = import_selection(ImportQuestion(["a.rsf", "b.rsf"], None, "benchmarks", 0, (), ()))
    return same_program(selection, "508.namd_r", "a", "b")


@pytest.mark.parametrize("code", ["", "CE"])
def test_the_same_executable_of_spec_is_the_same_program(tmp_path, code):
    """It was "cannot tell", and thirty binaries were to be imported of what cannot differ."""
    executed(tmp_path, "a", code=code)
    executed(tmp_path, "b", reported_time="11", code=code)
    found = compared()
    assert found is not None and found.n_layouts == 1
    assert str(found) == "the binaries are the same to the byte in the one layout of both"


@pytest.mark.parametrize(
    "other",
    [{"exehash": "b" * 64}, {"exehash": ""}, {"machine": "i7"}, {"threads": "2"}, {"submit": "1"}],
    ids=lambda other: next(iter(other)),
)
def test_what_is_executed_in_another_way_is_not_said_to_be_the_same(tmp_path, other):
    """A difference of two machines is no noise, whatever is executed on both."""
    executed(tmp_path, "a")
    executed(tmp_path, "b", **{"reported_time": "11"} | other)
    assert compared() is None


def test_one_executable_in_other_numbers_of_copies_is_not_said_to_be_the_same(tmp_path):
    """As base and peak may be: a throughput of more copies is no noise."""
    text = rsf(exehash="a" * 64, runmode="rate", copies="1")
    (tmp_path / "a.rsf").write_text(
        text + rsf(exehash="a" * 64, runmode="rate", copies="8").replace(".base.", ".peak.")
    )
    selection = import_selection(ImportQuestion(["a.rsf"], None, "benchmarks", 0, (), ()))
    assert same_program(selection, "508.namd_r", "a", "a-peak") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "runcpu v5825 started at 2019-04-06 19:38:41 on h\n    format: raw -> /r s/CPU2017.003.rsf, /r s/x.csv\n",
            "raw file that it names can be imported: /r s/CPU2017.003.rsf$",
        ),
        ("Success: 1x500.perlbench_r\n    format: raw -> /r/a.rsf\n    format: raw -> /r/b.rsf\n", "a.rsf, /r/b.rsf$"),
        ("runspec v6674 started at Thu Apr 23 01:37:04 2015 on h\nrunspec: --action=build\n", "names no raw file"),
        ("The log for this run is in /r/CPU2017.003.log\n", "names no raw file"),
    ],
)
def test_a_log_of_spec_names_what_to_import_in_its_place(text, told):
    with pytest.raises(UnreadableResults, match=told):
        parse(text, "f.log", None)


@pytest.mark.parametrize("text", ["runcpu is what I used\n", "Success: all of it\n", "format: raw -> a.rsf\n"])
def test_what_only_speaks_of_spec_is_no_log_of_it(text):
    with pytest.raises(UnreadableResults, match="in no format that is known"):
        parse(text, "f.log", None)
