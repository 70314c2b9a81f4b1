"""Generated scripts: every value quoted, nothing undefined, clean for shellcheck and for every shell."""

import re
import subprocess
from importlib.resources import files

import jinja2
import pytest

from layoutrand.text import render
from workshop import require
from wrapkit import (
    NASTY,
    SHELLS,
    cargo_script,
    compiler_script,
    dumped,
    linker_script,
    rustc_script,
    start,
    write_script,
)

TEMPLATES = sorted(
    (entry.name for entry in (files("layoutrand") / "templates").iterdir() if entry.name.endswith(".sh.j2")), key=str
)
QUOTING = {"sh", "comment", "assignment"}


def source(name):
    return (files("layoutrand") / "templates" / name).read_text("utf-8")


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_value_in_a_shell_template_is_quoted(name):
    """Each expression ends in a filter that makes it one shell word or a comment; raw text is never put in."""
    expressions = re.findall(r"\{\{(.*?)\}\}", source(name), re.DOTALL)

    assert {expression.split("|")[-1].strip() for expression in expressions} <= QUOTING
    assert len(expressions) == source(name).count("{{")


@pytest.mark.parametrize("name", TEMPLATES)
def test_comments_are_only_put_into_comments(name):
    """A value that is merely made one line stands behind a # and nowhere else."""
    for row in source(name).splitlines():
        assert "|comment" not in row or row.startswith("#")


@pytest.mark.parametrize("name", [name for name in TEMPLATES if not name.startswith("_")])
def test_a_missing_value_is_an_error(name):
    """A template asked for without its values fails, rather than leave a gap."""
    with pytest.raises(jinja2.UndefinedError):
        render.render(name)


@pytest.mark.parametrize("name", ["A=B", "1A", "A B", "", "A;id", "A-B", "$A", "A\n"])
def test_only_names_of_variables_are_put_in_unquoted(name):
    """What could be anything but a variable's name is refused when the script is made."""
    with pytest.raises(ValueError, match="cannot be the name of a shell variable"):
        render._assignment(name)


def hostile_scripts(folder):
    """One script of each kind, with hostile values."""
    hostile = "/" + "".join(os_text(word) for case, word in NASTY.items() if case not in ("long", "empty"))
    yield compiler_script(
        folder / "1",
        directory=hostile,
        real=hostile,
        compile_flags=[hostile, ""],
        link_flags=[hostile],
        linker=hostile,
        ccache_path=hostile,
        file_flags=[render.FileFlags(hostile, hostile, [hostile, ""], hostile)] * 2,
    )
    yield linker_script(
        folder / "2",
        real=hostile,
        records=hostile,
        build_root=hostile,
        temporary=hostile,
        python=hostile,
        expander=hostile,
        mkdir=hostile,
        tar=hostile,
        system_prefixes=[hostile, "/usr/"],
    )
    yield linker_script(folder / "3", real=hostile, relink=hostile)
    text = render.tool_wrapper(name="ar", real=hostile, system="sys", toolchain="gcc")
    yield write_script(folder / "4" / "ar", text)
    yield cargo_script(folder / "11", real=hostile, messages=hostile, features=hostile, heard=hostile)
    levels = render.Levels(hostile, hostile)
    yield rustc_script(folder / "12", real=hostile, flags=[hostile, ""], heard=hostile, levels=levels)
    yield compiler_script(folder / "19", real=hostile, levels=levels)


def usual_scripts(folder):
    """The same with values as they usually are."""
    yield compiler_script(folder / "5")
    yield compiler_script(folder / "9", linker="/usr/bin/ld.bfd", ccache_path="/usr/bin:/bin")
    yield compiler_script(folder / "10", linker="/usr/bin/ld.bfd", leave_foreign=True, calls_driver=True)
    yield compiler_script(folder / "13", heard="/tmp/heard")
    yield compiler_script(folder / "20", levels=render.Levels("/tmp/compiled", "/tmp/optimised"))
    yield rustc_script(folder / "21", levels=render.Levels("/tmp/compiled", "/tmp/optimised"))
    given = render.Levels("/tmp/compiled", "/tmp/optimised", is_given=True)
    yield compiler_script(folder / "22", levels=given)
    yield rustc_script(folder / "23", levels=given)
    yield compiler_script(folder / "18", file_flags=[render.FileFlags("a.c", "/src/a.c", ["-O3"], "/tmp/heard-a")])
    yield cargo_script(folder / "14")
    yield cargo_script(folder / "15", features="a,b", heard="/tmp/heard")
    yield rustc_script(folder / "16")
    yield rustc_script(folder / "17", real="/usr/bin/sccache", flags=["-C", "opt-level=3"], heard="/tmp/heard")
    yield linker_script(folder / "6")
    yield linker_script(folder / "7", relink="/tmp/settings.json")
    yield write_script(
        folder / "8" / "ar", render.tool_wrapper(name="ar", real="/usr/bin/ar", system="s", toolchain="t")
    )


def os_text(word):
    return word.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("maker", "exceptions"),
    [(usual_scripts, []), (hostile_scripts, ["--exclude=SC2016,SC2289"])],
    ids=["usual values", "hostile values"],
)  # SC2016: a dollar sign in single quotes, SC2289: a tab in a program's name; both are meant
def test_shellcheck_has_no_complaint(tmp_path, maker, exceptions):
    """Every generated script is clean."""
    program = require("shellcheck", "shellcheck")
    done = subprocess.run(
        [program, "--shell=sh", "--severity=style", *exceptions, *maker(tmp_path)], capture_output=True
    )

    assert (done.stdout.decode(errors="replace"), done.returncode) == ("", 0)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_parses_every_script(tmp_path, shell):
    """No script has a syntax that a POSIX shell does not know."""
    for script in (*usual_scripts(tmp_path), *hostile_scripts(tmp_path)):
        done = subprocess.run([*SHELLS[shell], "-n", script], capture_output=True)

        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "word", [w for w in NASTY.values() if w and len(w) < 200], ids=[n for n, w in NASTY.items() if w and len(w) < 200]
)
def test_a_real_program_with_a_hostile_path_is_executed(tmp_path, shell, word):
    """The compiler may be installed anywhere."""
    folder = tmp_path / os_text(word)
    real = write_script(folder / "cc", '#!/bin/sh\necho reached "$#"\n')
    script = compiler_script(tmp_path / "bin", real=real, directory=folder)

    assert start(script, "-c", "a.c", shell=shell).stdout == b"reached 5\n"


def test_a_title_with_a_newline_stays_a_comment(tmp_path):
    """Nothing in a name can end the comment that it stands in."""
    text = render.tool_wrapper(name="ar", real="/bin/true", system="a\nid\r\nid\x0bid", toolchain="\n\nid")
    commented = [row for row in text.splitlines() if "id" in row.split()]

    assert commented
    assert all(row.startswith("#") for row in commented)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tool_passes_everything(tmp_path, shell):
    """The archiver's wrapper adds nothing."""
    script = write_script(
        tmp_path / "ar", render.tool_wrapper(name="ar", real="/usr/bin/ar", system="s", toolchain="t")
    )

    assert dumped(script, "rcs", "a b.a", "x.o", shell=shell) == [b"rcs", b"a b.a", b"x.o"]
    assert dumped(script, "t", shell=shell, what="mode") == "pass"


@pytest.mark.parametrize("maker", [compiler_script, linker_script])
def test_the_last_thing_a_script_does_is_to_become_the_program(tmp_path, maker):
    """The real program replaces the shell, so that no shell waits for each compilation."""
    text = maker(tmp_path).read_text()

    assert text.rstrip().endswith('finish "$@"')
    assert re.search(r'^    exec "\$real" "\$@"\n}', text, re.MULTILINE)


@pytest.mark.parametrize("maker", [compiler_script, linker_script])
def test_scripts_say_what_made_them(tmp_path, maker):
    """A user who finds a wrapper sees what it is, and that editing it is no use."""
    head = maker(tmp_path).read_text().split("\n\n")[0]

    assert re.search(r"Generated by layoutrand \S+ for system sys, toolchain gcc\. Do not edit", head)
