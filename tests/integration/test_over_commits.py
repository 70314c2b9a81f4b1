"""`history --run` and `bisect` on a repository whose commits are built: one slow, one broken, two that change nothing."""

import json
import os
import re

import pytest

import gitkit
from layoutrand.cli import run
from startkit import layoutrand

pytestmark = pytest.mark.slow

CONFIG = """\
[project]
name = "toy"
[build]
source = "{source}"
commands = ["$CC -o toy main.c part.c"]
artefacts = ["toy"]
[systems.O1]
cflags = "-O1"
[[benchmarks]]
name = "count"
command = ["{{artefact}}"]
metric = {{ regex = "total ([0-9]+)", name = "total", unit = "1" }}
"""
MAIN = """\
#include <stdio.h>
int f1(int), f2(int), f3(int), f4(int), f5(int), f6(int), f7(int), f8(int);
int main(void) {{ printf("total %d\\n", 100 * (f1(1) + f2(1) + f3(1) + f4(1) + f5(1) + f6(1) + f7(1) + f8(1)) + {more}); }}
"""
PART = "\n".join(f"int f{k}(int x) {{ return x * {k}; }}" for k in range(1, 9))


def calls_in(root, cache):
    """A function that executes layoutrand there, which must end with that status."""
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}

    def called(*arguments, status=0):
        done = layoutrand(*arguments, cwd=root, env=env)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return called


@pytest.fixture(scope="module", params=[".", "src"])
def project(request, tmp_path_factory):
    """A project whose source is the repository, or a directory in it; its commits, and how to call layoutrand."""
    root = tmp_path_factory.mktemp("commits") / "p"
    inside = "" if request.param == "." else "src/"
    gitkit.make(root)
    (root / ".gitignore").write_text("layoutrand.toml\n.layoutrand\n")
    commits = [
        gitkit.commit(root, {f"{inside}main.c": MAIN.format(more=0), f"{inside}part.c": PART}, "first"),
        gitkit.commit(root, {"README": "words"}, "words alone"),
        gitkit.commit(root, {f"{inside}main.c": "no C"}, "broken"),
        gitkit.commit(root, {f"{inside}main.c": MAIN.format(more=100)}, "slower"),
        gitkit.commit(root, {f"{inside}main.c": "// a comment\n" + MAIN.format(more=100)}, "a comment"),
    ]
    (root / "layoutrand.toml").write_text(CONFIG.format(source=request.param))
    return commits, calls_in(root, tmp_path_factory.mktemp("cache"))


def test_what_is_told_while_it_executes_names_commits(tmp_path, monkeypatch, capsys):
    """Executed are captures, whose names look like those of commits, and are none that git knows."""
    root = tmp_path / "p"
    gitkit.make(root)
    commits = [gitkit.commit(root, {"main.c": MAIN.format(more=k), "part.c": PART}) for k in (0, 100)]
    (root / "layoutrand.toml").write_text(CONFIG.format(source="."))
    monkeypatch.chdir(root)
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("layoutrand.cli.progress._LINE_S", 0)
    assert run(["history", "--run", "HEAD~1..HEAD", "--seeds", "2"]) == 0
    told = set(re.findall(r"widest: count, (O1 @\w+):", capsys.readouterr().err))
    assert told
    assert told <= {f"O1 @{commit[:12]}" for commit in commits}


def test_a_range_is_built_and_measured_and_each_program_executed_once(project):
    commits, called = project
    done = called("history", "--run", f"{commits[0]}..HEAD", "--seeds", "6", "--json", status=1)  # one does not build
    document = json.loads(done.stdout)
    assert f"{commits[2][:9]} is left out" in done.stderr
    assert document["warnings"][0] == f"1 of 5 commits could not be built and is left out: {commits[2][:9]}"
    assert "5 builds are" not in done.stderr and "4 builds are 2 programs, each executed once" in done.stderr
    (series,) = document["series"]
    assert [point["commits"] for point in series["points"]] == [commits[:2], commits[3:]]
    (step,) = series["steps"]
    assert (step["verdict"], step["commit"], step["n_other_commits"]) == ("slower", commits[3], 1)
    assert step["ratio"] == pytest.approx(3700 / 3600)
    again = called("history", "--run", f"{commits[0]}..HEAD", "--seeds", "6", "--json", status=1)
    assert "0 executions now" in " ".join(again.stderr.split())
    assert f"{commits[2][:9]} is left out: the build exited with status 1" in again.stderr
    assert "instrumented build" not in again.stderr and "stock build" not in again.stderr
    assert "is not tried again: --retry-failed builds it again" in again.stderr
    words = ("history", "--run", f"{commits[0]}..HEAD", "--seeds", "6", "--retry-failed")
    retried = called(*words, status=1).stderr
    assert retried.count("instrumented build") == retried.count("stock build") == 1
    assert f"{commits[2][:9]} is left out" in retried and "--retry-failed builds it again" not in retried
    # A run of the work tree at a commit is the same program, found under the same commit.
    called("run", "--seeds", "6", "--share-machine")
    whole = json.loads(called("history", "--json").stdout)
    assert [point["commits"] for point in whole["series"][0]["points"]] == [commits[:2], commits[3:]]
    assert whole["series"][0]["points"][1]["n_executions"] == 12


def test_the_commit_of_a_step_is_found(project):
    commits, called = project
    late = json.loads(called("bisect", commits[0], "HEAD", "--budget", "0.001s", "--json", status=4).stdout)
    assert (late["ending"], late["out_of_time"], late["executed"] > 0) == ("cannot tell", True, True)
    assert [each["outcome"] for each in late["decisions"]] == ["differ"]
    done = called("bisect", commits[0], "HEAD", "--json")
    document = json.loads(done.stdout)
    assert document["already"] >= late["executed"], "what was executed within the budget counts"
    assert document["ending"] == "one of several"  # the broken commit cannot be told from the one after it
    assert [each["commit"] for each in document["commits"]] == commits[2:4]
    assert document["skipped"][0]["commit"] == commits[2]
    assert document["ratio"]["ratio"] == pytest.approx(3700 / 3600)
    again = json.loads(called("bisect", f"{commits[0]}..HEAD", "--json").stdout)
    assert (again["executed"], again["ending"], again["decisions"]) == (0, "one of several", document["decisions"])
    screen = called("bisect", commits[0], "HEAD", "--quiet").stdout
    assert commits[3][:9] in screen
    assert "more  +2.78" in screen, "counts are no speed"
    assert len(screen.splitlines()) <= 20
    same = json.loads(called("bisect", commits[3], commits[4], "--json").stdout)
    assert (same["ending"], same["executed"]) == ("same program", 0)


def test_the_commit_is_searched_by_another_metric_and_nothing_is_executed_again(tmp_path):
    """Two numbers of one process change in commits of their own."""
    root = tmp_path / "p"
    gitkit.make(root)
    prints = MAIN.replace("}}\n", 'printf("objects %d\\n", 100 + {objects}); }}\n')
    assert "objects" in prints
    values = [(0, 0), (100, 0), (100, 10)]
    commits = [gitkit.commit(root, {"main.c": prints.format(more=m, objects=o), "part.c": PART}) for m, o in values]
    objects = '[[benchmarks.metric.printed]]\nname = "objects"\nregex = "objects ([0-9]+)"\nunit = "1"\n'
    table = re.sub(r"metric = .*", "", CONFIG.format(source="."))
    total = '[[benchmarks.metric.printed]]\nname = "total"\nregex = "total ([0-9]+)"\nunit = "1"\n'
    (root / "layoutrand.toml").write_text(table + total + objects)
    called = calls_in(root, tmp_path / "cache")
    main = json.loads(called("bisect", commits[0], "HEAD", "--json").stdout)
    assert ([each["commit"] for each in main["commits"]], main["metric"]) == (commits[1:2], "total")
    other = json.loads(called("bisect", commits[0], "HEAD", "--metric", "objects", "--json").stdout)
    assert ([each["commit"] for each in other["commits"]], other["metric"]) == (commits[2:], "objects")
    assert other["ratio"]["ratio"] == pytest.approx(1.1)
    assert other["executed"] == 0


def test_what_is_loaded_is_the_program_and_not_what_debuggers_read(tmp_path):
    """A comment moves line numbers, so objects with -g differ, as Go's packages do: it was executed, and noise told."""
    root = tmp_path / "p"
    gitkit.make(root)
    texts = [MAIN.format(more=0), "// more\n// lines\n" + MAIN.format(more=0), MAIN.format(more=100)]
    commits = [gitkit.commit(root, {"main.c": text, "part.c": PART}) for text in texts]
    (root / "layoutrand.toml").write_text(CONFIG.format(source=".").replace("-O1", "-O1 -g"))
    called = calls_in(root, tmp_path / "cache")
    alike = json.loads(called("bisect", *commits[:2], "--json").stdout)
    assert (alike["ending"], alike["executed"]) == ("same program", 0)
    document = json.loads(called("bisect", commits[0], "HEAD", "--json").stdout)
    assert (document["ending"], [each["commit"] for each in document["commits"]]) == ("found", commits[2:])
    assert document["same_program"] == commits[1:2]
    assert document["ratio"]["ratio"] == pytest.approx(3700 / 3600)
    cased = called("check", *commits[:2], "--format", "json").stdout
    assert json.loads(cased)["systems"][0]["ending"] == "same program"


def test_ends_that_are_none(project):
    commits, called = project
    assert "no ancestor" in called("bisect", "HEAD", commits[0], status=2).stderr
    assert "has no commit nowhere" in called("bisect", "nowhere", status=2).stderr
    assert "write a time such as" in called("bisect", commits[0], "HEAD", "--budget", "soon", status=2).stderr
    assert "same commit" in called("bisect", "HEAD", "HEAD", status=2).stderr
    unbuilt = called("bisect", commits[2], "HEAD", status=1).stderr  # a build that failed is no wrong usage
    assert "could not be built" in unbuilt and "passed over" not in unbuilt
    assert "have them build this one, too, or name another end" in unbuilt


def test_commits_that_one_of_two_systems_cannot_build(tmp_path):
    """The other system has them, so it is said of which system they are left out."""
    root = tmp_path / "p"
    gitkit.make(root)
    guarded = "#ifdef OTHER\nno C\n#endif\n" + MAIN.format(more=100)
    commits = [gitkit.commit(root, {"main.c": text, "part.c": PART}) for text in (MAIN.format(more=0), guarded)]
    other = '[systems.other]\ncflags = "-O1 -DOTHER"\n[[benchmarks]]'
    (root / "layoutrand.toml").write_text(CONFIG.format(source=".").replace("[[benchmarks]]", other))
    done = calls_in(root, tmp_path / "cache")("history", "--run", "HEAD~1..HEAD", "--seeds", "2", "--json", status=1)
    short = commits[1][:9]
    assert f"other: {short} is left out: " in done.stderr and "O1: " not in done.stderr
    document = json.loads(done.stdout)
    assert document["warnings"][0] == f"other: 1 of 2 commits could not be built and is left out: {short}"
    assert {each["system"]: len(each["points"]) for each in document["series"]} == {"O1": 2, "other": 1}


def test_commits_of_which_no_execution_succeeds(tmp_path):
    """At an end it ends the search at once, as further rounds would fail alike; between the ends it is passed over."""
    root = tmp_path / "p"
    gitkit.make(root)
    needed = tmp_path / "needed"
    opened = f'main(void) {{ if (fopen("{needed}", "r") == 0) return 3;'
    fails = MAIN.format(more=100).replace("main(void) {", opened)
    assert "fopen" in fails
    sources = [MAIN.format(more=0), fails, MAIN.format(more=90)]
    commits = [gitkit.commit(root, {"main.c": text, "part.c": PART}) for text in sources]
    (root / "layoutrand.toml").write_text(CONFIG.format(source="."))
    called = calls_in(root, tmp_path / "cache")
    document = json.loads(called("bisect", *commits[:2], "--json", status=4).stdout)
    assert (document["ending"], document["executed"]) == ("cannot tell", 16)
    assert document["warnings"] == [f"no execution of {commits[1][:9]} gave a number"]
    screen = " ".join(called("bisect", *commits[:2], "--quiet", status=4).stdout.split())
    assert f"cannot tell: no execution of {commits[1][:9]} gave a number; 1 commit is left" in screen
    assert "Next: mend what fails and give --retry-failed" in screen
    assert "--most-seeds" not in screen
    over = json.loads(called("bisect", commits[0], commits[2], "--json").stdout)
    assert (over["ending"], [each["commit"] for each in over["commits"]]) == ("one of several", commits[1:])
    assert over["skipped"] == [{"commit": commits[1], "error": f"no execution of {commits[1][:9]} gave a number"}]
    said = called("bisect", commits[0], commits[2])
    assert f"{commits[1][:9]} is passed over" in said.stderr
    assert "those between gave too few numbers" in " ".join(said.stdout.split())
    needed.touch()
    found = json.loads(called("bisect", commits[0], commits[2], "--retry-failed", "--json").stdout)
    assert (found["ending"], [each["commit"] for each in found["commits"]]) == ("found", [commits[1]])
    assert found["executed"] > 0
    assert json.loads(called("bisect", commits[0], commits[2], "--retry-failed", "--json").stdout)["executed"] == 0


CASED = """\
[project]
name = "toy"
[build]
source = "."
commands = ["$CC -o toy main.c part.c"]
artefacts = ["toy"]
[systems.O1]
cflags = "-O1"
[[benchmarks]]
name = "bench"
harness = "libtest"
command = ["{artefact}"]
"""
PRINTS = """\
#include <stdio.h>
int f1(int), f2(int), f3(int), f4(int), f5(int), f6(int), f7(int), f8(int);
int main(void) {{
  printf("test sum ... bench: %d ns/iter (+/- 1)\\n", 101 * (f1(1) + f2(1) + f3(1) + f4(1) + f5(1) + f6(1) + f7(1)) + {more});
  printf("test last ... bench: %d ns/iter (+/- 1)\\n", 101 * f8(1));
  {new}
}}
"""


@pytest.fixture(scope="module")
def cased(tmp_path_factory):
    """A program that reports cases: one of them becomes slower in one commit, and another is new in the last."""
    root = tmp_path_factory.mktemp("cased") / "p"
    gitkit.make(root)
    (root / ".gitignore").write_text("layoutrand.toml\n.layoutrand\n")
    new = 'puts("test new ... bench: 5 ns/iter (+/- 1)");'
    commits = [
        gitkit.commit(root, {"main.c": PRINTS.format(more=0, new=""), "part.c": PART}, "first"),
        gitkit.commit(root, {"main.c": PRINTS.format(more=0, new="f2(2);")}, "calls more"),
        gitkit.commit(root, {"main.c": PRINTS.format(more=100, new="f2(2);")}, "slower"),
        gitkit.commit(root, {"main.c": PRINTS.format(more=100, new=new)}, "a new case"),
    ]
    (root / "layoutrand.toml").write_text(CASED)
    return commits, calls_in(root, tmp_path_factory.mktemp("cache"))


def test_each_case_of_a_harness_has_its_commit_and_a_process_is_executed_once(cased):
    commits, called = cased
    document = json.loads(called("bisect", commits[0], "HEAD", "--json").stdout)
    assert document["schema"] == "layoutrand/bisect-cases/1"
    last, total = document["cases"]
    assert (total["benchmark"], total["ending"]) == ("bench/sum", "found")
    assert [each["commit"] for each in total["commits"]] == [commits[2]]
    assert total["ratio"]["ratio"] == pytest.approx(2928 / 2828)
    assert (last["benchmark"], last["ending"]) == ("bench/last", "no step")
    assert last["executed"] == 0, "the first rounds of both ends tell of all cases"
    assert document["executed"] == total["executed"] + 16
    assert document["one_sided"] == {"bench/new": "bad"}
    one = json.loads(called("bisect", commits[0], "HEAD", "--benchmark", "bench/sum", "--json").stdout)
    assert (one["schema"], one["ending"], one["executed"]) == ("layoutrand/bisect/1", "found", 0)
    wrong = called("bisect", commits[0], "HEAD", "--benchmark", "bench/smu", status=2).stderr
    assert "bench has no case that is called 'bench/smu'" in " ".join(wrong.split())


def test_check_has_a_verdict_for_each_case(cased):
    commits, called = cased
    done = called("check", commits[1], commits[3], "--fail-if", "slower", "--format", "json", status=3)
    (system,) = json.loads(done.stdout)["systems"]
    assert {each["benchmark"]: each["conclusion"] for each in system["benchmarks"]} == {
        "bench/sum": "slower",
        "bench/last": "same",
    }
    assert system["one_sided"] == {"bench/new": "head"}
    assert system["executed"] == 2 * system["benchmarks"][0]["n_layouts"] + 16
    screen = called("check", f"{commits[1]}..{commits[3]}", status=3).stdout
    assert "bench/new: there at" in screen
    same = called("check", commits[1], commits[3], "--benchmark", "bench/last", status=0).stdout
    assert "bench/sum" not in same


def test_a_program_that_the_change_adds_is_left_out_and_the_others_are_compared(tmp_path):
    """The gate of a change that adds a benchmark failed, with benchmarks that both commits have."""
    root = tmp_path / "p"
    gitkit.make(root)
    (root / ".gitignore").write_text("layoutrand.toml\n.layoutrand\n")
    both = {"part.c": PART, "main.c": MAIN.format(more=0), "build": "$CC -o toy main.c part.c\n"}
    one = gitkit.commit(root, both)
    adds = both["build"] + "$CC -o new new.c part.c\n"
    two = gitkit.commit(root, {"main.c": MAIN.format(more=100), "new.c": MAIN.format(more=5), "build": adds})
    text = (
        CONFIG.format(source=".").replace("$CC -o toy main.c part.c", ". ./build").replace('["toy"]', '["new", "toy"]')
    )
    new = '[[benchmarks]]\nname = "new"\ncommand = ["{artefact}"]\n'  # of the first artefact
    (root / "layoutrand.toml").write_text(text.replace('name = "count"', 'name = "count"\nartefact = "toy"') + new)
    called = calls_in(root, tmp_path / "cache")
    done = called("check", one, two, "--format", "json", status=3)
    (system,) = json.loads(done.stdout)["systems"]
    assert {each["benchmark"]: each["conclusion"] for each in system["benchmarks"]} == {"count": "slower"}
    assert (system["one_sided"], system["build_failures"]) == ({"new": "head"}, [])
    assert f"{one[:7]} makes no new, so commits are compared without it" in " ".join(done.stderr.split())
    screen = called("check", one, two, "--fail-if", "none").stdout
    assert f"new: there at {two[:7]} alone, so not compared" in " ".join(screen.split())
    # With nothing else to compare it is BASE that fails.
    alone = called("check", one, two, "--benchmark", "new", status=1).stdout
    assert "merge that first" in " ".join(alone.split())
    # What HEAD makes no more is a failure of HEAD.
    gone = called("check", two, one, status=1).stdout
    assert "made no new" in " ".join(gone.split()) and "merge that first" not in gone


def test_layouts_that_could_not_be_made_are_told_and_counted_nowhere(tmp_path):
    """A program of two functions, in a class each: it has one layout, and none of these is executed."""
    root = tmp_path / "p"
    gitkit.make(root)
    part = "int f1(int x) {{ return x + {more}; }}\n"
    main = '#include <stdio.h>\nint f1(int);\nint main(void) { printf("total %d\\n", f1(1)); }\n'
    for more in (0, 100):
        gitkit.commit(root, {"main.c": main, "part.c": part.format(more=more)}, "more")
    (root / "layoutrand.toml").write_text(CONFIG.format(source=".").replace("-O1", "-O2"))
    called = calls_in(root, tmp_path / "cache")
    told = " ".join(called("history", "--run", "HEAD~1..HEAD", "--seeds", "4", status=1).stderr.split())
    assert "(seeds 1..4): toy has 2 placeable sections" in told
    assert "no layout of 2 commits was executed" in told
    done = called("bisect", "HEAD~1", "HEAD", "--json", status=4)
    document = json.loads(done.stdout)
    assert (document["executed"], document["already"]) == (0, 0)
    assert " ".join(done.stderr.split()).count("toy has 2 placeable sections") == 1


def test_a_case_that_nothing_has_reported_yet_is_told_after_one_round_and_then_before_anything_is_built(tmp_path):
    root = tmp_path / "p"
    gitkit.make(root)
    main = MAIN.replace("total %d", "test copy ... bench: %d ns/iter (+/- 1)")
    files = {"part.c": PART, ".gitignore": ".layoutrand\n"}
    commits = [gitkit.commit(root, {"main.c": main.format(more=k), **files}) for k in (0, 100)]
    config, _, _ = CONFIG.format(source=".").partition("metric")
    (root / "layoutrand.toml").write_text(f'{config}harness = "libtest"\n')
    called = calls_in(root, tmp_path / "cache")
    words = ["bisect", "HEAD~1", "HEAD", "--share-machine", "--benchmark"]
    first = called(*words, "count/copi", status=2).stderr
    assert "\n2 executions" in first
    assert "count has no case that is called 'count/copi'; there are count/copy; did you" in " ".join(first.split())
    again = called(*words, "count/copi", status=2).stderr
    assert f"layoutrand: count has no case that is called 'count/copi' at {commits[0][:9]}; there are" in again
    assert len(again.splitlines()) == 1


def test_a_program_of_two_layouts_is_not_told_to_take_more(tmp_path):
    root = tmp_path / "p"
    gitkit.make(root)
    main = '#include <stdio.h>\nint f1(int);\nint main(void) { printf("total %d\\n", 100 * f1(1)); }\n'
    for more in range(3):
        gitkit.commit(root, {"main.c": main, "part.c": f"int f1(int x) {{ return x + {more}; }}\n"}, "more")
    (root / "layoutrand.toml").write_text(CONFIG.format(source="."))
    called = calls_in(root, tmp_path / "cache")
    told = called("history", "--run", "HEAD~2..HEAD", "--seeds", "6", status=1).stdout
    assert "there are only 2 distinct layouts" in " ".join(told.split()) and "--seeds" not in told
    screen = " ".join(called("bisect", "HEAD~1", "HEAD", "--quiet", status=4).stdout.split())
    assert "have too few layouts: seeds gave 2, and further ones repeat these; 1 commit is left" in screen
    assert "Next: add padding to layout.factors for more layouts" in screen and "--retry-failed" not in screen
    assert "which of 1 commits" not in screen
    text = (root / "layoutrand.toml").read_text()
    (root / "layoutrand.toml").write_text(f'{text}[layout]\nfactors = ["function-order", "padding"]\n')
    assert json.loads(called("bisect", "HEAD~1", "HEAD", "--json").stdout)["ending"] == "found"


@pytest.mark.parametrize(("fails", "is_remembered"), [("exit 3", True), ("kill -TERM $$", False)])
def test_a_commit_that_failed_to_build_is_built_again_when_that_is_asked_for(tmp_path, fails, is_remembered):
    """Once it can be built nothing is remembered of that; what a signal ended may be built at the next call."""
    root = tmp_path / "p"
    gitkit.make(root)
    needed = tmp_path / "needed"
    commits = [gitkit.commit(root, {"main.c": MAIN.format(more=k), "part.c": PART}) for k in (0, 100)]
    own = f"if grep -q '+ 100' main.c && [ ! -e {needed} ]; then {fails}; fi"
    text = CONFIG.format(source=".").replace('commands = ["', f'commands = ["""{own}""", "')
    (root / "layoutrand.toml").write_text(text)
    called = calls_in(root, tmp_path / "cache")
    assert f"{commits[1][:9]} could not be built" in called("bisect", *commits, status=1).stderr
    keys = tmp_path / "cache/keys"
    assert bool(list(keys.glob("failed-*"))) == is_remembered
    needed.touch()
    if is_remembered:
        told = called("bisect", *commits, status=1).stderr
        assert "--retry-failed builds it again" in told and "instrumented build" not in told
        assert json.loads(called("bisect", *commits, "--retry-failed", "--json").stdout)["ending"] == "found"
    assert json.loads(called("bisect", *commits, "--json").stdout)["ending"] == "found"
    assert not list(keys.glob("failed-*"))
