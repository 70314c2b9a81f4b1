"""`analyse` and `compare` as CSV and Markdown, and as tables on narrow terminals with many and odd names."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest
from rich.cells import cell_len

from layoutrand.cli import run
from layoutrand.cli import terminal as terminal_module
from layoutrand.cli.terminal import Terminal
from layoutrand.screens.display import printable
from layoutrand.text import markdown
from layoutrand.text.csv_cells import text_of_cell
from layoutrand.text.flat import flat, to_csv

HOSTILE = ["a|b", "*c* _d_ `e`", "<script>alert(1)</script>", "[x](javascript:y)", "=1+1", 'say "hi", \\ & &lt;', "# t"]
LONG = "a benchmark with a name that does not end where a table would like it to " * 2


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Two systems, ten binaries each, of these benchmarks, in one file."""
    monkeypatch.chdir(tmp_path)

    def write(names, systems=("A", "B")):
        out = io.StringIO()
        rows = csv.writer(out)
        rows.writerow(["system", "benchmark", "seed", "value"])
        for system in systems:
            for name in names:
                chance = random.Random(f"{system} {name}")
                rows.writerows([system, name, seed, chance.gauss(1 + len(name) / 100, 0.01)] for seed in range(1, 11))
        (tmp_path / "t.csv").write_text(out.getvalue())

    return write


def printed(capsys, *arguments):
    assert run([*arguments, "--import", "t.csv"]) == 0
    return capsys.readouterr()


@pytest.mark.parametrize(
    "command", [["analyse"], ["compare", "A", "B"], ["compare", "A", "B", "C"], ["compare", "A", "A"]]
)
def test_csv_has_the_numbers_of_json_and_nothing_else_is_on_stdout(imported, capsys, command):
    imported(["x", "y", *HOSTILE], systems=("A", "B", "C"))
    document = json.loads(printed(capsys, *command, "--json").out)
    captured = printed(capsys, *command, "--csv")
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    parts = document.get("comparisons", [document])
    expected = [row for part in parts for row in part["benchmarks"]]
    found = [row for row in rows if row.get("row") != "suite"]

    shown = [f"'{name}" if name[0] in "=+-@" else name for name in (row["benchmark"] for row in expected)]
    assert [row["benchmark"] for row in found] == shown
    assert any(name.startswith("'=") for name in shown)
    raw = list(csv.DictReader(io.StringIO(printed(capsys, *command, "--raw-csv").out)))
    assert [row["benchmark"] for row in raw if row.get("row") != "suite"] == [row["benchmark"] for row in expected]
    for row, values in zip(found, expected, strict=True):
        for key, value in values.items():
            if isinstance(value, bool):
                assert row[key] == str(value).lower()
            elif isinstance(value, int | float):
                assert float(row[key]) == value
        assert [float(row["interval_low"]), float(row["interval_high"])] == values["interval"]
    if command[0] == "compare":
        suites = [float(row["ratio"]) for row in rows if row["row"] == "suite"]
        assert suites == [part["suite"]["ratio"] for part in parts]
    assert "A: " in captured.err  # what the table rests on is told beside it


@pytest.mark.parametrize("command", [["analyse"], ["compare", "A", "B"], ["compare", "A", "A"]])
def test_markdown_has_the_tables_of_the_terminal_and_odd_names_stay_text(imported, capsys, command):
    imported(HOSTILE)
    captured = printed(capsys, *command, "--markdown")
    lines = captured.out.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("|---")]

    assert len(heads) >= 3
    for head in heads:
        n_columns = lines[head].count("|") - 1
        for line in lines[head + 1 :]:
            if not line.startswith("|"):
                break
            assert line.replace("\\\\", "").replace("\\|", "").count("|") == n_columns + 1
    assert "<script>" not in captured.out.replace("\\<script>", "")
    assert "[x](" not in captured.out
    assert not any(line.startswith("# ") for line in lines)


def test_fail_if_looks_at_the_verdicts_that_stand_beside_the_others_on_request(tmp_path, monkeypatch, capsys):
    """Somewhere between no difference and a clear one the first verdict is sure alone and not beside nine others."""
    monkeypatch.chdir(tmp_path)
    command = ["compare", "A", "B", "--import", "t.csv", "--fail-if", "slower"]
    for step in range(12):
        lines = ["system,benchmark,seed,value"]
        for name in range(10):
            chance = random.Random(name)
            for system, factor in (("A", 1.0), ("B", 1.01 + 0.002 * step if name == 0 else 1.0)):
                lines += [f"{system},{name},{seed},{factor * chance.gauss(1, 0.01)}" for seed in range(10)]
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
        status = run([*command, "--json"])
        rows = json.loads(capsys.readouterr().out)["benchmarks"]
        assert status == (3 if "slower" in {row["verdict"] for row in rows} else 0)
        if status == 3 and "slower" not in {row["verdict_holm"] for row in rows}:
            assert run([*command, "--holm", "--full"]) == 0
            assert " more  cannot tell" in capsys.readouterr().out
            return
    pytest.fail("no step lies between sure alone and sure beside others")


def test_only_one_format_at_a_time(imported, capsys):
    imported(["x"])
    assert run(["analyse", "--import", "t.csv", "--csv", "--markdown"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        "",
        "layoutrand: give one of --csv and --markdown: stdout holds one document\n",
    )


def test_warnings_stand_in_markdown_and_on_stderr(imported, capsys):
    imported(["x"])
    captured = printed(capsys, "analyse", "--markdown")
    assert "execute each twice, or stock beside them, and import that" in captured.err
    assert "### Warnings\n\n- warning: A, x, value; B, x, value: each binary was executed once" in captured.out


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", [["analyse"], ["compare", "A", "B", "C"], ["compare", "A", "A"]])
def test_tables_fit_the_terminal_and_lose_no_cell(imported, capsys, monkeypatch, command, width):
    """Sentences are broken between words; rows of a table may not be, nor may they end in dots."""
    names = [LONG, "\x1b[31mred", "日本語のベンチマーク", *(f"benchmark {k}" for k in range(15))]
    imported(names, systems=("A", "B", "C"))
    wide = printed(capsys, *command, "--full").out
    monkeypatch.setattr(terminal_module, "terminal_width", lambda: width)
    narrow = printed(capsys, *command, "--full").out
    table_lines = [line for line in narrow.splitlines() if line.startswith(("benchmark", "  ", "日本"))]

    assert len(table_lines) > 30
    assert max(cell_len(line) for line in table_lines if "; " not in line and ":" not in line) <= width
    assert "…" not in narrow
    assert "\x1b" not in narrow
    assert sorted(set(wide.split())) == sorted(set(narrow.split()))


def test_a_table_too_wide_goes_on_below_under_the_same_names(capsys, monkeypatch):
    monkeypatch.setattr(terminal_module, "terminal_width", lambda: 30)
    Terminal(json=False, quiet=False).table(
        "T", ("benchmark", "system", "one", "two"), [("b", "s", "1" * 10, "2" * 10), ("c", "s", "3" * 10, "4" * 10)]
    )
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    assert lines == [
        "T",
        "benchmark  system         one",
        "b          s       1111111111",
        "c          s       3333333333",
        "benchmark  system         two",
        "b          s       2222222222",
        "c          s       4444444444",
    ]


def test_where_there_is_no_terminal_a_name_is_never_broken(capsys):
    """Such as a mangled symbol, which somebody may search for: in one line with its numbers."""
    name = "_ZN4llvm" + "9StringMap" * 40
    Terminal(json=False, quiet=False).table(
        "T", ("suspect", "worse", "layouts"), [(name, "where it is far from main", "3 / 4"), ("f" * 33, "-", "1 / 2")]
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]

    assert [name, *"where it is far from main".split()] in lines
    assert [name, "3", "/", "4"] in lines
    assert ["f" * 33, "1", "/", "2"] in lines


def test_what_moves_the_cursor_is_shown():
    assert printable("a\x1b[2J\r\n\tb é 日") == "a\\x1b[2J\\r\\n\\tb é 日"
    assert printable("a\n\tb", keep="\n\t") == "a\n\tb"


def test_flat_rows():
    row = flat(
        {
            "a": 1,
            "interval": [1.5, None],
            "nested": {"b": True, "interval": None},
            "none": None,
            "words": ["x", "y"],
            "levels": [{"level": "binary", "count": 3, "relative_sd_interval": [0.1, 0.2]}],
            "skipped": 1,
        },
        ["skipped"],
    )
    assert row == {
        "a": 1,
        "interval_low": 1.5,
        "interval_high": None,
        "nested_b": True,
        "nested_interval_low": None,
        "nested_interval_high": None,
        "none": None,
        "words": "x; y",
        "binary_count": 3,
        "binary_relative_sd_interval_low": 0.1,
        "binary_relative_sd_interval_high": 0.2,
    }


def test_csv_text():
    rows = [{"name": 'a "b", c', "x": 0.1, "stock": None}, {"name": "d\ne", "stock_mean": 2, "flag": False}]
    text = to_csv(rows)
    assert text == 'name,x,stock_mean,flag\n"a ""b"", c",0.1,,\n"d\ne",,2,false\n'
    assert [row["name"] for row in csv.DictReader(io.StringIO(text))] == ['a "b", c', "d\ne"]


@pytest.mark.parametrize("name", ["=1+1", "+x", "-O2", "@f", "\tx", "\r=x", "'=x", "''+"])
def test_no_cell_of_csv_is_a_formula(name):
    """Names of columns neither; numbers stay numbers, and what was written comes back."""
    rows = [{name: name, "number": -1.5, "text": "-1.5e3", "plain": "'tis"}]
    header, line = csv.reader(io.StringIO(to_csv(rows), newline=""))
    assert header[0] == line[0] == f"'{name}"
    assert text_of_cell(line[0]) == name
    assert line[1:] == ["-1.5", "-1.5e3", "'tis"]
    assert next(csv.reader(io.StringIO(to_csv(rows, raw=True), newline="")))[0] == name


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("wall_s", "wall_s"),
        ("_x_", r"\_x\_"),
        ("a|b", r"a\|b"),
        ("p < 0.1", "p < 0.1"),
        ("<b>", r"\<b>"),
        ("a\n\nb", "a b"),
        ("&amp;", r"\&amp;"),
        ("a & b", "a & b"),
        ("[1, 2] s", "[1, 2] s"),
        ("[x](y)", r"\[x\](y)"),
        ("a\\b", r"a\\b"),
        ("1.0~rc1, 2.0~rc2", r"1.0\~rc1, 2.0\~rc2"),
        ("$x$", r"\$x\$"),
    ],
)
def test_markdown_escapes_what_is_active_and_nothing_else(text, written):
    assert markdown.plain(text) == written


@pytest.mark.parametrize(
    ("text", "written"), [("- x", r"\- x"), ("# x", r"\# x"), ("12. x", r"12\. x"), ("12 x", "12 x"), ("> x", r"\> x")]
)
def test_a_markdown_paragraph_begins_no_list(text, written):
    assert markdown.paragraph(text) == written
