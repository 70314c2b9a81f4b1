"""`layoutrand.load`: the same answers as the commands, samples as rows, and what it refuses."""

import dataclasses
import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import layoutrand
from experiments import execution, measured, write
from fakes import make_config
from layoutrand.cli import analysis, run
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.errors import AnalysisError, ToolNotFound, UsageError
from layoutrand.interop.export import export
from layoutrand.model import MAX_SEED, Measurement

HEAD = '[project]\nname = "fake"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n'
TABLE = "".join(f'[[benchmarks]]\nname = "{name}"\ncommand = ["{{artefact}}"]\n' for name in ("parse", "sort"))
SYSTEMS = ("O2", "O3", "Os")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Three systems in 12 layouts: of parse O3 takes less, of sort all take the same."""
    return recorded(tmp_path_factory.mktemp("project"))


def recorded(root, systems=SYSTEMS, n=12):
    chance = random.Random(3)
    config = make_config(TABLE, systems=systems)
    (root / "layoutrand.toml").write_text(HEAD + "".join(f"[systems.{name}]\n" for name in systems) + TABLE)
    rows = []
    for benchmark in ("parse", "sort"):
        for system in systems:
            mean = 8.8 if (benchmark, system) == ("parse", "O3") else 10.0
            data = {k: [[mean * (1 + chance.gauss(0, 0.004))]] for k in range(1, n + 1)}
            data["stock"] = [[mean * (1 + chance.gauss(0, 0.0004))] for _ in range(n)]
            rows += measured(config, root, system, benchmark, data)
    rows.append(execution(config, root, "O3", "sort", 99, status="signal", reason="signal 11", log="logs/1"))
    write(config, root, rows)
    return root


def of_command(monkeypatch, capsys, root, *words):
    monkeypatch.chdir(root)
    monkeypatch.setattr(analysis, "terminal_width", lambda: 80)
    status = run(list(words))
    return status, capsys.readouterr()


def test_importing_layoutrand_imports_nothing_else():
    """But the version, which is a line: the command line starts with it."""
    program = "import sys, layoutrand; print(sorted(n for n in sys.modules if n.startswith('layoutrand.')), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['layoutrand.version'] False\n"


def test_everything_that_is_named_is_there():
    for name in layoutrand.__all__:
        assert getattr(layoutrand, name) is not None
        assert name in dir(layoutrand)
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = layoutrand.lod


@pytest.mark.parametrize("words", [("compare", "O2", "O3"), ("compare", "O2", "O3", "Os"), ("compare", "O2", "O2")])
def test_compare_is_the_command(project, monkeypatch, capsys, words):
    compared = layoutrand.load(project).compare(*words[1:])
    _, said = of_command(monkeypatch, capsys, project, *words, "--json")
    assert compared.document() == json.loads(said.out)
    if words != ("compare", "O2", "O2"):  # which is shown in full
        _, said = of_command(monkeypatch, capsys, project, *words)
        assert repr(compared) + "\n" == said.out.replace("Details: --full", "Details: .full()")


def test_analyse_is_the_command(project, monkeypatch, capsys):
    analysed = layoutrand.load(project).analyse()
    _, said = of_command(monkeypatch, capsys, project, "analyse", "--json")
    assert analysed.document() == json.loads(said.out)
    _, said = of_command(monkeypatch, capsys, project, "analyse")
    assert repr(analysed) + "\n" == said.out.replace("Details: --full", "Details: .full()")


def test_verdicts(project):
    compared = layoutrand.load(project).compare("O2", "O3")
    assert [(row.benchmark, row.verdict) for row in compared] == [("parse", "faster"), ("sort", "same")]
    row = compared["parse"]
    assert 0.86 < row.ratio.low < row.ratio.high < 0.9
    assert repr(row).startswith("<parse wall_s, O3 against O2: faster, 0.87")
    assert row.sentence.startswith("parse: faster")
    assert [suite.n_benchmarks for suite in compared.suites] == [2]
    assert "### O3 / O2" in compared.full()


def test_rows_of_several_candidates_are_told_apart(project):
    compared = layoutrand.load(project).compare("O2", "O3", "Os")
    assert compared.row("parse", "Os").verdict == "same"
    with pytest.raises(UsageError, match="several rows"):
        _ = compared["parse"]
    with pytest.raises(UsageError, match="no benchmark called 'pars'"):
        _ = compared["pars"]


def test_layouts(project):
    analysed = layoutrand.load(project, benchmarks="parse").analyse(systems="O*")
    assert [(row.system, row.n_layouts, row.verdict) for row in analysed] == [
        (name, 12, "layout matters") for name in SYSTEMS
    ]
    row = analysed["parse", "O3"]
    assert row.layout_sd.low < 0.004 < row.layout_sd.high
    assert row.stock == pytest.approx(8.8, rel=1e-3)
    assert row.mean.centre == pytest.approx(sum(mean for _, mean in row.layouts) / 12)


def test_html_says_what_the_text_says(project):
    import html
    import re

    compared = layoutrand.load(project).compare("O2", "O3")
    shown = compared._repr_html_()
    assert html.unescape(re.sub(r"<[^>]+>", "", shown)) == compared.text(100)
    assert '<span style="color:#2a8a4a' in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.compare("O2", "O4"), "no system called 'O4'"),
        (lambda r: r.compare(), "there are O2, O3, Os"),
        (lambda r: r.compare("O2"), "Name a candidate"),
        (lambda r: r.compare("O2", "O3", "O3"), "named twice"),
        (lambda r: r.compare("O2", "O3", threshold=1), "threshold 1"),
        (lambda r: r.compare("O2", "O3", confidence=95), "confidence 95"),
        (lambda r: r.compare("O2", "O3", metric="wal_s"), "no execution measured 'wal_s'"),
        (lambda r: r.analyse(benchmarks="pars"), "no benchmark called 'pars'"),
    ],
)
def test_what_makes_no_sense_is_refused(project, call, message):
    with pytest.raises(layoutrand.LayoutrandError, match=message):
        call(layoutrand.load(project))


@pytest.mark.parametrize(("captures", "options"), [("zz", ["--capture", "zz"]), ((), ["--host", "elsewhere"])])
def test_what_the_commands_refuse_is_refused_with_the_same_words(project, monkeypatch, capsys, captures, options):
    host = options[1] if options[0] == "--host" else None
    monkeypatch.chdir(project)
    with pytest.raises(AnalysisError) as refused:
        layoutrand.load(captures=captures, host=host)
    status, said = of_command(monkeypatch, capsys, project, "analyse", *options)
    assert status == 1
    assert str(refused.value) in said.err


def test_no_project_and_no_results(tmp_path):
    with pytest.raises(UsageError, match=r"no layoutrand\.toml in .*; `layoutrand init` writes one$"):
        layoutrand.load(tmp_path)
    (tmp_path / "layoutrand.toml").write_text(HEAD + "[systems.O2]\n" + TABLE)
    with pytest.raises(UsageError, match="there are no results"):
        layoutrand.load(tmp_path)


def test_a_project_is_found_from_below(project):
    (project / "src").mkdir(exist_ok=True)
    assert layoutrand.load(project / "src").systems == SYSTEMS


def test_results_are_those_of_when_they_were_loaded(tmp_path):
    results = layoutrand.load(recorded(tmp_path, ("O2",)))
    config = make_config(TABLE, systems=("O2",))
    write(config, tmp_path, measured(config, tmp_path, "O2", "sort", {50: [[10.0]]}))
    assert results.analyse(benchmarks="sort").rows[0].n_layouts == 12
    assert layoutrand.load(tmp_path).analyse(benchmarks="sort").rows[0].n_layouts == 13


def test_a_loaded_file_is_closed(tmp_path):
    results = layoutrand.load(recorded(tmp_path, ("O2",)))
    store = results._origin.store
    del results
    with pytest.raises(sqlite3.ProgrammingError):
        store._connection.execute("SELECT 1")


@pytest.fixture
def iterations(tmp_path):
    """One execution of the largest seed, whose first iteration is warm-up, and one of stock."""
    config = make_config(TABLE, systems=("O2",))
    (tmp_path / "layoutrand.toml").write_text(HEAD + "[systems.O2]\n" + TABLE)
    values = tuple(Measurement("wall_s", "s", k, 1.0 + k, warmup=k == 0) for k in range(3))
    rows = [
        execution(
            config,
            tmp_path,
            "O2",
            "parse",
            layout,
            round=MAX_SEED,
            measurements=values,
            disturbances=("throttled", "swap"),
            output_sha256="a" * 64,
            host_state={"throttle_events": 2, "swap_in_pages": 9000},
        )
        for layout in (MAX_SEED, "stock")
    ]
    write(config, tmp_path, rows)
    return layoutrand.load(tmp_path)


def test_rows_hold_every_number(iterations):
    first, *_, last = iterations.samples
    assert [(row.layout, row.iteration, row.value) for row in iterations.samples] == [
        (layout, iteration, 1.0 + iteration) for layout in (str(MAX_SEED), "stock") for iteration in (1, 2)
    ]
    assert (first.seed, last.seed, first.round, first.warmup) == (MAX_SEED, None, MAX_SEED, False)
    assert (first.system, first.benchmark, first.metric, first.unit) == ("O2", "parse", "wall_s", "s")
    assert (first.disturbances, first.output_sha256) == ("throttled, swap", "a" * 64)
    assert any(isinstance(each, DisturbedExecutions) for each in iterations.warnings)


def test_rows_say_which_program_was_executed_as_exports_do(project, tmp_path):
    recorded = layoutrand.load(project)
    told = {(row.system, row.benchmark, row.layout, row.execution): row.program_sha256 for row in recorded.samples}
    exported = json.loads(export(recorded._selection, "json", []).text)["rows"]
    assert told == {
        (row["system"], row["benchmark"], row["seed"], row["execution"]): row["program_sha256"]
        for row in exported
        if row["status"] == "ok"
    }
    assert "" not in told.values()
    (tmp_path / "out.json").write_text(json.dumps({"schema": "layoutrand/export/1", "rows": exported}))
    back = layoutrand.load_files(str(tmp_path / "out.json")).samples
    assert {(row.system, row.benchmark, row.layout, row.execution): row.program_sha256 for row in back} == told


def test_failures_are_rows(project):
    (failure,) = layoutrand.load(project).failures
    assert dataclasses.astuple(failure) == ("O3", "sort", "native", "99", "signal", "signal 11", "logs/1")


def test_frames(iterations):
    pytest.importorskip("pandas")
    frame = iterations.frame("wall_s", warmup=True)
    assert list(frame.columns) == [field.name for field in dataclasses.fields(layoutrand.SampleRow)]
    assert frame["value"].tolist() == [1.0, 2.0, 3.0] * 2
    assert frame["warmup"].tolist() == [True, False, False] * 2
    assert frame["seed"].dropna().unique().tolist() == [MAX_SEED]
    assert len(iterations.frame()) == 4


def test_frames_of_answers(project):
    pytest.importorskip("pandas")
    results = layoutrand.load(project)
    assert results.compare("O2", "O3").frame()["conclusion"].tolist()[:2] == ["faster", "same"]
    assert results.analyse().frame()["system"].tolist() == list(SYSTEMS) * 2


def test_parquet(iterations, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)  # new ones need numpy 2
    path = iterations.to_parquet(tmp_path / "samples.parquet")
    table = parquet.read_table(path)
    assert table.column("seed").to_pylist() == [MAX_SEED, MAX_SEED, None, None]
    assert [dict(row) for row in table.to_pylist()] == [dataclasses.asdict(row) for row in iterations.samples]
    about = json.loads(table.schema.metadata[b"layoutrand"])
    assert (about["schema"], about["project"]) == ("layoutrand/samples/1", "fake")
    assert about["warnings"] == [str(each) for each in iterations.warnings]


@pytest.mark.parametrize(("module", "extra"), [("pandas", "frame"), ("pyarrow", "parquet")])
def test_a_missing_library_names_its_extra(iterations, tmp_path, monkeypatch, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.parquet", None)
    with pytest.raises(ToolNotFound, match=rf"pip install 'layoutrand\[{extra}\]'"):
        iterations.frame() if extra == "frame" else iterations.to_parquet(tmp_path / "x")
    assert not Path(tmp_path, "x").exists()


def test_imported_files(tmp_path):
    lines = [f"{system},b,{seed},{value}" for system, value in (("a", 2.0), ("b", 1.0)) for seed in range(1, 6)]
    (tmp_path / "t.csv").write_text("\n".join(["system,benchmark,seed,value", *lines]))
    results = layoutrand.load_files(str(tmp_path / "t.csv"), systems=["a", "b"])
    assert (results.systems, results.benchmarks, len(results.samples)) == (("a", "b"), ("b",), 10)
    assert results.compare()["b"].verdict == "faster"
    assert results.samples[0].round is None
    with pytest.raises(UsageError, match="no format called 'cvs'"):
        layoutrand.load_files("x", format_name="cvs")
    with pytest.raises(UsageError, match="at least one file"):
        layoutrand.load_files()


def test_files_of_a_pattern_are_counted_one_by_one(tmp_path):
    for system in "ab":
        for seed in (1, 2, 3):
            (tmp_path / f"{system}-{seed}.csv").write_text(f"value\n{seed}\n")
    results = layoutrand.load_files(f"a:*={tmp_path}/a-*.csv", f"b:*={tmp_path}/b-*.csv")
    assert repr(results).startswith("layoutrand results: imported from 6 files\n")
    assert "6 numbers of 1 metric" in repr(results).splitlines()[-1]
    assert results.analyse().text().splitlines()[0].endswith("imported from 6 files")


def test_one_layout_and_one_failure_are_told_as_one(tmp_path):
    (tmp_path / "t.csv").write_text("seed,execution,value,status\n1,0,5,\n1,1,,exit\n")
    text = repr(layoutrand.load_files(tmp_path / "t.csv"))
    assert "1 layout)" in text
    assert "1 execution, which is in no number" in text


def test_rows_of_a_table_have_its_rounds_and_starts(tmp_path):
    (tmp_path / "t.csv").write_text("seed,value,round,started_at\n1,5,3,7.5\n1,6,4,8.5\n2,5,,\n")
    rows = layoutrand.load_files(tmp_path / "t.csv").samples
    assert [(each.layout, each.value, each.round, each.started_at) for each in rows] == [
        *(("1", 5.0, 3, 7.5), ("1", 6.0, 4, 8.5), ("2", 5.0, None, None))
    ]
