"""Recorded results in the formats of others, and back."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import experiments
from experiments import execution, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.beside_files import Programs
from layoutrand.analysis.conclusion import of_layouts
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.displayed import displayed
from layoutrand.analysis.same_program import same_program
from layoutrand.cli import run
from layoutrand.config.disturbance import MEND
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.errors import AnalysisError, UnknownMetric, UsageError
from layoutrand.interop import exports
from layoutrand.interop.export import export
from layoutrand.interop.formats import parse
from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.model import MAX_SEED, BuildFailure, Measurement
from layoutrand.text.digits import is_measurable
from reportkit import page_of
from warningkit import said

CONFIG = make_config(
    '[[benchmarks]]\nname = "fib"\ncommand = ["{artefact}"]\n'
    "metric = {wall = true, printed = [{regex = '(x)', name = 'rate', unit = '1/s', better = 'more', warmup = 1}]}\n"
    '[[benchmarks]]\nname = "2sort"\ncommand = ["{artefact}"]\nmetric = {wall = true, cachegrind = true}\n'
)


def measured(project, system, benchmark, layout, wall, **changes):
    values = [Measurement("wall_s", "s", 0, wall, warmup=False)]
    if benchmark == "fib":
        values += [Measurement("rate", "1/s", k, wall * (k + 1), warmup=k < 1) for k in range(3)]
    return execution(CONFIG, project, system, benchmark, layout, **{"measurements": tuple(values)} | changes)


@pytest.fixture
def selection(tmp_path):
    rows = []
    for system in "ab":
        for k, benchmark in enumerate(("fib", "2sort")):
            rows += [measured(tmp_path, system, benchmark, seed, 0.1 * seed + k / 3) for seed in (1, 2, 3)]
            rows += [measured(tmp_path, system, benchmark, "stock", 0.7, round=r) for r in (1, 2)]
    rows += [
        measured(tmp_path, "a", "fib", 4, 9.0, status="timeout", reason="ended after\n60 s", measurements=()),
        measured(tmp_path, "a", "fib", 1, 1e-9, repetition=1),
    ]
    counts = (Measurement("estimated_cycles", "1", 0, 12345678901.0, warmup=False),)
    rows.append(measured(tmp_path, "a", "2sort", 1, 0, instrument="cachegrind", measurements=counts))
    write(CONFIG, tmp_path, rows, [BuildFailure("a", "prog", 5, "no", None)])
    return selected(CONFIG, tmp_path)


def reimported(text, tmp_path, name):
    path = tmp_path / name
    path.write_text(text)
    return import_selection(ImportQuestion([str(path)], None, "benchmarks", 0, [], []))


@pytest.mark.parametrize("format_name", ["csv", "json"])
def test_what_is_exported_is_read_back_as_it_was(selection, tmp_path, format_name):
    result = export(selection, format_name, [])

    back = reimported(result.text, tmp_path, f"out.{format_name}")

    assert all(each.is_imported and not each.may_simulate for each in back.samples)  # nothing can be executed again
    assert [dataclasses.replace(each, is_imported=False, may_simulate=True) for each in back.samples] == list(
        selection.samples
    )
    assert all(each.rounds and each.started for each in back.samples)
    assert [(f.system, f.benchmark, f.layout, f.status) for f in back.failures] == [("a", "fib", 4, "timeout")]
    assert "ended after 60 s" in back.failures[0].reason


def of_labels(tmp_path, name, labels, row=()):
    place = {"execution": 0, "iteration": 0, "benchmark": "fib", "metric": "wall_s", "unit": "s", **dict(row)}
    rows = [{"system": system, "seed": n, "value": 1.0 + n, **place} for system in "ab" for n in (1, 2)]
    (tmp_path / name).write_text(json.dumps({"schema": exports.SCHEMA, "rows": rows, "labels": labels}))
    return str(tmp_path / name)


def test_labels_leave_with_the_names_and_come_back(disturbed, tmp_path):
    """In a document, as of `analyse` and `compare`; what is told of programs and disturbances has them, too."""
    names = DisplayNames({"a": "gcc, -O2"}, {"fib": "Fibonacci"})
    text = export(dataclasses.replace(disturbed, names=names), "json", []).text
    assert json.loads(text)["labels"] == {"systems": {"a": "gcc, -O2"}, "benchmarks": {"fib": "Fibonacci"}}
    assert {row["system"] for row in json.loads(text)["rows"]} == {"a", "b"}
    back = reimported(text, tmp_path, "out.json")
    assert (back.names, {each.system for each in back.samples}) == (names, {"a", "b"})
    shown = displayed(back)
    assert {each.system for each in shown.samples} == {"gcc, -O2", "b"}
    assert same_program(shown, "Fibonacci", "gcc, -O2", "b") == same_program(back, "fib", "a", "b")
    assert ("gcc, -O2", "Fibonacci") in shown.programs.digests
    (row,) = shown.disturbed({"native"}, ["gcc, -O2"])
    assert row.executions == back.disturbed({"native"}, ["a"])[0].executions > 0


def test_files_and_what_is_warned_of_systems_are_told_under_labels(tmp_path):
    """The line of what was imported, and that of unlike numbers of iterations, had the names that no other line has."""
    labels = {"systems": {"a": "gcc, -O2"}, "benchmarks": {"fib": "Fibonacci"}}
    name = of_labels(tmp_path, "t.json", labels, {"started_at": 1.0})
    document = json.loads((tmp_path / "t.json").read_text())
    document["rows"] += [
        row | {"iteration": n} for row in document["rows"] if row["system"] == "b" for n in range(1, 9)
    ]
    (tmp_path / "t.json").write_text(json.dumps(document))
    shown = displayed(import_selection(ImportQuestion([name], None, "benchmarks", 0, [], [])))
    assert [source.systems for source in shown.sources] == [("gcc, -O2", "b")]
    (told,) = [each for each in map(str, shown.warnings) if "numbers of iterations" in each]
    assert told.startswith("Fibonacci: other numbers of iterations in an execution, gcc, -O2 1, b 9")


def test_a_label_that_would_make_two_systems_look_like_one_is_none(tmp_path):
    for labels in ({"a": "b"}, {"a": "x", "b": "x"}):
        name = of_labels(tmp_path, "t.json", {"systems": labels, "benchmarks": {}})
        assert import_selection(ImportQuestion([name], None, "benchmarks", 0, [], [])).names == DisplayNames()
    one = of_labels(tmp_path, "one.json", {"systems": {"a": "x", "b": "y"}, "benchmarks": {}}, {"node": "1"})
    two = of_labels(tmp_path, "two.json", {"systems": {"a": "z", "b": "y"}, "benchmarks": {}}, {"node": "2"})
    assert import_selection(ImportQuestion([one, two], None, "benchmarks", 0, [], [])).names == DisplayNames({"b": "y"})


def test_a_label_cannot_write_on_the_terminal_or_into_the_page(tmp_path):
    """Of a file that somebody sent: what has no width, turns text around or is a line end is shown as what it is."""
    hostile = {"systems": {"a": "\x1b[31mred\n\u202e", "b": "L" * 9999}, "benchmarks": {"fib": "<b>own</b>"}}
    name = of_labels(tmp_path, "t.json", hostile)
    back = import_selection(ImportQuestion([name], None, "benchmarks", 0, [], []))
    assert back.names.systems == {"a": r"\x1b[31mred \u202e", "b": "L" * 9999}
    assert run(["report", "--import", name, "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "&lt;b&gt;own" in page
    assert "<b>own" not in page and "\u202e" not in page


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (3, "'labels' is 3"),
        (None, "'labels' is null"),
        ({"systems": {}}, "labels has no 'benchmarks'"),
        ({"systems": [], "benchmarks": {}}, r"'systems' is \[\]"),
        ({"systems": {"a": 1}, "benchmarks": {}}, "a label of systems is 1"),
        (
            {"systems": {}, "benchmarks": {"fib": " \n"}},
            "a label of benchmarks is .*; expected a string with something",
        ),
    ],
)
def test_labels_that_are_none_are_an_error(tmp_path, labels, message):
    with pytest.raises(UsageError, match=message):
        import_selection(ImportQuestion([of_labels(tmp_path, "t.json", labels)], None, "benchmarks", 0, [], []))


@pytest.mark.parametrize("node", ["", "n7"])
def test_the_machine_of_each_execution_goes_with_it(tmp_path, node):
    """A node of a cluster, or else this machine: exports of several are told apart where they are read together."""
    failed = measured(tmp_path, "a", "fib", 2, 9.0, status="timeout", reason="late", measurements=(), node=node)
    write(CONFIG, tmp_path, [measured(tmp_path, "a", "fib", 1, 0.1, node=node), failed])
    selection = selected(CONFIG, tmp_path)
    rows = list(csv.DictReader(io.StringIO(export(selection, "csv", []).text)))
    assert {row["status"] for row in rows} == {"ok", "timeout"}
    assert {row["node"] for row in rows} == {node or selection.experiment.hostname}
    assert selection.experiment.hostname


def of_programs(project, digests, *, config=CONFIG):
    """Systems a and b, of which each layout has the digest at its place."""
    layouts = ("stock", *range(1, len(next(iter(digests.values())))))
    rows = [
        measured(project, system, "fib", layout, 0.1 + k / 9, binary_sha256=digit * 64, capture=system)
        for system, digits in digests.items()
        for k, (layout, digit) in enumerate(zip(layouts, digits, strict=True))
    ]
    write(config, project, rows)
    return selected(config, project)


def one_program(selection):
    return same_program(selection, "fib", "a", "b")


@pytest.mark.parametrize("format_name", ["csv", "json"])
@pytest.mark.parametrize(
    ("digests", "n_layouts"),
    [
        ({"a": "0123", "b": "0123"}, 4),
        ({"a": "0123", "b": "4123"}, 4),  # only the own builds differ
        ({"a": "0123", "b": "0124"}, None),
        ({"a": "0", "b": "4"}, None),
    ],
)
def test_what_is_exported_tells_that_systems_are_one_program(tmp_path, digests, n_layouts, format_name):
    """They were compared as any other once they had left, though no difference can be found between them."""
    selection = of_programs(tmp_path, digests)
    text = export(selection, format_name, []).text
    back = reimported(text, tmp_path, f"out.{format_name}")
    assert one_program(back) == one_program(selection)
    assert getattr(one_program(back), "n_layouts", None) == n_layouts


def test_a_digest_is_of_all_that_is_executed(tmp_path):
    """Of a program with words of its own, or files beside it, the file alone does not tell; without it nothing does."""
    selection = of_programs(tmp_path, {"a": "0123", "b": "0123"})
    plain = json.loads(export(selection, "json", []).text)["rows"]
    assert {row["program_sha256"] for row in plain if row["seed"] == "stock"} == {"0" * 64}
    for programs in (Programs({"a": "-x", "b": ""}, frozenset({"fib"})), Programs({"a": "", "b": ""}, frozenset())):
        other = dataclasses.replace(selection, programs=programs)
        assert one_program(other) is None
        assert one_program(reimported(export(other, "csv", []).text, tmp_path, "other.csv")) is None
    unknown = [dict(row, program_sha256="") if row["seed"] == "2" else row for row in plain]
    document = json.dumps({"schema": exports.SCHEMA, "rows": unknown})
    assert one_program(reimported(document, tmp_path, "unknown.json")) is None


def test_a_digest_that_is_none_is_an_error_with_its_line(tmp_path):
    text = f"system,seed,value,program_sha256\na,1,0.5,{'0' * 64}\na,2,0.5,{'0' * 63}G\n"
    with pytest.raises(UsageError, match="line 3: program_sha256 is .*expected 64 digits, 0-9 and a-f"):
        reimported(text, tmp_path, "own.csv")


BUSY = {"window_s": 1.0, "other_cpu_s": 0.5, "own_cpu_s": 0.5, "steal_s": 0.3}


@pytest.fixture
def disturbed(tmp_path):
    """Of fib 5 of 14 executions, one of which failed; of 2sort one that is simulated."""
    now = {"disturbances": ("busy", "steal"), "host_state": BUSY}
    rows = [measured(tmp_path, s, "fib", k, 0.1 + k / 99, **(now if k < 3 else {})) for s in "ab" for k in range(1, 7)]
    rows.append(measured(tmp_path, "a", "fib", "stock", 0.1))
    rows.append(measured(tmp_path, "a", "fib", 7, 9, status="timeout", reason="late", measurements=(), **now))
    counts = (Measurement("estimated_cycles", "1", 0, 12345.0, warmup=False),)
    rows.append(measured(tmp_path, "a", "2sort", 1, 0, instrument="cachegrind", measurements=counts, **now))
    rows += [measured(tmp_path, "a", "2sort", k, 0.1) for k in (1, 2)]
    write(CONFIG, tmp_path, rows)
    return selected(CONFIG, tmp_path)


@pytest.mark.parametrize("format_name", ["csv", "json"])
def test_what_disturbed_the_executions_goes_with_them_and_casts_the_same_doubt(disturbed, tmp_path, format_name):
    back = reimported(export(disturbed, format_name, []).text, tmp_path, f"out.{format_name}")

    (told,) = [each for each in back.warnings if isinstance(each, DisturbedExecutions)]
    assert "fib: 5 of 14 executions were disturbed (busy 5, steal 5; a 3, b 2); 1 of them failed" in str(told)
    assert "run.disturbance.repeat" not in str(told)
    (there,) = [each for each in disturbed.warnings if isinstance(each, DisturbedExecutions)]
    assert told.row == dataclasses.replace(there.row, examples={})
    for which in (back, disturbed):
        (row,) = which.disturbed({"native"}, ["b"])
        assert (row.executions, row.disturbed) == (6, 2)
        assert which.disturbed({"cachegrind"}) == ()
        report = analyse(which, confidence=0.95, metrics=[])
        doubts = {(a.system, a.benchmark): of_layouts(a, report.warnings) for a in report.analyses if a.is_primary}
        assert "disturbed" in [each.cause for each in doubts["b", "fib"].reasons]
        assert doubts["b", "fib"].trust == "doubtful"
    light = {each.name: each for each in page_of(back).lights}["machine quiet"]
    assert (light.state, light.sentence) == ("doubtful", "fib: 5 of 14 executions were disturbed")


def test_what_disturbed_nothing_is_told_and_what_nobody_wrote_down_is_not(disturbed, tmp_path):
    rows = list(csv.reader(io.StringIO(export(disturbed, "csv", []).text)))
    place = rows[0].index("disturbances")
    quiet = [row for row in rows if not row[place] or row is rows[0]]
    for name, table, state in (
        ("quiet.csv", quiet, "good"),
        ("silent.csv", [[*row[:place], *row[place + 1 :]] for row in rows], "unknown"),
    ):
        text = "\n".join(",".join(row) for row in table) + "\n"
        back = reimported(text, tmp_path, name)
        assert not any(isinstance(each, DisturbedExecutions) for each in back.warnings)
        light = {each.name: each for each in page_of(back).lights}["machine quiet"]
        assert light.state == state, light
    (tmp_path / "wrong.csv").write_text("seed,value,disturbances\n1,2,busy\n2,2,busy noise\n")
    with pytest.raises(UsageError, match="line 3: disturbances has 'noise'; expected some of throttled swap steal"):
        reimported((tmp_path / "wrong.csv").read_text(), tmp_path, "wrong.csv")


def test_json_has_a_schema_and_what_was_not_built(selection):
    document = json.loads(export(selection, "json", []).text)
    assert document["schema"] == "layoutrand/export/1"
    assert [failure["seed"] for failure in document["build_failures"]] == [5]
    assert {row["metric"] for row in document["rows"]} == {"wall_s", "rate", "estimated_cycles", ""}
    assert sum(row["warmup"] for row in document["rows"]) == 11


def test_each_row_has_the_digest_of_what_its_execution_printed_and_importing_does_not_ask_for_it(tmp_path):
    wrong = {"status": "wrong-output", "reason": "no", "measurements": (), "output_sha256": "f" * 64}
    rows = [measured(tmp_path, "a", "2sort", 1, 0.1, repetition=k, output_sha256=str(k) * 64) for k in (0, 1)]
    write(CONFIG, tmp_path, [*rows, measured(tmp_path, "a", "2sort", 3, 0.1, **wrong)])
    selection = selected(CONFIG, tmp_path)
    text = export(selection, "csv", []).text

    cells = [(row["seed"], row["output_sha256"]) for row in csv.DictReader(io.StringIO(text))]
    assert cells == [("1", "0" * 64), ("1", "1" * 64), ("3", "f" * 64)]
    document = json.loads(export(selection, "json", []).text)
    assert [(row["seed"], row["output_sha256"]) for row in document["rows"]] == cells

    anything = text.replace("1" * 64, "whatever")
    assert reimported(anything, tmp_path, "out.csv").samples == reimported(text, tmp_path, "as-it-was.csv").samples
    assert len(parse(text, "out.csv", None)[1].rows.kinds) == 1


def test_metrics_can_be_chosen(selection):
    text = export(selection, "csv", ["rate"]).text
    assert {line.split(",")[6] for line in text.splitlines()[1:]} == {"rate", ""}
    with pytest.raises(UnknownMetric, match="no execution measured 'x'"):
        export(selection, "csv", ["x"])


def test_each_binary_is_one_line_for_benchstat(selection):
    result = export(selection, "benchstat", [])
    lines = result.text.splitlines()
    assert lines[:2] == ["project: fake", "host: " + selection.experiment.hostname]
    assert lines.count("system: a") == lines.count("system: b") == 1
    of_a = result.text.split("system: a\n")[1].split("\n\n")[0].splitlines()
    assert of_a[:3] == [
        f"BenchmarkFib 2 {(0.1 + 1e-9) / 2!r} sec/op",
        "BenchmarkFib 1 0.2 sec/op",
        f"BenchmarkFib 1 {0.1 * 3!r} sec/op",
    ]
    assert of_a[3].startswith("Benchmark_2sort 1 ")
    assert len(of_a) == 6
    assert "no place for stock" in " ".join(said(result.warnings))
    assert "1 are not in it" in " ".join(said(result.warnings))
    assert "1 binary not built" in " ".join(said(result.warnings))


def test_benchstat_is_told_where_more_is_better(selection):
    lines = export(selection, "benchstat", ["rate"]).text.splitlines()
    assert "Unit rate better=higher" in lines
    assert any(line.startswith("BenchmarkFib 2 ") and line.endswith(" rate") for line in lines)


def test_executions_weigh_alike_for_benchstat_however_many_iterations_they_have(tmp_path):
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))
    write(
        config,
        tmp_path,
        experiments.measured(config, tmp_path, "a", "b", {1: [[1.0, 1.0, 1.0], [3.0]], 2: [[2.0], [2.0]]}),
    )
    lines = export(selected(config, tmp_path), "benchstat", []).text.splitlines()
    assert lines[-2:] == ["BenchmarkB 4 2.0 sec/op", "BenchmarkB 2 2.0 sec/op"]


def test_runs_of_pyperf_are_executions_with_their_seed(tmp_path, selection):
    with pytest.raises(UsageError, match="choose one of a, b with --system"):
        export(selection, "pyperf", [])
    text = export(selected(CONFIG, tmp_path, systems=["a"]), "pyperf", []).text
    document = json.loads(text)
    assert [b["metadata"] for b in document["benchmarks"]] == [
        {"name": "fib", "unit": "second"},
        {"name": "2sort", "unit": "second"},
    ]
    assert [run["metadata"]["layoutrand_seed"] for run in document["benchmarks"][0]["runs"]] == ["1", "1", "2", "3"]

    back = reimported(text, tmp_path, "a.json").samples

    assert [s.binaries for s in back] == [
        s.binaries for s in selected(CONFIG, tmp_path, systems=["a"]).samples if s.is_primary
    ]


def test_pyperf_itself_loads_the_export(tmp_path, selection):
    pyperf = pytest.importorskip("pyperf", reason="the package pyperf is not installed")
    path = tmp_path / "a.json"
    path.write_text(export(selected(CONFIG, tmp_path, systems=["a"]), "pyperf", []).text)
    suite = pyperf.BenchmarkSuite.load(str(path))
    assert suite.get_benchmark("fib").get_values() == (0.1, 1e-9, 0.2, 0.1 * 3)
    assert suite.get_benchmark("fib").get_unit() == "second"


def test_what_pyperf_writes_is_read(tmp_path):
    pyperf = pytest.importorskip("pyperf", reason="the package pyperf is not installed")
    runs = {
        name: [
            pyperf.Run(values, warmups=[(4, 9.0)], metadata={"name": name, "unit": unit}, collect_metadata=False)
            for values in ([1.5, 2.5], [3.5])
        ]
        for name, unit in (("x", "second"), ("y", "byte"))
    }
    suite = pyperf.BenchmarkSuite([pyperf.Benchmark(of_one) for of_one in runs.values()])
    suite.dump(str(tmp_path / "p.json"))

    name, content = parse((tmp_path / "p.json").read_text(), "p", None)

    assert name == "pyperf"
    assert [(r.benchmark, r.execution, r.iteration, r.value, r.unit) for r in content.rows if not r.warmup] == [
        (benchmark, *row, unit)
        for benchmark, unit in (("x", "s"), ("y", "B"))
        for row in ((0, 1, 1.5), (0, 2, 2.5), (1, 1, 3.5))
    ]
    assert [r.value for r in content.rows if r.warmup] == [9.0] * 4


def test_what_pyperf_cannot_hold_is_an_error(tmp_path):
    def text(value, unit="s"):
        return exports.as_pyperf([ImportedNumber("b", value, "m", unit, binary="1", system="a")])

    assert json.loads(text(3.0, "1"))["benchmarks"][0]["runs"][0]["values"] == [3]
    with pytest.raises(UsageError, match="whole numbers; m is 0.5 1/s"):
        text(0.5, "1/s")
    with pytest.raises(UsageError, match="values above 0; m is 0.0"):
        text(0.0)


def of_two_instruments(metric="instructions"):
    rows = [
        ImportedNumber("b", value, metric, "1", binary=binary, system="a", instrument=instrument)
        for binary, values in (("1", (1000.0, 7.0)), ("2", (2000.0, 9.0)))
        for instrument, value in zip(("cachegrind", "perf"), values, strict=True)
    ]
    return rows


def test_what_two_instruments_call_the_same_is_not_mixed():
    """Instructions that perf counts and those that cachegrind simulates have one name, and are two numbers."""
    lines = exports.as_benchstat(of_two_instruments(), {}).splitlines()
    assert lines[-2:] == [
        "BenchmarkB 1 1000.0 cachegrind-instructions 7.0 perf-instructions",
        "BenchmarkB 1 2000.0 cachegrind-instructions 9.0 perf-instructions",
    ]

    document = json.loads(exports.as_pyperf(of_two_instruments()))

    assert [(b["metadata"]["name"], [run["values"] for run in b["runs"]]) for b in document["benchmarks"]] == [
        ("b, instructions (cachegrind)", [[1000], [2000]]),
        ("b, instructions (perf)", [[7], [9]]),
    ]


def test_that_pyperf_takes_more_for_worse_is_said(tmp_path, selection):
    rates = [Measurement("rate", "1/s", k, 7.0, warmup=k < 1) for k in range(3)]
    project = tmp_path / "rates"
    project.mkdir()
    write(CONFIG, project, [measured(project, "a", "fib", seed, 1.0, measurements=tuple(rates)) for seed in (1, 2)])
    found = selected(CONFIG, project)

    assert "pyperf takes less for better, but of rate more is" in " ".join(
        said(export(found, "pyperf", ["rate"]).warnings)
    )
    assert "better" not in " ".join(said(export(found, "benchstat", ["rate"]).warnings))


def test_controls_alone_are_nothing_to_export(tmp_path):
    write(CONFIG, tmp_path, [measured(tmp_path, "a", "fib", "stock", 1.0)])
    with pytest.raises(AnalysisError, match="no seed"):
        export(selected(CONFIG, tmp_path), "benchstat", [])


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
STARTS = st.none() | st.floats(allow_nan=False, allow_infinity=False).filter(is_measurable)
DISTURBANCES = st.lists(st.sampled_from(list(MEND)), unique=True).map(tuple)
ROWS = st.builds(
    ImportedNumber,
    NAMES,
    st.floats(allow_nan=False, allow_infinity=False).filter(is_measurable),
    NAMES,
    st.sampled_from(["s", "B", "1", "1/s", ""]),
    st.integers(0, 10**17),
    st.integers(0, 10**17),
    system=NAMES,
    binary=NAMES,
    instrument=NAMES,
    better=st.sampled_from(["less", "more"]),
    warmup=st.booleans(),
    round=st.none() | st.integers(0, MAX_SEED),
    started_at=STARTS,
    disturbances=DISTURBANCES,
).filter(lambda row: row.value > 0 or row.unit not in {"s", "B"})
FAILURES = st.builds(
    FailedRun,
    *(NAMES, NAMES.filter(lambda text: text != "ok"), NAMES, st.integers(0, 99), NAMES, NAMES),
    round=st.none() | st.integers(0, MAX_SEED),
    started_at=STARTS,
    disturbances=DISTURBANCES,
)
PLACE = ("system", "benchmark", "binary", "instrument", "execution")


def is_number(cell):
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def rows_and_failures(text, form):
    found = parse(text, "f", form)[1]
    return tuple(found.rows), found.failures


@pytest.mark.slow
@given(
    st.lists(ROWS, min_size=1, max_size=5, unique_by=lambda r: tuple(getattr(r, key) for key in (*PLACE, "metric"))),
    st.lists(FAILURES, max_size=3, unique_by=lambda f: tuple(getattr(f, key) for key in PLACE)),
)
def test_any_rows_are_read_back_to_the_last_digit(rows, failures):
    content = Imported(tuple(rows), tuple(failures))
    shown = exports.as_csv(content)
    assert rows_and_failures(shown, "csv") == (content.rows, content.failures)
    cells = [cell for line in csv.reader(io.StringIO(shown)) for cell in line if cell[:1] in {"=", "+", "-", "@"}]
    assert all(is_number(cell) for cell in cells)
    assert rows_and_failures(exports.as_json(content, {}), None) == (content.rows, content.failures)
