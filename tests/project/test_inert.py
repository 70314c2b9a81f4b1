"""`make inert`: that changes are what they are called, that the proof sees what is none, and what the page says."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import debian_sources
import workshop
from inert import drive, judges, proof, study, table, work
from inert.c_text import can_exchange, functions, strings
from inert.changes import (
    EXCHANGED,
    INERT,
    INSERTED,
    LENGTHENED,
    RENAMED,
    REORDERED,
    Draws,
    Executed,
    SourceTree,
    _each_sorted,
    _sorted_in,
    draw,
    hot_places,
    plant,
)
from inert.programs import Program
from inert.study import Slot

TOY = {
    "Makefile": """\
OBJS = main.o sums.o \\
       texts.o

toy: $(OBJS)
\t$(CC) $(OBJS) -o toy
%.o: %.c
\t$(CC) $(CFLAGS) -c $< -o $@
""",
    "main.c": """\
#include <stdio.h>
int sum(int n);
int twice(int n);
void explain(int code);

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        explain(argc);
    printf("%d %d\\n", sum(1000), twice(21));
    return 0;
}
""",
    "sums.c": """\
int sum(int n);
int twice(int n);

int sum(int n)
{
    int i, all = 0;
    for (i = 0; i < n; i++)
        all += i ^ (all >> 3);
    return all;
}

/* not { a function */
int twice(int n)
{
    return 2 * n;
}
""",
    "texts.c": """\
#include <stdio.h>
void explain(int code);

void explain(int code)
{
    fprintf(stderr, "this toy takes no arguments\\n");
    if (code > 2)
        fprintf(stderr, "and %d are too many\\n", code);
}
""",
}
EXECUTED = Executed({"main": (1, 100), "sum": (2, 9000), "twice": (2, 10)})


def _built(place, change=None):
    """The toy with a change: what it prints, the content of its code, and what is loaded of it."""
    place.mkdir()
    for name, text in TOY.items():
        (place / name).write_text(text)
    if change is not None:
        change.apply(place)
    subprocess.run(["make", "-s", "CC=gcc", f"CFLAGS=-O2 {proof.FLAGS}"], cwd=place, check=True)
    printed = subprocess.run([place / "toy"], capture_output=True, text=True, check=True).stdout
    return printed, proof.contents(place), proof.loaded(place / "toy")


def _tree(place):
    place.mkdir()
    for name, text in TOY.items():
        (place / name).write_text(text)
    return SourceTree.of(place, ["main", "sums", "texts"])


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    workshop.require("make", "make")
    return _built(tmp_path_factory.mktemp("inert") / "base")


@pytest.mark.parametrize("kind", INERT)
def test_a_change_compiles_prints_the_same_is_inert_by_content_and_is_the_seeds(kind, tmp_path, base):
    tree = _tree(tmp_path / "tree")
    change, again = (draw(tree, kind, EXECUTED, Draws(6, kind)) for _ in range(2))
    assert change == again
    assert change.kind == kind
    assert change.renamed or any(text != TOY[name] for name, text in change.texts.items())
    printed, contents, loaded = _built(tmp_path / "head", change)
    assert printed == base[0]
    assert proof.difference(kind, base[1], contents, EXECUTED) == ""
    assert loaded != base[2]
    others = [draw(tree, kind, EXECUTED, Draws(seed, kind)) for seed in range(7, 15)]
    assert kind == EXCHANGED or any(other != change for other in others)  # the toy has one pair to exchange


def test_the_proof_sees_a_constant_a_slowdown_and_what_is_not_the_kind(tmp_path, base):
    tree = _tree(tmp_path / "tree")
    ((name, function, calls),) = [each for each in hot_places(tree, EXECUTED, 5) if each[1].name == "sum"]
    planted = plant(tree, name, function, 50)
    assert calls == 2
    printed, contents, _ = _built(tmp_path / "planted", planted)
    assert printed == base[0]
    assert proof.difference(EXCHANGED, base[1], contents, EXECUTED) == "functions differ: sum"
    inserted = draw(tree, INSERTED, EXECUTED, Draws(3))
    _, more, _ = _built(tmp_path / "inserted", inserted)
    assert proof.difference(RENAMED, base[1], more, EXECUTED).startswith("functions differ: unused_")
    lengthened = draw(tree, LENGTHENED, EXECUTED, Draws(3))
    _, longer, _ = _built(tmp_path / "lengthened", lengthened)
    assert proof.difference(LENGTHENED, base[1], longer, Executed({"explain": (1, 40)})).startswith("executed")
    assert proof.difference(REORDERED, base[1], longer, EXECUTED) == "functions differ: explain"


def test_functions_are_found_where_compilers_see_them():
    text = """\
struct point { int x, y; };
static const int table[] = { 1, 2 };
#define BRACE {
extern "C" {
static int first(struct point p) { return '{' + p.x; }
#ifdef LATE
int late(void) { return "}"[0]; }
#endif
int Solver::search(int n) { if (n) { return 1; } return first(p); }
}
MACRO(word) { }
"""
    found = functions(text)
    assert [each.name for each in found] == ["first", "late", "search"]
    assert text[found[0].begin : found[0].end] == "static int first(struct point p) { return '{' + p.x; }"
    assert [len(each.context) for each in found] == [0, 1, 0]
    assert not can_exchange(text, found[0], found[1])  # the other may be left out
    assert not can_exchange(text, found[0], found[2])  # which calls the first, declared nowhere before


def test_a_renamed_file_goes_where_it_sorts_in_lists():
    listed = "a.o \\\n  c/x1_b.o d.$(OBJEXT)"
    assert _sorted_in(listed, "x1_b") == "a.o \\\n  d.$(OBJEXT) c/x1_b.o"
    assert _sorted_in(listed, "other") == listed
    assert _each_sorted("$(each_name src b x1_a \\\n  z)", "x1_a") == "$(each_name src b x1_a \\\n  z)"
    assert _each_sorted("$(each_name src x1_a b \\\n  z)", "x1_a") == "$(each_name src b x1_a \\\n  z)"


def test_strings_that_belong_together_stay_as_they_are():
    text = 'void f(void) { g("whole", "in" "parts", L"wide1", "100 %"); }'
    (function,) = functions(text)
    assert [text[begin:end] for begin, end in strings(text, function)] == ['"whole"', '"100 %"']


def test_a_callgrind_profile_counts_the_programs_own_functions_alone():
    text = """\
events: Ir
ob=(1) /tmp/inert-run-x/program
fl=(1) ???
fn=(1) main
0 10
cob=(2) /lib/libc.so.6
cfn=(2) malloc
calls=7 0
0 700
cfn=(3) _ZN6Solver6searchEi
calls=3 0
0 900
fn=(3)
+4 600
ob=(2)
fn=(2)
* 700
"""
    found = Executed(work._functions(text))
    assert found.functions == {"main": (0, 10), "_ZN6Solver6searchEi": (3, 600)}
    assert found.of("search") == (3, 600)
    assert found.of("sear") == (0, 0)


def test_the_corpus_is_large_enough_and_balanced():
    every = study.slots()
    assert len({slot.name for slot in every}) == len(every)
    inert, planted = [s for s in every if not s.target], [s for s in every if s.target]
    assert len(inert) >= table.WANTED_INERT
    assert len(planted) >= table.WANTED_PLANTED
    assert {sum(s.target == target for s in planted) for target in study.TARGETS} == {50}
    assert {sum(s.kind == kind for s in inert) for kind in INERT} == {45}
    timed = study.timed(every)
    assert len(set(timed)) == table.WANTED_TIMED
    assert {s.program for s in timed} == {s.program for s in every}
    assert {s.kind for s in timed if not s.target} == set(INERT)
    none = {s.name for s in every if s.program == "sqlite" or (s.program == "tcc" and s.target)}
    assert len(set(study.timed(every, none))) == table.WANTED_TIMED
    assert not none & {s.name for s in study.timed(every, none)}


def test_a_t_test_of_counts_without_scatter_calls_every_difference_one():
    assert judges.welch([5.0] * 10, [5.0] * 10) == 1
    assert judges.welch([5.0] * 10, [5.1] * 10) == 0
    assert 0.2 < judges.welch([1.0, 2.0, 3.0], [1.5, 2.0, 3.5]) < 0.9


def _cell(slot, gate, check, executions, *, program="lua"):
    facts = {"name": slot.name, "program": program, "kind": slot.kind, "target": slot.target, "commit": "c"}
    judges = {
        "gate": {"verdict": gate, "ratio": 1.03},
        "ttest": {"verdict": "slower"},
        "check": {
            "verdict": check,
            "executions": executions,
            "rounds": executions // 2,
            "interval": None if check == "same program" else [1.01, 1.04],
        },
    }
    return {**facts, **judges, "seconds": 10, "made_at": "0123456789abcdef"}


def test_the_page_counts_alarms_and_power_and_says_what_is_missing():
    inert = [Slot("lua", INERT[place % 5], place) for place in range(4)]
    planted = Slot("lua", "planted", 0, 0.02)
    every = [*inert, planted]
    verdicts = [("slower", "same program", 0), ("same", "same", 24), ("slower", "slower", 40)]
    cells = {("cycles", slot.name): _cell(slot, *said) for slot, said in zip(inert, verdicts, strict=False)}
    cells["cycles", planted.name] = _cell(planted, "same", "slower", 20)
    for slot in every:
        cells["changes", slot.name] = {"commit": "c", "discarded": {"exchanged: other code": 2}, "seconds": 1}
    found = table.collected(lambda step, name: cells.get((step, name)), every, [planted])
    text = table.page(found, "# Opening {hours} {commits}")
    assert text.startswith("# Opening 0.0 0123456789ab\n")
    assert "| **all** | 67 % (2 of 3; 9 … 99) | 100 % (3 of 3; 29 … 100) | 33 % (1 of 3; 1 … 91) |" in text
    assert "| 2 % | `layoutrand check` | 100 % (1 of 1; 3 … 100) | 0 | 0 | 0 |" in text
    assert "false alarms of `check` at most 5 %: 33 % (1 of 3; 1 … 91), too early to say" in text
    assert "a median of at most 60 % of the executions of 30 rounds: 37 %, too early to say" in text
    assert f"**1 of 5 changes are not judged yet**: {inert[3].name}." in text
    assert "3 inert changes are judged, 200 are wanted." in text
    assert "| two functions of a file exchanged | other code | 10 |" in text
    assert "`check` decided 4 of 4 changes, 4 of them within 30 rounds." in text
    assert not table.is_complete(found, every, ["cycles"])
    assert table.is_complete(found, inert[:3], ["cycles"])


def test_planted_slowdowns_are_told_one_by_one_by_time():
    planted = [Slot("lua", "planted", number, target) for number, target in ((0, 0.05), (1, 0.01))]
    cells = {("changes", slot.name): {"commit": "c", "discarded": {}, "seconds": 1} for slot in planted}
    truth = {"effect": 0.02, "interval": [-0.01, 0.05], "layouts": 20}
    cells["time", planted[0].name] = {**_cell(planted[0], "same", "slower", 80), "truth": truth}
    cells["time", planted[1].name] = {**_cell(planted[1], "same", "cannot tell", 400), "truth": truth}
    found = table.collected(lambda step, name: cells.get((step, name)), planted, planted)
    text = table.page(found, "# Opening {hours} {commits}")
    first, second = (text.index(f"| {slot.name} |") for slot in (planted[1], planted[0]))
    assert first < second
    assert f"| {planted[0].name} | 5 % | +2.0 % (-1.0 % … +5.0 %) | slower | +1.0 % … +4.0 % | 80 |" in text
    assert "`check` decided 1 of 2 changes, 0 of them within 30 rounds." in text


def test_no_page_is_written_without_any_result():
    found = table.collected(lambda step, name: None, study.slots(), [])
    with pytest.raises(ValueError, match="no change is judged yet"):
        table.page(found, "")


def test_files_of_other_code_or_of_another_change_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "commit", lambda: "0123456789abcdef")  # an unpacked release has no repository
    cells = drive.Cells(tmp_path, anew=False, published=tmp_path)
    cells.write("changes", "a", {"commit": "1"}, 1.0)
    cells.write("cycles", "a", {"commit": "1"}, 1.0)
    assert cells.read("cycles", "a")["seconds"] == 1.0
    judged = tmp_path / "cycles" / "a.json"
    judged.write_text(json.dumps({**json.loads(judged.read_text()), "code": "other"}))
    assert cells.read("cycles", "a")["seconds"] == 1.0
    assert drive.Cells(tmp_path, anew=True, published=tmp_path).read("cycles", "a") is None
    cells.write("changes", "a", {"commit": "2"}, 1.0)
    assert cells.read("cycles", "a") is None
    made = tmp_path / "changes" / "a.json"
    made.write_text(json.dumps({**json.loads(made.read_text()), "code": "other"}))
    assert cells.read("changes", "a") is None


def test_a_change_by_other_code_is_taken_over_if_it_is_drawn_again(tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "commit", lambda: "0123456789abcdef")
    base = _toy_repository(tmp_path / "toy")
    monkeypatch.setattr(drive.Base, "of", lambda program: base)
    slots = [Slot("toy", "planted", number, 0.02) for number in range(4)]
    monkeypatch.setattr(study, "slots", lambda: slots)
    made = {"file": "sums.c", "function": "sum", "calls": 2, "turns": 70, "target": 0.02}
    commit = base.program.commit("a", plant(base.tree, "sums.c", base.tree.functions("sums.c")[0], 70))
    drive.Cells(tmp_path, anew=False, published=tmp_path).write("cycles", slots[0].name, {"commit": commit}, 3.0)
    kept = {**made, "made_at": "elsewhere", "code": "other", "seconds": 1}
    for slot, its in zip(slots, (commit, "0" * 40, commit, ""), strict=True):
        (tmp_path / "changes" / f"{slot.name}.json").write_text(json.dumps({**kept, "commit": its}))
    anew = study.Made(slots[1], "planted", "another", "1" * 40)
    monkeypatch.setattr(study, "make_planted", lambda slot, base, taken: anew if slot.number == 1 else no_place(slot))

    def no_place(slot):
        return study.Made(slot, "planted", "", "")

    cells = drive.Cells(tmp_path, anew=False, published=tmp_path)
    drive.make_changes(cells, base.program, slots)
    read = [cells.read("changes", slot.name) for slot in slots]
    assert [each["commit"] for each in read] == [commit, "1" * 40, "", ""]
    assert [each["made_at"][:9] for each in read] == ["elsewhere", "012345678", "012345678", "elsewhere"]
    assert cells.read("cycles", slots[0].name)["seconds"] == 3.0
    assert drive.Cells(tmp_path, anew=True, published=tmp_path).read("changes", slots[3].name) is None


def test_what_is_published_is_gone_on_from(tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "commit", lambda: "0123456789abcdef")
    slot = study.slots()[0]
    here = drive.Cells(tmp_path / "here", anew=False, published=tmp_path)
    here.write("changes", slot.name, {"commit": "1", "discarded": {}}, 1.0)
    here.write("cycles", slot.name, {"commit": "1"}, 2.0)
    here.publish(table.collected(here.read, study.slots(), []), tmp_path)
    elsewhere = drive.Cells(tmp_path / "elsewhere", anew=False, published=tmp_path)
    assert elsewhere.read("cycles", slot.name)["seconds"] == 2.0
    elsewhere.write("changes", slot.name, {"commit": "2", "discarded": {}}, 1.0)
    assert elsewhere.read("changes", slot.name)["commit"] == "2"
    assert elsewhere.read("cycles", slot.name) is None


def test_what_was_judged_by_time_stays_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "commit", lambda: "0123456789abcdef")
    every = study.slots()
    cells = drive.Cells(tmp_path / "here", anew=False, published=tmp_path)
    first = drive.timed_slots(cells, every)
    assert first == [slot for slot in every if slot in study.timed(every, set())]
    for slot in first[:5]:
        cells.write("changes", slot.name, {"commit": "1", "discarded": {}}, 1.0)
        cells.write("time", slot.name, {"commit": "1"}, 1.0)
    for slot in (each for each in every if each.program == "sqlite" and each not in first[:5]):
        cells.write("changes", slot.name, {"commit": "", "discarded": {}}, 1.0)
    later = drive.timed_slots(cells, every)
    assert len(later) == len(first)
    assert set(first[:5]) <= set(later)
    assert not [slot for slot in later if slot.program == "sqlite" and slot not in first[:5]]


def _toy_repository(place):
    """The toy as a program of the study, with what is known of its base."""
    workshop.require("git", "git")
    program = Program("toy", place)
    program.repository.mkdir(parents=True)
    for name, text in TOY.items():
        (program.repository / name).write_text(text)
    for words in (["init", "--quiet", "--initial-branch=base"], ["add", "--all"], ["commit", "--quiet", "-m", "toy"]):
        program._git(*words)
    return study.Base(program, EXECUTED, {}, [], program.tree(["main", "sums", "texts"]), work.Counts(1e6, 1e6, 0))


@pytest.mark.parametrize("kind", [*INERT, "planted"])
def test_a_change_made_elsewhere_is_the_same_commit_here(kind, tmp_path):
    there, here = (_toy_repository(tmp_path / name) for name in ("there", "here"))
    if kind == "planted":
        slot = Slot("toy", kind, 0, 0.02)
        change = plant(there.tree, "sums.c", there.tree.functions("sums.c")[0], 70)
        made = {"file": "sums.c", "function": "sum", "calls": 2, "turns": 70}
    else:
        slot = Slot("toy", kind, 3)
        change = draw(there.tree, kind, EXECUTED, Draws(study.SEED, "toy", kind, 3, 1))
        made = {"kind": kind, "attempt": 1}
    made["commit"] = there.program.commit(slot.name, change)
    assert not here.program.has(made["commit"])
    assert study.again(slot, here, made) == made["commit"]
    assert here.program.has(made["commit"])
    with pytest.raises(LookupError, match="where it was made"):
        study.again(slot, here, {**made, "commit": "0" * 40})


@pytest.mark.slow
@pytest.mark.hour
def test_a_change_of_lua_goes_by_all_three_judges(tmp_path):
    """A real program, a short workload: an inert change is made, proved, and judged by simulated cycles."""
    workshop.require("valgrind", "valgrind")
    archives = Path(debian_sources.KEPT / "cint")
    program = Program("lua", tmp_path / "lua")
    try:
        program.prepare(archives, private_lists=True)
    except subprocess.CalledProcessError as error:
        debian_sources.unavailable(f"the source of lua cannot be had: {error}")
    toml = program.project("cycles") / "layoutrand.toml"
    toml.write_text(toml.read_text().replace('"work.lua", "1"', '"work.lua", "0.04"'))
    program.record()
    made = study.make_inert(Slot("lua", EXCHANGED, 0), study.Base.of(program), set())
    assert made.commit
    found = judges.judged(program, made.as_json(), "cycles")
    assert found["gate"]["verdict"] in ("same", "slower", "faster")
    assert found["ttest"]["executions"] == 20
    assert found["check"]["verdict"] in ("same program", "same")
    shutil.rmtree(program.directory)
