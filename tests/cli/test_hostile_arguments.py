"""Arguments that no command can do anything with: a message and an exit status, never a traceback, never an escape."""

from __future__ import annotations

import os

import pytest

import startkit

LONG = "9" * 5000
WIDE = "9" * 400
ESCAPES = "\x1b]0;x\x07 \x9b2J \u202e"


@pytest.fixture
def layoutrand(tmp_path):
    """The command line in a project of one system, with a cache of its own."""
    project = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["a"]\n[systems.O1]\n'
    (tmp_path / "layoutrand.toml").write_text(project)
    (tmp_path / "good.csv").write_text("seed,value\n" + "".join(f"{seed},{1 + seed / 9}\n" for seed in range(1, 7)))
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    def call(*arguments):
        return startkit.layoutrand(*arguments, cwd=tmp_path, env=env, errors="surrogateescape")

    return call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "--seeds", LONG], "more than 1,000,000 seeds at once"),
        (["inspect", "O1", LONG], "is not a layout"),
        (["cache", "gc", "--max-size", f"{WIDE}GB"], "must be below 2^63 bytes"),
        (["cache", "gc", "--max-size", WIDE], "must be below 2^63 bytes"),
        (["staging", "gc", "--shared", ".", "--older-than", f"{WIDE}d"], "write an age such as 30d"),
        (["compare", "--threshold", LONG], "must lie between 0 and 100 %"),
        (["simulate", "coverage", "--binaries", LONG], "write whole numbers separated by ',', of at most"),
        (["simulate", "coverage", "--datasets", "99999999999999999999"], "--datasets"),
        (["analyse", "--confidence", "nan"], "--confidence"),
        (["analyse", "--import", f"x:{LONG}=t.csv"], "t.csv"),
        (["build", "-C", WIDE], "File name too long"),
        (["init", "-C", WIDE], "File name too long"),
        (["try", "-C", WIDE], "File name too long"),
        (["demo", "-C", WIDE], "File name too long"),
        (["exec", "--seed", "1", "-C", WIDE, "--", "true"], "File name too long"),
        (["report", "--import", "good.csv", "-o", WIDE], "cannot write"),
        (["figures", "--import", "good.csv", "-o", WIDE], "cannot write"),
        (["simulate", "power", "--difference", WIDE], "--difference"),
    ],
)
def test_numbers_beyond_all_measure(layoutrand, arguments, message):
    done = layoutrand(*arguments)

    assert done.returncode == 2, done.stderr[-500:]
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [ESCAPES],
        ["build", f"--{ESCAPES}"],
        ["build", "-C", ESCAPES],
        ["build", "--seeds", ESCAPES],
        ["run", "--wait", ESCAPES],
        ["analyse", "--import", ESCAPES],
        ["-v", "analyse", "--import", ESCAPES],
        ["analyse", "--import", os.fsdecode(b"\xff\xfe.json")],
    ],
)
def test_what_is_typed_moves_no_cursor(layoutrand, arguments):
    """Of an option, a name, a file: neither ESC nor CSI (U+009B) nor what turns the direction of text."""
    done = layoutrand(*arguments)

    assert done.returncode == 2
    assert all(c.isprintable() or c == "\n" for c in done.stderr)


def test_what_a_file_says_moves_no_cursor(layoutrand, tmp_path):
    (tmp_path / "layoutrand.toml").write_text('"\\u001b]0;x\\u009b" = 1\n[systems."\\u202e"]\n')
    (tmp_path / "t.csv").write_text("system,seed,value,\u009b\n1,1,1,1\n")

    for arguments in (["build"], ["analyse", "--import", "t.csv"]):
        done = layoutrand(*arguments)

        assert done.returncode == 2
        assert all(c.isprintable() or c == "\n" for c in done.stderr), done.stderr
