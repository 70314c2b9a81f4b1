"""Imported files as a selection: which system and which binary each number is of, and what is refused as unclear."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import layoutrand
from harnesses.samplekit import criterion_files
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.documents import analyse_document, compare_document
from layoutrand.analysis.evidence import evidence, sentences
from layoutrand.errors import AnalysisError, UsageError
from layoutrand.interop.import_spec import Wanted, layout_of, parse_import
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.screens.screen_parts import _is_remark
from warningkit import said


def load(*files, **changes):
    fields = {"format_name": None, "names_are": "benchmarks", "warmup": 0, "systems": [], "benchmarks": []}
    return import_selection(ImportQuestion(files=[str(f) for f in files], **fields | changes))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def put(name, text):
    with open(name, "w") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))
    return name


def hyperfine(*times, command="b", **more):
    return {"results": [{"command": command, "times": list(times)} | more]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.json", Wanted(None, None, "a.json")),
        ("gcc=a.json", Wanted("gcc", None, "a.json")),
        ("gcc:7=a.json", Wanted("gcc", "7", "a.json")),
        ("a:b:7=a.json", Wanted("a:b", "7", "a.json")),
        ("gcc=a=b.json", Wanted("gcc", None, "a=b.json")),
        ("./a=b.json", Wanted(None, None, "./a=b.json")),
        ("/x/a:1=b.json", Wanted(None, None, "/x/a:1=b.json")),
        ("my gcc:first one=/x y/a\nb=.json", Wanted("my gcc", "first one", "/x y/a\nb=.json")),
        ("a:1.json", Wanted(None, None, "a:1.json")),
        ("gcc:*=runs/*.json", Wanted("gcc", "*", "runs/*.json")),
        ("gcc=*.json", Wanted("gcc", None, "*.json")),
    ],
)
def test_what_an_import_says(text, expected):
    assert parse_import(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no file"),
        ("a=", "names no file"),
        ("=a.json", "nothing stands before the ="),
        (":1=a", "no name before the colon"),
        ("gcc:=a", "no seed after the colon"),
        ("gcc:*=a.json", r"exactly one \*"),
        ("gcc:*=*/*-*.json", r"exactly one \*"),
    ],
)
def test_an_import_that_makes_no_sense_is_an_error(text, message):
    with pytest.raises(UsageError, match=message):
        parse_import(text)


def test_numbers_are_seeds_and_other_names_are_names():
    assert [layout_of(text) for text in ("7", "007", "x7", "stock", "identity", "-1")] == [
        7,
        7,
        "x7",
        "stock",
        "identity",
        "-1",
    ]
    with pytest.raises(UsageError, match="larger than"):
        layout_of("9" * 30)
    with pytest.raises(UsageError, match="larger than"):
        layout_of("9" * 5000)


def test_a_seed_that_is_written_in_two_ways_is_an_error_and_not_one_binary():
    """As another number of the same system it was silently one more execution of the first."""
    header, words = "system,benchmark,seed,value,status\n", "as numbers these are one seed: write one binary in one way"
    with pytest.raises(UsageError, match=f"t.csv, line 3: seed is '01' here, and '1' above; {words}"):
        load(put("t.csv", f"{header}A,x,1,1,\nA,x,01,2,\n"))
    with pytest.raises(UsageError, match="t.csv, line 3: seed is '1' here, and '001' above"):
        load(put("t.csv", f"{header}A,x,001,1,\nA,x,1,,exit\n"))
    rows = [{"system": "A", "seed": each, "execution": 0, "iteration": 0, "value": 1} for each in ("07", "8", "7")]
    with pytest.raises(UsageError, match="t.json, row 2: seed is '7' here, and '07' above"):
        load(put("t.json", {"schema": "layoutrand/export/1", "rows": rows}))
    put("r-1.json", hyperfine(1.0)), put("r-01.json", hyperfine(2.0))
    for files in (["gcc:*=r-*.json"], ["gcc:01=r-01.json", "gcc:1=r-1.json"]):
        with pytest.raises(UsageError, match=f"r-01.json and r-1.json: of system gcc, and the seeds 01 and 1; {words}"):
            load(*files)
    other = put("t.csv", f"{header}A,x,01,1,\nA,x,02,1,\nB,x,1,2,\nA,y,1,3,\n")  # nobody takes these for others
    assert [[name for name, _ in each.binaries] for each in load(other).samples] == [[1, 2], [1], [1]]


def test_one_file_for_each_binary():
    for seed in (1, 2, 10):
        put(f"r-{seed}.json", hyperfine(seed, seed + 0.5))
    (sample,) = load("gcc:1=r-1.json", "gcc:2=r-2.json", "gcc:stock=r-10.json").samples
    assert (sample.system, sample.benchmark, sample.metric, sample.is_primary) == ("gcc", "b", "wall_s", True)
    assert sample.binaries == ((1, ((1.0,), (1.5,))), (2, ((2.0,), (2.5,))))
    assert sample.controls == {"stock": ((10.0,), (10.5,))}


def test_a_pattern_takes_every_file_that_matches():
    for seed in ("1", "02", "x"):
        put(f"r-{seed}.json", hyperfine(1))
    put("r-.json", "no binary")
    put("other.json", "not asked for")
    selection = load("gcc:*=r-*.json")
    assert [name for name, _ in selection.samples[0].binaries] == [1, 2, "x"]
    assert [(s.file, s.binary) for s in selection.sources] == [("r-02.json", 2), ("r-1.json", 1), ("r-x.json", "x")]
    with pytest.raises(UsageError, match="no file matches none-"):
        load("gcc:*=none-*.json")
    with pytest.raises(UsageError, match="cannot list nowhere"):
        load("gcc:*=nowhere/*.json")


def test_two_files_of_one_binary_add_executions():
    put("a.json", hyperfine(1, 2))
    put("b.json", hyperfine(3))
    (sample,) = load("gcc:5=a.json", "gcc:5=b.json").samples
    assert sample.binaries == ((5, ((1.0,), (2.0,), (3.0,))),)


def test_a_file_that_knows_nothing_of_binaries_is_of_one_and_has_no_interval():
    put("a.json", hyperfine(1, 2, 3))
    report = analyse(load("a.json"), confidence=0.95, metrics=[])
    document = analyse_document(report)
    (row,) = document["benchmarks"]
    assert (row["system"], row["n_binaries"], row["n_executions"]) == ("a", 1, 3)
    assert row["interval"] == [None, None]
    assert row["layout"] is None
    assert row["binaries"] == [{"seed": "unnamed", "mean": 2.0}]
    assert "one binary of a: its executions tell of execution noise and nothing of layout" in document["warnings"][-1]
    assert document["source"] == {
        "kind": "import",
        "files": [{"file": "a.json", "format": "hyperfine", "systems": ["a"], "binary": None}],
    }


def test_several_files_of_a_system_must_say_which_binary_they_are_of():
    os.mkdir("x")
    put("a.json", hyperfine(1))
    put("x/a.json", hyperfine(2))
    with pytest.raises(UsageError, match="a.json and x/a.json: of system a, and say nothing of binaries"):
        load("a.json", "x/a.json")
    with pytest.raises(UsageError, match="a.json and x/a.json: of system g, and one of them says nothing"):
        load("g=a.json", "g:2=x/a.json")
    put("c.csv", "seed,value\n1,1\n,2\n")
    with pytest.raises(UsageError, match="c.csv: of system c, and some of it says nothing"):
        load("c.csv")
    assert len(load("g=a.json", "h=x/a.json").samples) == 2


def test_files_of_different_benchmarks_may_share_a_system():
    put("a.json", hyperfine(1, command="sort"))
    put("b.json", hyperfine(2, command="find"))
    assert [(s.system, s.benchmark) for s in load("g=a.json", "g=b.json").samples] == [("g", "sort"), ("g", "find")]


def test_the_same_file_twice_is_an_error_and_the_same_numbers_are_warned_of():
    put("a.json", hyperfine(1.25))
    put("b.json", hyperfine(1.25))
    with pytest.raises(UsageError, match="imported twice"):
        load("g:1=a.json", "g:2=a.json")
    assert "is one a copy" in " ".join(said(load("g:1=a.json", "g:2=b.json").warnings))


def test_another_name_of_a_file_is_that_file(tmp_path):
    put("a.json", hyperfine(1.25))
    os.symlink("a.json", "link.json")
    os.link("a.json", "hard.json")
    for other in ("./a.json", str(tmp_path / "a.json"), "link.json", "hard.json"):
        with pytest.raises(UsageError, match=f"a.json and {other} are one file, which is imported twice"):
            load("g:1=a.json", f"g:2={other}")


def test_what_many_files_have_in_common_is_told_once_and_no_warm_up_where_it_is_left_out():
    names = [put(f"{n}.csv", f"benchmark,duration_ns\ns,{n}000\ns,{n}001\n") for n in (1, 2, 3)]
    files = [f"g:{n}={name}" for n, name in enumerate(names)]
    (told,) = [each for each in said(load(*files).warnings) if "marks warm-up" in each]
    assert told.startswith("1.csv and 2 other files: nothing in the file marks warm-up")
    assert not [each for each in said(load(*files, warmup=1).warnings) if "marks warm-up" in each]


def test_far_more_iterations_of_one_system_are_told():
    rows = [
        f"{system},{seed},{n},{1 + n / 9}" for system, k in (("a", 3), ("b", 6)) for seed in (1, 2) for n in range(k)
    ]
    put("t.csv", "\n".join(["system,seed,iteration,value", *rows]) + "\n")
    (told,) = [each for each in said(load("t.csv").warnings) if "iterations" in each]
    assert told.startswith("benchmark: other numbers of iterations in an execution, a 3, b 6: where the first ones")
    put("t.csv", "\n".join(["system,seed,iteration,value", *rows[:-2]]) + "\n")  # of b one binary has 6, one 4
    assert not [each for each in said(load("t.csv").warnings) if "iterations" in each]


def test_a_failure_without_a_reason_is_told_by_its_status():
    put("t.csv", "seed,value,status\n1,,crash\n2,1,ok\n")
    assert [failure.reason for failure in load("t.csv").failures] == ["crash (t.csv)"]


def drifting(path, *, starts, seeds=12):
    """Equal systems on a machine that becomes 3 % slower; b measured after a, and ``starts`` whether that is told."""
    rows = [(system, seed) for system in "ab" for seed in range(1, seeds + 1)]
    lines = ["system,seed,metric,unit,value" + ",started_at" * starts]
    for place, (system, seed) in enumerate(rows):
        value = (1 + 0.03 * place / len(rows)) * (1 + 0.002 * (seed * 7 % 5 - 2))
        lines.append(f"{system},{seed},wall_s,s,{value!r}" + f",{1000 + place}" * starts)
    return put(path, "\n".join(lines) + "\n")


def test_where_the_order_is_not_known_that_is_said_and_where_it_is_a_drift_is_no_difference():
    blind, seeing = load(drifting("blind.csv", starts=False)), load(drifting("seeing.csv", starts=True))
    told = "in what order this was measured is not known"
    assert [told in each for each in said(blind.warnings)].count(True) == 1
    assert not any(told in each for each in said(seeing.warnings))
    (wrong,), (right,) = (
        compare_document(compare(each, "a", "b", confidence=0.95, threshold=0.01, metric=None))["benchmarks"]
        for each in (blind, seeing)
    )
    assert wrong["verdict"] == "slower"  # what the numbers say where nothing tells of the order
    assert (right["verdict"], right["conclusion"]) == ("undecided", "cannot tell")
    assert any("while the other system was not executed" in each for each in right["warnings"])


def test_of_simulated_counts_the_order_does_not_matter():
    rows = "".join(f"{s},{n},{n},cachegrind\n" for s in "ab" for n in range(1, 9))
    assert not any(
        "order" in each for each in said(load(put("t.csv", f"system,seed,value,instrument\n{rows}")).warnings)
    )


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("started_at", "noon", "line 3: started_at is"),
        ("started_at", "nan", "line 3: started_at is"),
        ("round", "-1", "line 3: round is '-1'; expected the seed of a round"),
        ("round", "18446744073709551616", "line 3: round is"),
    ],
)
def test_a_start_or_a_round_that_is_none_is_an_error(column, cell, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        load(put("t.csv", f"seed,value,{column}\n1,1,5\n2,1,{cell}\n"))


def test_starts_and_rounds_are_those_of_executions_and_unknown_where_one_of_a_binary_is():
    rows = "stock,0,0,1,5,7.5\nstock,0,1,1,5,7.5\nstock,1,0,1,6,8.25\n1,0,0,1,,3\n2,0,0,1,4,\n"
    (sample,) = load(put("t.csv", f"seed,execution,iteration,value,round,started_at\n{rows}")).samples
    assert dict(sample.rounds) == {"stock": (5, 6), 2: (4,)}
    assert dict(sample.started) == {"stock": (7.5, 8.25), 1: (3.0,)}


FLOATS = "system,seed,execution,iteration,round,warmup,value\n"


def test_whole_numbers_that_are_written_as_floats_are_these_numbers():
    """As pandas writes every column with a gap in it: a round was refused, and the seed 1.0 a name beside 1."""
    rows = ["A,1.0,0.0,0.0,7.0,1.0,9", "A,1.0,0.0,1.0,7.0,0.0,1", "A,2.0,10.0,0,,,3"]
    plainly = ["A,1,0,0,7,1,9", "A,1,0,1,7,0,1", "A,2,10,0,,,3"]
    found, other = (load(put("t.csv", FLOATS + "\n".join(each))).samples for each in (rows, plainly))
    assert found == other
    assert found[0].binaries == ((1, ((1.0,),)), (2, ((3.0,),)))
    assert dict(found[0].rounds) == {1: (7,)}
    document = [
        {"system": "A", "seed": 1.0, "execution": 0.0, "iteration": k, "round": 7.0, "value": 3} for k in (0, 1)
    ]
    (sample,) = load(put("t.json", {"schema": "layoutrand/export/1", "rows": document})).samples
    assert (sample.binaries, dict(sample.rounds)) == (((1, ((3.0, 3.0),)),), {1: (7,)})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A,1.0,1.5,0,7,0,1", "line 3: execution is '1.5'; expected a whole number from 0"),
        ("A,1.0,1,0.25,7,0,1", "line 3: iteration is '0.25'; expected a whole number from 0"),
        ("A,1.0,1,9007199254740992.0,7,0,1", "line 3: iteration is '9007199254740992.0'; expected"),  # or one more
        ("A,1.0,1,0,7.5,0,1", "line 3: round is '7.5'; expected the seed of a round"),
        ("A,1.0,1,0,7,0.5,1", "line 3: warmup is '0.5'; expected 0 or 1"),
        ("A,1,0.0,0,7,0,1", "line 3: the same system, benchmark, seed, metric, execution and iteration as line 2"),
    ],
)
def test_floats_that_are_no_whole_numbers_are_errors_and_rows_are_told_apart_by_their_numbers(row, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        load(put("t.csv", f"{FLOATS}A,1.0,0,0,7,0,1\n{row}\n"))


def test_names_in_a_file_can_be_systems():
    put("sort.json", {"results": [{"command": c, "times": [t, t]} for c, t in (("old", 2.0), ("new", 1.0))]})
    selection = load("sort.json", names_are="systems")
    assert [(s.system, s.benchmark) for s in selection.samples] == [("old", "sort"), ("new", "sort")]
    document = compare_document(compare(selection, "old", "new", confidence=0.95, threshold=0.01, metric=None))
    assert document["benchmarks"][0]["ratio"] == 0.5
    assert document["benchmarks"][0]["interval"] == [None, None]
    assert document["source"]["kind"] == "import"


def test_a_table_names_its_own_systems_and_seeds():
    put("t.csv", "system,seed,value\nA,2,1\nA,1,3\nB,stock,5\nB,x,7\n")
    selection = load("t.csv")
    assert [(s.system, s.binaries, s.controls) for s in selection.samples] == [
        ("A", ((1, ((3.0,),)), (2, ((1.0,),))), {}),
        ("B", (("x", ((7.0,),)),), {"stock": ((5.0,),)}),
    ]
    with pytest.raises(UsageError, match="holds the systems A, B"):
        load("n=t.csv")
    with pytest.raises(UsageError, match="names its systems itself"):
        load("t.csv", names_are="systems")
    put("s.csv", "seed,value\n1,2\n")
    with pytest.raises(UsageError, match="says itself which seed"):
        load("A:3=s.csv")
    put("one.csv", "system,value\nA,2\n")
    assert load("B:3=one.csv").samples[0].binaries == ((3, ((2.0,),)),)


def test_tables_of_one_system_are_put_together():
    put("a.csv", "system,seed,value\nA,1,1\n")
    put("b.csv", "system,seed,value\nA,1,2\nA,2,3\n")
    assert load("a.csv", "b.csv").samples[0].binaries == ((1, ((1.0,), (2.0,))), (2, ((3.0,),)))


def test_warm_up_is_left_out():
    put(
        "p.json",
        {
            "version": "1.0",
            "metadata": {"name": "b"},
            "benchmarks": [{"runs": [{"warmups": [[1, 9.0]]}, {"warmups": [[1, 9.0]], "values": [1.0, 2.0, 3.0]}]}],
        },
    )
    selection = load("p.json")
    assert selection.samples[0].binaries == (("unnamed", ((1.0, 2.0, 3.0),)),)
    assert "1 execution holds nothing but warm-up: not in the sample" in said(selection.warnings)[0]
    assert load("p.json", warmup=2).samples[0].binaries == (("unnamed", ((2.0, 3.0),)),)
    with pytest.raises(AnalysisError, match="nothing but warm-up"):
        analyse(load("p.json", warmup=4), confidence=0.95, metrics=[])


def test_units_of_one_metric_must_agree():
    put("a.csv", "system,value,unit\nA,1,s\n")
    put("b.csv", "system,value,unit\nB,1,J\n")
    with pytest.raises(UsageError, match="measured in s .less is better. of A, and in J"):
        load("a.csv", "b.csv")


def test_a_value_too_large_in_its_base_unit_is_an_error():
    result = {"benchmark": "b", "mode": "avgt", "primaryMetric": {"scoreUnit": "day/op", "rawData": [[9e59]]}}
    put("j.json", [result])
    with pytest.raises(UsageError, match="fork 0, iteration 0 is 7.776e[+]64, which cannot be averaged"):
        load("j.json")


def rsf(time, exehash, valid="S"):
    facts = {"benchmark": "505.mcf_r", "exehash": exehash, "reported_time": time, "valid": valid}
    return "".join(f"spec.cpu2017.results.505_mcf_r.base.000.{key}: {value}\n" for key, value in facts.items())


def test_the_hash_that_spec_records_tells_binaries_apart():
    put("1.rsf", rsf(1.5, "a" * 64))
    put("2.rsf", rsf(2.5, "b" * 64))
    put("3.rsf", rsf(3.5, "a" * 64))
    selection = load("g=1.rsf", "g=2.rsf", "g=3.rsf")
    assert selection.samples[0].binaries == (("a" * 16, ((1.5,), (3.5,))), ("b" * 16, ((2.5,),)))
    assert [name for name, _ in load("g:1=1.rsf", "g:2=2.rsf").samples[0].binaries] == [1, 2]


def test_seeds_that_spec_did_not_build_anew_for_are_refused():
    put("1.rsf", rsf(1.5, "a" * 64))
    put("3.rsf", rsf(3.5, "a" * 64))
    with pytest.raises(UsageError, match="1 and 3 are the same executable .exehash aaaaaaaaaaaaaaaa"):
        load("g:1=1.rsf", "g:3=3.rsf")


def test_failed_executions_are_failures_of_the_selection():
    put("1.rsf", rsf(1.5, "a" * 64))
    put("2.rsf", rsf("--", "b" * 64, valid="CE"))
    selection = load("g:1=1.rsf", "g:2=2.rsf")
    (failure,) = selection.failures
    assert (failure.system, failure.benchmark, failure.layout) == ("g", "505.mcf_r", 2)
    report = analyse(selection, confidence=0.95, metrics=[])
    (analysis,) = report.analyses
    assert "1 execution failed, and is not in the sample; seeds without any: 2" in said(analysis.warnings)
    with pytest.raises(AnalysisError, match=r"SPEC status CE .compile error. .2.rsf.$"):
        analyse(load("2.rsf"), confidence=0.95, metrics=[])


def test_a_failed_row_is_of_its_own_round_and_of_its_seed_where_the_table_has_none():
    put("t.csv", "seed,value,status,round,started_at\n1,1,ok,1,5\n2,,crash,9,7.5\n3,,crash,,\n")
    selection = load("t.csv")
    assert [(each.round, each.started_at) for each in selection.failures] == [(9, 7.5), (3, 0.0)]
    document = analyse_document(analyse(selection, confidence=0.95, metrics=[]))
    assert [each["round"] for each in document["failures"]] == [9, 3]


def test_systems_and_benchmarks_are_chosen():
    put("t.csv", "system,benchmark,value\nA1,x,1\nA2,x,2\nB,x,3\nB,y,4\n")
    assert [s.system for s in load("t.csv", systems=["A*"]).samples] == ["A1", "A2"]
    assert [s.system for s in load("t.csv", benchmarks=["y"]).samples] == ["B"]
    with pytest.raises(UsageError, match="no system called 'C'; there are A1, A2, B"):
        load("t.csv", systems=["C"])


@pytest.mark.parametrize(
    "name",
    [b"a b.json", b"a:1.json", b"a\nb.json", b"a\xffb.json", b"-x.json", b"~.json", b"*.json", "é.json".encode()],
)
def test_hostile_file_names_work(name):
    put(os.fsdecode(name), hyperfine(1))
    for text in (os.fsdecode(name), "./" + os.fsdecode(name), "g:1=" + os.fsdecode(name)):
        selection = load(text)
        assert len(selection.samples) == 1
        assert selection.samples[0].system.isprintable()
        assert json.dumps(selection.sources[0].file).isascii()


def test_a_file_whose_name_could_mean_two_things_is_an_error_that_says_how_to_write_it():
    put("a=b.json", hyperfine(1))
    put("b.json", hyperfine(2))
    with pytest.raises(UsageError, match=r"write ./a=b.json for it, or a=./b.json for the other one"):
        load("a=b.json")
    assert load("./a=b.json").samples[0].binaries == (("unnamed", ((1.0,),)),)
    assert load("a=./b.json").samples[0].binaries == (("unnamed", ((2.0,),)),)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe1", "not UTF-8 text .byte 0.$"), (b"\x1f\x8b\x08", "it is compressed"), (b"", "is empty")],
)
def test_a_file_that_is_no_text_is_an_error(content, message):
    with open("f", "wb") as file:
        file.write(content)
    with pytest.raises(UsageError, match=message):
        load("f")


def test_a_file_that_cannot_be_read_is_an_error():
    with pytest.raises(UsageError, match="cannot read nope: No such file"):
        load("nope")
    with pytest.raises(UsageError, match="is a directory, and not criterion"):
        load("A=.")
    with pytest.raises(UsageError, match="cannot read"):
        load("a\0b")


def test_executions_of_controls_are_counted_as_those_that_layoutrand_recorded():
    """`--full` said 90 executions of a file that has 270, 180 of them of controls."""
    rows = [f"a,b,{seed},{k},{m},1.{k}" for m in ("x", "y") for seed in ("1", "2", "stock") for k in range(3)]
    rows += ["a,c,identity,0,x,1", "a,c,1,0,x,1.5", "a,d,1,0,x,1"]
    put("r.csv", "\n".join(["system,benchmark,seed,execution,metric,value", *rows]))
    of = evidence(load("r.csv"))
    assert [(row.n_executions, row.n_of_controls) for row in of.systems] == [(9 + 2 + 1, 3 + 1)]
    assert sentences(of)[0] == "a: seeds 1..2 (2), 12 executions (4 of them of controls), none failed"


def test_documents_say_which_layoutrand_analysed():
    put("r.csv", "\n".join(["system,seed,value", *(f"{s},{k},1.{k}" for s in "ab" for k in range(3))]))
    selection = load("r.csv")
    analysed = analyse_document(analyse(selection, confidence=0.95, metrics=[]))
    compared = compare_document(compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None))
    assert {analysed["version"], compared["version"]} == {layoutrand.__version__}


HEADER = "system,benchmark,seed,execution,value,metric,unit,node\n"


def of_machine(name, node, wall):
    return put(name, HEADER + "".join(f"a,b,{seed},0,{wall + seed},wall_s,s,{node}\n" for seed in range(1, 6)))


def test_tables_of_the_same_binaries_say_which_machine_each_is_of_or_it_is_told():
    """Else what lies between two machines is taken for what one does from one execution to the next."""
    mixed = "have executions of the same binaries, and not all say of which machine"
    first, other = of_machine("first.csv", "", 1), of_machine("other.csv", "", 7)
    (told,) = [each for each in load(first, other).warnings if mixed in str(each)]
    assert str(told).startswith("first.csv and other.csv ")
    assert told.brief() == "first.csv, other.csv: of one machine? the column `node` says which"
    assert _is_remark(told)
    assert not any(mixed in each for each in said(load(first).warnings))

    named = load(of_machine("box1.csv", "box1", 1), of_machine("box2.csv", "box2", 7))
    assert not any(mixed in each for each in said(named.warnings))
    (sample,) = named.samples
    assert sample.nodes[1] == ("box1", "box2")


def test_one_machine_needs_no_name():
    """As without a cluster: there is no other that its executions could be of."""
    (sample,) = load(of_machine("once.csv", "box1", 1), of_machine("again.csv", "box1", 7)).samples
    assert sample.nodes == {}


def put_criterion(folder, slower=1.0):
    """A directory as criterion left it, all of whose times are so many times as long."""
    for path, text in criterion_files().items():
        file = Path(folder) / path.removeprefix("criterion/")
        file.parent.mkdir(parents=True, exist_ok=True)
        content = json.loads(text)
        if file.name == "sample.json":
            content["times"] = [time * slower for time in content["times"]]
        file.write_text(json.dumps(content))


def test_directories_of_criterion_are_binaries_and_their_samples_are_iterations():
    for seed in (1, 2, 3):
        put_criterion(f"runs/{seed}", slower=seed)
    found = load("new:*=runs/*")
    sample = json.loads(criterion_files()["criterion/total/100/new/sample.json"])
    of_one = [time / count / 1e9 for time, count in zip(sample["times"], sample["iters"], strict=True)]
    (ours,) = [each for each in found.samples if each.benchmark == "total/100"]
    assert {seed: [list(values) for values in executions] for seed, executions in ours.binaries} == {
        seed: [pytest.approx([seed * value for value in of_one])] for seed in (1, 2, 3)
    }


def test_what_criterion_keeps_of_an_earlier_execution_is_not_read():
    put_criterion("criterion")
    (kept := Path("criterion/total/100/base")).mkdir()
    (kept / "sample.json").write_text("{}")
    assert [source.systems for source in load("criterion/").sources] == [("criterion",)]


@pytest.mark.parametrize(
    ("file", "format_name", "message"),
    [
        ("empty", None, "empty: is a directory, and not criterion's .*; what other harnesses write are files"),
        ("runs", "jmh", "runs: is a directory, which jmh does not write"),
        ("runs", None, "runs: two cases are called 'fib 15'; import what is of each system by itself"),
        ("runs/1/total/100/new/sample.json", None, r"is one case of criterion's.*\(target/criterion\)"),
        ("runs/1/total/100/new/sample.json", "criterion", r"is a file, and what criterion writes is a directory"),
    ],
)
def test_what_is_no_directory_of_criterions_is_told(file, format_name, message):
    Path("empty").mkdir()
    put_criterion("runs/1")
    put_criterion("runs/2")
    with pytest.raises(UsageError, match=message):
        load(file, format_name=format_name)


def test_a_directory_under_two_names_is_imported_once():
    put_criterion("runs/1")
    Path("again").symlink_to("runs/1")
    with pytest.raises(UsageError, match="one file"):
        load("a:1=runs/1", "a:2=again")
