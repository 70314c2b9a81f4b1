"""Numbers of other harnesses at the command line: `analyse --import`, `compare --import`, `export`."""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len

import startkit
from layoutrand.cli import import_options
from layoutrand.interop import formats
from warningkit import unwrapped


@pytest.fixture
def layoutrand(tmp_path):
    def call(*arguments, stdin=""):
        return startkit.layoutrand(*arguments, cwd=tmp_path, stdin=stdin)

    return call


@pytest.fixture
def table(tmp_path):
    rows = [f"{system},{seed},{base + seed / 100}" for system, base in (("A", 1), ("B", 2)) for seed in range(1, 9)]
    path = tmp_path / "t.csv"
    path.write_text("system,seed,value\n" + "\n".join(rows) + "\n")
    return path


def test_analyse_and_compare_need_no_project(layoutrand, table):
    done = layoutrand("analyse", "--import", "t.csv", "--system", "A")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("8 layouts · imported from t.csv")
    done = layoutrand("compare", "A", "B", "--import", "t.csv", "--json", "--fail-if", "slower")
    assert done.returncode == 3, done.stderr
    document = json.loads(done.stdout)
    assert document["source"]["files"] == [{"file": "t.csv", "format": "csv", "systems": ["A", "B"], "binary": None}]
    (row,) = document["benchmarks"]
    assert (row["verdict"], row["paired"]["n_pairs"]) == ("slower", 8)


IN_TURN = "measure again with your own harness, both systems in turn"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (  # all of one system, then all of the other
            [("x", s, k, 100 * (s == "B") + k) for s in "AB" for k in range(1, 31)],
            f"cannot be told from a difference between the systems; {IN_TURN}, and import that",
        ),
        (  # both beside each other, then more of one
            [("x", s, k, 10 * k + (s == "B")) for k in range(1, 31) for s in ("AB" if k < 16 else "A")],
            f"compared in which both were executed; {IN_TURN}, and import that",
        ),
        (  # hardly any seed of both
            [("x", s, k, 10 * k) for k in range(1, 31) for s in ("AB" if k % 3 == 0 else "BA"[k % 3 - 1])],
            f"widens the interval; {IN_TURN}, and import the same seeds or names of both",
        ),
        (
            [(b, s, k + 8 * (s == "B"), 0) for b in "xy" for s in "AB" for k in range(1, 11)],
            "of up to 10; import the same seeds or names of both, in all benchmarks",
        ),
    ],
)
def test_no_advice_is_to_execute_by_layoutrand_what_another_harness_measured(layoutrand, tmp_path, rows, told):
    lines = [f"{b},{s},{k},{1 + k * 7 % 13 / 100},{at or ''}" for b, s, k, at in rows]
    (tmp_path / "t.csv").write_text("\n".join(["benchmark,system,seed,value,started_at", *lines]) + "\n")

    done = layoutrand("compare", "A", "B", "--import", "t.csv", "--full")

    said = unwrapped(done.stdout + done.stderr)
    assert told in said
    assert "layoutrand run" not in said
    # What a project exported it can execute more of.
    (tmp_path / "layoutrand.toml").write_text("")
    done = layoutrand("compare", "A", "B", "--import", "t.csv", "--full")
    assert "layoutrand run" in unwrapped(done.stdout + done.stderr)


def hyperfine(folder, system, names):
    for seed, name in enumerate(names, 1):
        result = {"command": name, "times": [1 + seed / 100, 1.001 + seed / 100], "exit_codes": [0, 0]}
        (folder / f"{system}-{seed}.json").write_text(json.dumps({"results": [result]}))


def test_the_first_screen_tells_what_may_be_wrong_with_the_files(layoutrand, tmp_path):
    for system in "ab":
        hyperfine(tmp_path, system, ["fib"] * 8)
    done = layoutrand("compare", "a", "b", "--import", "a:*=a-*.json", "--import", "b:*=b-*.json")
    assert "ⓘ a-1.json and b-1.json hold the same numbers: is one a copy?" in unwrapped(done.stdout)
    rows = [
        f"{s},{seed},{n},{seed + n / 9}" for s, k in (("a", 3), ("b", 30)) for seed in range(1, 9) for n in range(k)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["system,seed,iteration,value", *rows]) + "\n")
    done = layoutrand("compare", "a", "b", "--import", "t.csv")
    assert "ⓘ benchmark: other numbers of iterations in an execution, a 3, b 30: --warmup" in unwrapped(done.stdout)


def test_one_reason_of_failures_in_many_files_is_one(layoutrand, tmp_path):
    for seed in range(1, 9):
        one = {"command": "fib", "times": [1 + seed / 100, 1.5, 1 + seed / 101], "exit_codes": [0, 7, 0]}
        (tmp_path / f"a-{seed}.json").write_text(json.dumps({"results": [one]}))
    done = layoutrand("analyse", "--import", "a:*=a-*.json")
    assert "8 executions failed and are not in the numbers: exit status 7\n" in unwrapped(done.stdout)


def test_commands_that_name_their_binary_are_said_to_be_benchmarks_of_one_layout(layoutrand, tmp_path):
    for system in "ab":
        hyperfine(tmp_path, system, [f"bin/{system}-{seed} fib.lua" for seed in range(1, 9)])
    done = layoutrand("analyse", "--import", "a:*=a-*.json")
    assert "a: a name for each binary (bin/a-1 fib.lua, ...); one for all: hyperfine" in done.stdout
    assert "Next: import 30 binaries of each system" in done.stdout
    assert "layoutrand run" not in done.stdout
    done = layoutrand("compare", "a", "b", "--import", "a:*=a-*.json", "--import", "b:*=b-*.json")
    assert done.returncode == 1
    assert "b: each binary has a name of its own, such as bin/b-1 fib.lua and bin/b-8 fib.lua" in done.stderr
    assert "Give it one name in the files of both, as by `hyperfine --command-name NAME`" in done.stderr
    assert "build more layouts" not in done.stderr


def test_benchmarks_of_a_suite_that_records_its_binaries_are_not_taken_for_names_of_one(layoutrand, tmp_path):
    """SPEC CPU 2017 writes a hash of each benchmark's executable; no option of hyperfine makes these one program."""
    facts = {"reported_time": "12.5", "valid": "S"}
    lines = [
        f"spec.cpu2017.results.{name.replace('.', '_')}.base.000.{key}: {value}"
        for name, digit in (("505.mcf_r", "a"), ("541.leela_r", "b"))
        for key, value in {"benchmark": name, "exehash": digit * 64, **facts}.items()
    ]
    (tmp_path / "new.rsf").write_text("\n".join(["spec.cpu2017.lognum: 1", *lines]) + "\n")
    done = layoutrand("analyse", "--import", "new.rsf")
    assert "505.mcf_r" in done.stdout
    assert "a name for each binary" not in done.stdout
    assert "1 binary cannot show how much binaries differ" in unwrapped(done.stdout)


def test_that_one_binary_shows_nothing_is_told_once_of_two_systems_and_their_mean(layoutrand, tmp_path):
    """It was told of the mean again, as of "505.mcf_r native reported_time (baseline)", and in full of each system."""
    for system, time in (("old", "12.5"), ("new", "12.75")):
        lines = [
            f"spec.cpu2006.results.{name.replace('.', '_')}.base.000.{key}: {value}"
            for name in ("429.mcf", "445.gobmk")
            for key, value in {"benchmark": name, "reported_time": time, "valid": "S"}.items()
        ]
        (tmp_path / f"{system}.rsf").write_text("\n".join(lines) + "\n")
    asked = ("compare", "old", "new", "--import", "old.rsf", "--import", "new.rsf")
    assert unwrapped(layoutrand(*asked).stdout).count("cannot show how much") == 1
    full = layoutrand(*asked, "--full")
    told = unwrapped(full.stdout)
    assert told.count("1 binary of each system cannot show how much") == 2  # of two benchmarks
    assert "of the candidate" not in told and "native" not in told + full.stderr


def test_a_directory_that_is_made_for_a_page_is_told(layoutrand, tmp_path):
    (tmp_path / "t.csv").write_text("system,seed,value\n" + "".join(f"a,{n},1.{n}\n" for n in range(1, 6)))
    asked = ("report", "--import", "t.csv", "--output", "no/such/x.html")
    assert f"wrote no/such/x.html (and made the directory {tmp_path / 'no'})" in unwrapped(layoutrand(*asked).stderr)
    assert "made" not in layoutrand(*asked).stderr


def test_a_directory_that_is_made_for_figures_is_told_where_it_is_not_the_one_that_was_named(layoutrand, tmp_path):
    (tmp_path / "t.csv").write_text("system,seed,value\n" + "".join(f"a,{n},1.{n}\n" for n in range(1, 6)))
    asked = ("figures", "--import", "t.csv", "--output")
    told = unwrapped(layoutrand(*asked, "no/such").stderr)
    assert f"captions.txt (and made the directory {tmp_path / 'no'})" in told
    assert "made" not in layoutrand(*asked, "no/such").stderr
    assert "made" not in layoutrand(*asked, "beside").stderr


def test_binaries_that_share_a_name_are_layouts_of_it(layoutrand, tmp_path):
    hyperfine(tmp_path, "a", ["fib"] * 8)
    done = layoutrand("analyse", "--import", "a:*=a-*.json")
    assert "a: 8 layouts" in done.stdout
    assert "a name for each" not in done.stdout
    assert "S = your own build" not in done.stdout
    assert "fib, wall_s: 1.01 s to 1.08" in done.stdout


def test_failed_executions_are_listed(layoutrand):
    done = layoutrand(
        "analyse", "--import", "A=/dev/stdin", stdin="seed,value,status,reason\n1,1,,\n2,2,,\n3,,exit,status 4\n"
    )
    assert done.returncode == 0
    assert "benchmark: 1 execution failed and is not in the numbers: status 4" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "csv"], "--format is about files to import"),
        (["--names-are", "systems"], "--names-are is about files to import"),
        (["--warmup", "1"], "--warmup is about files to import"),
        (["--import", "t.csv", "--host", "x"], "--host is about layoutrand's own results"),
        (["--import", "t.csv", "-C", "x"], "--directory is about layoutrand's own results"),
        (
            ["--import", "t.csv", "--format", "cvs"],
            "no format called 'cvs'; there are asv, bencher, catch2, criterion, csv",
        ),
        (["--import", "t.csv", "--names-are", "x"], "no meaning of --names-are called 'x'"),
        (["--import", "t.csv", "--format", "jmh"], "t.csv, line 1: no JSON"),
        (["--import", "t.csv", "--system", "C"], "no system called 'C'; there are A, B"),
        (["--import", "t.csv", "--metric", "x"], "no execution measured 'x'"),
        (["--import", "missing.csv"], "cannot read missing.csv: No such file or directory"),
    ],
)
def test_what_makes_no_sense_is_said(layoutrand, table, arguments, message):
    done = layoutrand("analyse", *arguments)
    assert done.returncode in {1, 2}
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_lists_every_format():
    assert set(import_options.FORMATS.split(", ")) == set(formats.FORMATS)


def test_a_system_compared_with_itself_is_divided_into_halves(layoutrand, table):
    done = layoutrand("compare", "A", "A", "--import", "t.csv", "--json")
    assert done.returncode == 0, done.stderr
    aa = json.loads(done.stdout)["aa"]
    assert sorted(int(seed) for side in ("baseline_seeds", "candidate_seeds") for seed in aa[side]) == list(range(1, 9))
    assert aa["noise_floor"][0]["n_each"] == 4


def test_counts_stand_in_the_order_of_the_ratio(layoutrand, tmp_path):
    rows = [f"{system},{k + n},{k}" for system, n in (("A", 5), ("B", 7)) for k in range(n * 10, n * 11)]
    (tmp_path / "t.csv").write_text("system,seed,value\n" + "\n".join(rows) + "\n")
    done = layoutrand("compare", "A", "B", "--import", "t.csv", "--full")
    assert "\nB / A, 95 % intervals" in done.stdout
    assert "  7 / 5  " in done.stdout
    assert "7 and 5 binaries" in unwrapped(done.stdout)


def test_of_one_binary_no_table_is_empty_and_nothing_is_out_of_reach(layoutrand, tmp_path):
    (tmp_path / "t.csv").write_text("system,seed,value\nA,1,1\nB,1,2\n")
    done = layoutrand("analyse", "--import", "t.csv", "--full")
    assert (done.returncode, done.stdout.count("benchmark  system  ")) == (0, 1), done.stdout
    assert "Variation at each level" not in done.stdout
    done = layoutrand("compare", "A", "B", "--import", "t.csv", "--full")
    assert done.returncode == 0
    assert "without bounds" in done.stdout
    assert "out of reach" not in done.stdout
    assert "at least 1 more is needed" in done.stderr


def test_two_systems_need_no_names(layoutrand, table):
    done = layoutrand("compare", "--import", "t.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("B against A ")


@pytest.mark.parametrize(
    ("systems", "named", "message"),
    [
        ("AAA", (), "A is the only system, and there is nothing to compare it with: `layoutrand analyse`"),
        ("ABC", (), "which systems? There are A, B, C; for example `layoutrand compare A B`"),
        ("ABC", ("B",), "which systems? There are A, B, C; for example `layoutrand compare B A`"),
    ],
)
def test_which_systems_are_compared_is_asked_where_it_is_not_clear(layoutrand, tmp_path, systems, named, message):
    rows = "".join(f"{system},{seed},1.{seed}\n" for seed, system in enumerate(systems * 2))
    (tmp_path / "t.csv").write_text(f"system,seed,value\n{rows}")
    done = layoutrand("compare", *named, "--import", "t.csv")
    assert done.returncode == 2
    assert message in done.stderr


def test_a_system_of_which_all_failed_is_known_by_its_name(layoutrand, tmp_path):
    """As where SPEC's peak crashed in every benchmark."""
    half = '508.namd_r,4,{},1,1,S,4,12.0,,,RE,"refrate(ref) iteration #{}"\n'
    header = 'Benchmark,"Base # Copies","Base Run Time","Base Rate","Base Selected","Base Status",'
    header += '"Peak # Copies","Peak Run Time","Peak Rate","Peak Selected","Peak Status",Description\n'
    text = f'valid,1\n\n"Full Results Table"\n\n{header}{half.format(10.0, 1)}{half.format(10.1, 2)}\n'
    (tmp_path / "x.csv").write_text(text)
    for names in (["x", "x-peak"], []):
        done = layoutrand("compare", *names, "--import", "x.csv")
        assert done.returncode == 1, done.stdout
        assert "x has 508.namd_r; x-peak has none." in done.stderr
        assert "2 executions failed, the first: SPEC status RE" in done.stderr


def test_values_that_nothing_can_be_computed_with_are_told_and_nothing_else(layoutrand, tmp_path):
    (tmp_path / "t.csv").write_text("seed,value\n1,1.5\n2,1e-320\n")
    done = layoutrand("analyse", "--import", "t.csv", "--json")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("layoutrand: t.csv, line 3: value is '1e-320', which is too small")


def test_values_as_far_apart_as_can_be_make_strict_json(layoutrand, tmp_path):
    rows = [
        f"{name},{seed},{value}"
        for name, values in (("A", "1 1e-60 1e60"), ("B", "1e60 1 1e-60"))
        for seed, value in enumerate(values.split())
    ]
    (tmp_path / "t.csv").write_text("system,seed,value\n" + "\n".join(rows) + "\n")

    for command in (["analyse"], ["compare", "A", "B"]):
        done = layoutrand(*command, "--import", "t.csv", "--json")

        assert done.returncode == 0, done.stderr
        json.loads(done.stdout, parse_constant=pytest.fail)
        assert "Warning" not in done.stderr


def test_a_name_in_a_file_moves_no_cursor_in_markdown(layoutrand, tmp_path):
    primary = {"scoreUnit": "\x9b2J", "rawData": [[1.0]]}
    results = [{"benchmark": "b\x1b[2J", "mode": "\u202e", "primaryMetric": primary}]
    (tmp_path / "j.json").write_text(json.dumps(results))

    for output in ("--markdown", "--full"):
        done = layoutrand("analyse", "--import", "j.json", output)

        assert done.returncode == 0, done.stderr
        assert all(c.isprintable() or c == "\n" for c in done.stdout + done.stderr)


def test_of_one_binary_the_noise_of_its_executions_is_told(layoutrand, tmp_path):
    runs = {"command": "fib", "times": [1.0, 1.1, 0.9, 1.0], "exit_codes": [0, 0, 0, 0]}
    (tmp_path / "a.json").write_text(json.dumps({"results": [runs]}))
    (row,) = [line for line in layoutrand("analyse", "--import", "a.json").stdout.splitlines() if "? fib" in line]
    assert row.split()[:4] == ["?", "fib", "-", "±8.2"]


def test_forks_whose_iterations_differ_more_than_they_are_not_without_noise(layoutrand, tmp_path):
    metric = {"score": 5.0, "scoreUnit": "ns/op", "rawData": [[4.0, 6.0], [4.1, 5.9]]}
    jmh = {"jmhVersion": "1.37", "benchmark": "p.B.go", "mode": "avgt", "forks": 2, "primaryMetric": metric}
    (tmp_path / "j.json").write_text(json.dumps([jmh]))
    said = layoutrand("analyse", "--import", "j.json").stdout
    (row,) = [line for line in said.splitlines() if "? p.B.go" in line]
    assert row.split()[2:5] == ["-", "±19", "%"], said


def table_of(tmp_path, rows):
    (tmp_path / "t.csv").write_text("system,benchmark,metric,seed,execution,value\n" + "\n".join(rows) + "\n")


def test_names_that_are_long_make_no_line_too_long(layoutrand, tmp_path):
    """Neither above the figure of intervals nor beside that of layouts, whose line says what S is."""
    name, metric = "clang-19 -O3 -march=native -flto", "estimated_cycles_of_the_inner_loop"
    rows = [
        f"{system},spectral-norm n=5500,{metric},{seed},{again},{value + 10_000 * k + again}"
        for system, value in (("gcc", 22_100_000), (name, 22_200_000))
        for k, seed in enumerate((*range(1, 13), "stock"))
        for again in (0, 1)
    ]
    table_of(tmp_path, rows)
    for command in (["compare", "gcc", name], ["compare", name, name], ["analyse"]):
        lines = layoutrand(*command, "--import", "t.csv").stdout.splitlines()
        assert [line for line in lines if cell_len(line) > 80] == [], command
        assert any(("less" in line and "more ►" in line) or "S = your " in line for line in lines), command


def test_a_figure_shows_no_time_below_nothing(layoutrand, tmp_path):
    """Where the interval has no lower bound, as the line above it says, the line of the figure goes on."""
    times = {"old": (1.0, 1.1, 0.9, 1.0, 1.05, 0.95), "new": (0.01, 0.01, 1.5, 0.01, 0.02, 0.9)}
    table_of(tmp_path, [f"{s},x,time,{s}{k},0,{value}" for s, own in times.items() for k, value in enumerate(own)])
    said = layoutrand("compare", "old", "new", "--import", "t.csv").stdout
    assert "no lower bound" in said
    (drawn,) = [line for line in said.splitlines() if "●" in line]
    assert drawn.split()[1].startswith("◄")
    (scale,) = [line.split() for line in said.splitlines() if re.fullmatch(r" +−\d+ % .*", line)]
    assert scale[0] == "−100"


def test_why_nobody_can_tell_is_said_where_there_is_no_room_beside_it_and_nothing_below(layoutrand, tmp_path):
    """An interval about the threshold asks for no more layouts, and no warning says why it decides nothing."""
    both = (("O3", 1.0), ("O2", 0.98985))
    ratios = (0.9999, 1.0001, 0.9998, 1.0002, 1.0, 1.0001)
    rows = [
        f"{system},spectral-norm n=5500,value,{k},0,{factor * (ratio if system == 'O2' else 2 - ratio)}"
        for system, factor in both
        for k, ratio in enumerate(ratios)
    ]
    table_of(tmp_path, rows)
    said = layoutrand("compare", "O3", "O2", "--import", "t.csv").stdout
    assert "cannot tell" in said
    assert "Next:" not in said
    assert "    about the threshold" in said.splitlines()


def test_what_failed_needs_no_other_name(layoutrand, tmp_path):
    (tmp_path / "t.csv").write_text(
        "system,benchmark,seed,value,status\n"
        + "\n".join(f"{s},x,{k},{1 if s == 'A' else ''},{'ok' if s == 'A' else 'failed'}" for s in "AB" for k in (1, 2))
    )
    done = layoutrand("compare", "A", "B", "--import", "t.csv")
    assert done.returncode == 1
    assert "A has x; B has none." in done.stderr
    assert "--command-name" not in done.stderr


def test_failed_executions_count_as_executions_as_in_the_project_that_they_are_from(layoutrand, tmp_path):
    rows = ["1,1,ok", "2,1.1,ok", "3,1.2,ok", "stock,1.1,ok", "4,,failed", "identity,,failed"]
    (tmp_path / "t.csv").write_text("seed,value,status\n" + "\n".join(rows) + "\n")
    done = layoutrand("analyse", "--full", "--import", "A=t.csv")
    assert "A: seeds 1..3 (3), 6 executions (2 of them of controls), 2 failed" in unwrapped(done.stdout)
