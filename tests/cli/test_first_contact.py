"""What a newcomer meets on the command line: help, colours, completion, mistakes, and where the project is."""

import glob
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from layoutrand.capture.own_files import own_files
from layoutrand.cli import appearance, completing, make_app, run
from layoutrand.cli.help_text import dressed
from layoutrand.cli.trying import _after_first_round
from layoutrand.errors import UsageError
from layoutrand.library.project_directory import project_of
from layoutrand.text.shares import share
from startkit import layoutrand

CONFIG = """\
[project]
name = "toy"
[build]
commands = ["make"]
artefacts = ["toy"]
[systems.gcc-O2]
cflags = "-O2"
[systems.clang-O2]
toolchain = "clang"
[[benchmarks]]
name = "count"
command = ["{artefact}"]
"""


@pytest.fixture
def env(tmp_path):
    return {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "toy"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "layoutrand.toml").write_text(CONFIG)
    return root


def _helps(is_short, monkeypatch, columns):
    """The help of every command by its path, as lines."""
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((columns, 24)))
    pending = [("layoutrand", dressed(typer.main.get_command(make_app()), is_short=is_short), None)]
    while pending:
        path, command, parent = pending.pop()
        with command.make_context(path, [], parent=parent, resilient_parsing=True) as ctx:
            yield path, command, re.sub(r"\x1b\[[0-9;]*m", "", command.get_help(ctx)).splitlines()
            pending += [(name, inner, ctx) for name, inner in getattr(command, "commands", {}).items()]


def test_help_cuts_no_name_at_80_columns(monkeypatch):
    seen = 0
    for path, command, lines in _helps(False, monkeypatch, 80):
        text = "\n".join(lines)
        for param in command.params:
            if param.param_type_name == "option" and not param.hidden:
                seen += 1
                assert [name for name in param.opts if name not in text] == [], path
        assert "…" not in text
        assert [line for line in lines if len(line) > 80 and "layoutrand" not in line] == [], path
    assert seen > 150


def test_short_help_of_run_fits_a_screen(monkeypatch):
    helps = {path: lines for path, _, lines in _helps(True, monkeypatch, 80)}

    assert len(helps["run"]) <= 24
    assert "Examples" in helps["run"]
    assert "--share-machine" in "\n".join(helps["run"]), "what is not explained is named"


def test_examples_are_of_the_command_itself(monkeypatch):
    """`layoutrand bundle export` is another command than `layoutrand export`."""
    seen = set()
    for _, command, lines in _helps(False, monkeypatch, 80):
        usage = lines[0].removeprefix("Usage: ").split(" [")[0].rstrip()
        if "Examples" not in lines or command.name is None:
            continue
        seen.add(usage)
        start = lines.index("Examples") + 1
        examples = [line.strip() for line in lines[start : lines.index("", start)]]
        assert [each for each in examples if f"{usage} " not in f"{each} "] == [], usage
    assert {"layoutrand export", "layoutrand doctor"} <= seen


@pytest.mark.parametrize(
    ("words", "kept", "look"),
    [
        (["run", "-v", "--color", "never"], ["run"], ("never", True)),
        (["--color=always", "run"], ["run"], ("always", False)),
        (["exec", "--seed", "7", "make", "-v"], ["exec", "--seed", "7", "make", "-v"], ("auto", False)),
        (["exec", "-v", "--", "make", "-v"], ["exec", "--", "make", "-v"], ("auto", True)),
    ],
)
def test_options_of_all_commands(words, kept, look):
    assert appearance.taken_out(words, frozenset({"exec"})) == (kept, appearance.Appearance(*look))


def test_an_unknown_colour_is_refused():
    with pytest.raises(UsageError, match="--color blue: choose auto, always or never"):
        appearance.taken_out(["run", "--color", "blue"], frozenset())


def test_help_and_version_are_commands_and_options(tmp_path, env):
    helped = layoutrand("help", "run", cwd=tmp_path, env=env)
    version = layoutrand("-V", cwd=tmp_path, env=env)

    assert (helped.returncode, helped.stdout.startswith("Usage: layoutrand run")) == (0, True)
    assert version.stdout.startswith("layoutrand ")


def test_the_project_is_found_from_below(project, env):
    found = layoutrand("build", "--list-systems", "--json", cwd=project / "src" / "deep", env=env)

    assert found.returncode == 0, found.stderr
    assert {row["name"] for row in json.loads(found.stdout)["systems"]} == {"gcc-O2", "clang-O2"}


def test_a_file_of_another_user_above_is_not_used_unasked(project, monkeypatch):
    real = os.stat

    def of_another(path, *arguments, **settings):
        info = real(path, *arguments, **settings)
        if os.fspath(path) != str(project / "layoutrand.toml"):
            return info
        fields = list(info)
        fields[stat.ST_UID] = os.geteuid() + 1234
        return os.stat_result(fields)

    monkeypatch.setattr(os, "stat", of_another)

    with pytest.raises(UsageError, match="belongs to another user"):
        project_of(project / "src")
    assert project_of(project) == project


def test_names_are_completed(project, monkeypatch):
    monkeypatch.chdir(project / "src")

    here = SimpleNamespace(params={"directory": Path()})
    assert completing.systems(here, "") == ["gcc-O2", "clang-O2"]
    assert completing.systems(here, "c") == ["clang-O2"]
    assert completing.benchmarks(here, "co") == ["count"]
    (project / "layoutrand.toml").write_text("[broken")
    assert completing.systems(here, "") == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("layoutrand ana", {"analyse"}),
        ("layoutrand run --se", {"--seeds"}),
        ("layoutrand run --system c", {"clang-O2"}),
        ("layoutrand compare gcc-O2 c", {"clang-O2"}),
        ("layoutrand run --seeds 3 --benchmark c", {"count"}),
        ("layoutrand cache ve", {"verify"}),
        ("layoutrand -v run --system c", {"clang-O2"}),
        ("layoutrand --color never --verbose cache ve", {"verify"}),
        ("layoutrand -v ru", {"run"}),
        ("layoutrand run -C src --system c", {"clang-O2"}),  # above that directory
        ("layoutrand run -C / --system c", set()),
        ("layoutrand help ana", {"analyse"}),
        ("layoutrand help cache ve", {"verify"}),
        ("layoutrand help run ve", set()),
        ("layoutrand report -o la", set()),  # a file: left to the shell
    ],
)
def test_a_shell_is_told_commands_options_and_names(project, env, line, found):
    """As the functions ask that `--install-completion` writes: options and names were never found, only commands."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    of_bash = layoutrand(cwd=project, env=env | asked | {"_LAYOUTRAND_COMPLETE": "complete_bash"})
    assert (of_bash.returncode, of_bash.stderr, set(of_bash.stdout.split())) == (0, "", found)
    asked = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    of_fish = layoutrand(cwd=project, env=env | asked | {"_LAYOUTRAND_COMPLETE": "complete_fish"})
    assert {each.split("\t")[0] for each in of_fish.stdout.splitlines() if each} == found
    of_zsh = layoutrand(cwd=project, env=env | asked | {"_LAYOUTRAND_COMPLETE": "complete_zsh"})
    assert set(re.findall(r'^[^"]*"([^"]*)"|\n"([^"]*)"', of_zsh.stdout)) == {(each, "") for each in found}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("layoutrand run -C ~/app --system o", {"of-home"}),  # which a shell does not expand before it asks
        ("layoutrand run -C ~nobody-of-this-name/app --system c", set()),
        (f"layoutrand run -C {'x' * 300} --system c", set()),  # refused, and not the project here
        ("layoutrand exec --system c", {"clang-O2"}),
        ("layoutrand bisect --benchmark c", {"count"}),
        ("layoutrand bisect --system c", {"clang-O2"}),
        ("layoutrand inspect c", {"clang-O2"}),
        ("layoutrand bundle export c", {"clang-O2"}),
    ],
)
def test_names_are_found_by_whatever_takes_them_and_wherever_the_project_is(project, monkeypatch, capsys, line, found):
    home = project.parent / "home"
    (home / "app").mkdir(parents=True)
    (home / "app" / "layoutrand.toml").write_text("[systems.of-home]\n")
    monkeypatch.chdir(project)
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_LAYOUTRAND_COMPLETE": "complete_bash"}
    for name, value in {"HOME": str(home), **asked}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        run([])
    assert (ended.value.code, set(capsys.readouterr().out.split())) == (0, found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1", "did you mean 1%?"),
        ("2.5", "did you mean 2.5%?"),
        ("150%", "must lie between"),
        ("-1", "must lie between"),
    ],
)
def test_a_share_that_is_a_percentage_without_its_sign(text, words):
    with pytest.raises(UsageError) as refused:
        share(text, "--threshold")

    assert str(refused.value).endswith(words) or words == "must lie between"
    assert ("did you mean" in str(refused.value)) == ("did you mean" in words)


def test_mistakes_are_told_with_their_lines_before_anything_is_built(project, env):
    text = CONFIG.replace('toolchain = "clang"', 'toolchain = "clnag"') + 'stdin = "absent.txt"\n'
    (project / "layoutrand.toml").write_text(text)

    wrong = layoutrand("build", cwd=project, env=env)
    (project / "layoutrand.toml").write_text(CONFIG.replace("artefacts", "artefact"))
    unknown = layoutrand("run", cwd=project, env=env)

    assert wrong.returncode == unknown.returncode == 2
    assert "2 problems" in wrong.stderr
    assert "line 9: systems.clang-O2.toolchain: no toolchain called 'clnag'" in wrong.stderr
    assert "line 13: benchmarks[0].stdin: there is no " in wrong.stderr
    one = "1 problem\n  - line 5: build.artefact: unknown key; did you mean 'artefacts'?\n"
    assert unknown.stderr.endswith(one), "and not that artefacts are required"
    assert not list(Path(env["LAYOUTRAND_CACHE"]).glob("logs/*")), "nothing was built"


def test_what_a_shell_writes_our_output_into_is_no_part_of_the_source(project, env):
    """Neither while the command lasts nor afterwards, until somebody else writes into it."""
    (project / "layoutrand.toml").write_text(CONFIG)
    with open(project / "table [1].txt", "w", encoding="utf-8") as file:
        call = [sys.executable, "-m", "layoutrand", "build", "--list-systems"]
        subprocess.run(call, cwd=project, env=env, stdout=file, check=True)
    assert (project / "table [1].txt").read_text().strip()
    assert own_files(project, project) == [glob.escape("table [1].txt")]
    for text, is_ours in (("", True), ("mine\n", False)):
        with open(project / "table [1].txt", "a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            subprocess.run(call, cwd=project, env=env, stdout=file, check=True)
        assert bool(own_files(project, project)) is is_ours


def test_mistakes_are_told_in_the_order_of_lines(project, env):
    text = CONFIG.replace("[project]", "[layout]\nengine = 'magic'\nfactor = []\n[project]\nx = 1")
    (project / "layoutrand.toml").write_text(text + "[runs]\n")

    done = layoutrand("build", cwd=project, env=env)

    assert re.findall(r"line (\d+): ([a-z.]+): ", done.stderr)[:3] == [
        ("2", "layout.engine"),
        ("3", "layout.factor"),
        ("5", "project.x"),
    ]
    assert "runs: unknown key" in done.stderr.splitlines()[-1]


def test_colours_are_for_terminals_and_for_who_asks(project, env):
    plain = layoutrand("build", "--list-systems", cwd=project, env=env)
    coloured = layoutrand("build", "--list-systems", "--color", "always", cwd=project, env=env)

    assert plain.returncode == coloured.returncode == 0, coloured.stderr
    assert "\x1b[" not in plain.stdout
    assert "\x1b[" in coloured.stdout
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.stdout).split() == plain.stdout.split()


@pytest.mark.parametrize(
    ("color", "no_color", "codes"), [("never", "", []), ("auto", "1", ["1"]), ("auto", "", ["1;31"])]
)
def test_without_colours_a_terminal_gets_nothing_but_text_and_with_no_color_no_colours(
    monkeypatch, color, no_color, codes
):
    """As `ls --color=never`: bold and dim were left, which is what NO_COLOR says nothing of."""
    monkeypatch.setattr(appearance, "_chosen", [appearance.Appearance(color)])
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = io.StringIO()
    appearance.console(file=shown, force_terminal=True).print("[bold red]slower[/]")
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()) == "slower\n"
    assert [code for code in re.findall(r"\x1b\[([0-9;]*)m", shown.getvalue()) if code != "0"] == codes


@pytest.mark.parametrize("words", [["help"], ["help", "run"], ["help", "exec"], ["run", "--help"]])
def test_help_of_a_command_looks_as_asked_for_by_either_way_to_it(monkeypatch, words):
    """`--color never help run` had bold headings, as a command line within the command line knew nothing of it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for color, is_bold in (("never", False), ("auto", True)):
        shown = io.StringIO()
        shown.isatty = lambda: True
        monkeypatch.setattr("sys.stdout", shown)
        assert run(["--color", color, *words]) == 0
        assert "Usage: layoutrand" in shown.getvalue()
        assert ("\x1b[" in shown.getvalue()) == is_bold


@pytest.mark.parametrize("group", ["cache", "bundle", "results", "staging", "simulate"])
def test_a_group_by_its_name_alone_shows_its_commands_as_its_help_does(group, env):
    alone, helped = layoutrand(group, env=env), layoutrand(group, "--help", env=env)
    assert alone.returncode == 2
    assert alone.stderr.split() == helped.stdout.split()
    assert "x1b" not in alone.stderr


@pytest.mark.parametrize(
    ("failed", "logs", "files"),
    [
        ({"exit"}, True, True),
        ({"signal", "build"}, True, True),
        ({"no-measurement"}, True, False),
        ({"timeout"}, True, False),
        ({"build"}, False, False),
    ],
)
def test_a_first_round_that_failed_blames_a_missing_file_only_where_one_may_be_missing(failed, logs, files):
    """A filter that matches nothing, as a harness of benchmarks says itself, is mended by no file."""
    said = _after_first_round(failed)

    assert said.startswith("the first round failed, so no other was made")
    assert ("the logs named above" in said, "benchmarks.files" in said) == (logs, files)
    assert ("benchmarks.expect_status" in said) is ("exit" in failed)


@pytest.mark.parametrize(
    "words", [["init", "src"], ["init", "src", "-C", "."], ["try", "--", "src", "--", "./toy"]], ids=" ".join
)
def test_a_directory_is_no_command_that_builds(project, env, words):
    """It was executed as one; a program that a directory is called as is one all the same."""
    (project / "layoutrand.toml").unlink()
    done = layoutrand(*words, cwd=project, env=env)
    assert (done.returncode, "build (" in done.stderr) == (2, False)
    assert "src is a directory, and no command that builds: -C src takes" in done.stderr
    (project / "true").mkdir()
    done = layoutrand("init", "true", cwd=project, env=env)
    assert "linked no program" in done.stderr


NOTHING_BUILT = [["init", "--", "make"], ["try", "--", "make", "--", "./toy"], ["try"], ["run", "-C", "toy"]]


@pytest.mark.parametrize("words", NOTHING_BUILT, ids=" ".join)
def test_a_directory_that_cannot_be_written_to_is_told_before_anything_is_built(project, env, words):
    """Whether it is a disk that is read-only, or permissions, or something that stands in the way, as here."""
    if "-C" not in words:
        (project / "layoutrand.toml").unlink()
    (project / ".layoutrand").write_text("a file")
    done = layoutrand(*words, cwd=project if "-C" not in words else project.parent, env=env)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert re.search(r"cannot (write|create) \S*\.layoutrand/\S+.*: Not a directory", said), said
    assert "build (" not in said and not (Path(env["LAYOUTRAND_CACHE"]) / "captures").exists()
    assert sorted(each.name for each in project.iterdir() if each.is_file()) == sorted(
        [".layoutrand", *(["layoutrand.toml"] if "-C" in words else [])]
    )


@pytest.mark.parametrize(
    ("command", "words", "name"),
    [("init", "-- make", "layoutrand.toml"), ("try", "-- make -- ./toy", ".layoutrand/try.toml")],
)
def test_a_disk_that_is_read_only_is_named_with_the_file(tmp_path, env, command, words, name):
    disk = tmp_path / "disk"
    disk.mkdir()
    called = f"{sys.executable} -m layoutrand {command} -C {disk} {words}"
    script = f"mount -t tmpfs none {disk} && mount -o remount,ro {disk} && {called}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=env, capture_output=True, text=True, check=False)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no disk of one's own may be made here: {done.stderr}")
    assert f"cannot write {disk}/{name}: Read-only file system. So nothing is built" in " ".join(done.stderr.split())
