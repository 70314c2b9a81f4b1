"""The map of a build's own link, which `exec` asks for: it saves a link, and changes nothing that the build has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from execkit import direct
from workshop import LINKERS, Workshop, in_order, main_calling, many_functions, require

NAMES = [f"u_{k}" for k in range(8)]
LINES = {
    "objects": "gcc -c main.c u.c; link() { gcc -o prog main.o u.o; }",
    "one step": "link() { gcc -o prog main.c u.c; }",
    "members": "gcc -c main.c u.c v.c w.c; ar rc libuvw.a v.o u.o w.o; link() { gcc -o prog main.o libuvw.a; }",
    "whole": "gcc -c main.c u.c v.c; ar rc libu.a v.o u.o; "
    "link() { gcc -o prog main.o -Wl,--whole-archive libu.a -Wl,--no-whole-archive; }",
    "twice": "gcc -c main.c u.c; gcc -c -o w1.o v.c; mkdir d; ln -s .. d/up; ar rc libu.a u.o w1.o; "
    "link() { gcc -o prog main.o libu.a d/up/libu.a; }",
    "collected": "gcc -ffunction-sections -c main.c u.c v.c; link() { gcc -Wl,--gc-sections -o prog main.o u.o v.o; }",
    "static": "gcc -c main.c u.c; link() { gcc -static -o prog main.o u.o; }",
    "shared": "gcc -fPIC -c u.c v.c; link() { gcc -shared -Wl,-soname,libu.so.1 -o prog u.o v.o; }",
    "own shared": "gcc -fPIC -shared -o libv.so v.c; gcc -c main.c u.c; link() { gcc -o prog main.o u.o ./libv.so; }",
}

FAST = ("objects", "members", "twice", "shared", "library", "library that needs one", "-Wl,-Map=own.map", "-Wl,-tM")


def most_slow(cases: Iterable[str]) -> list[object]:
    """The cases; those of the greatest difference in `make test`, the others in `make merge`."""
    return [case if case in FAST else pytest.param(case, marks=pytest.mark.slow) for case in cases]


@pytest.fixture(params=["gnu", pytest.param("lld-19", marks=pytest.mark.slow)])
def counted(request: pytest.FixtureRequest, gnu: Workshop) -> Workshop:
    """Sources, and a linker that notes how often it is called."""
    real = require(LINKERS[request.param], "binutils" if request.param == "gnu" else request.param)
    gnu.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"))
    gnu.write(v__c=many_functions(3, prefix="v_"), w__c=many_functions(3, prefix="w_"))
    script = gnu.project / ("ld.bfd" if request.param == "gnu" else "ld.lld")
    script.write_text(f'#!/bin/sh\ncase $* in *" -o "*) echo x >> {gnu.project}/links ;; esac\nexec {real} "$@"\n')
    script.chmod(0o755)
    (gnu.project / "toolchains").mkdir()
    (gnu.project / "toolchains" / "counted.toml").write_text(
        f'name = "counted"\ndescription = "counts its links"\nextends = "{"gcc" if request.param == "gnu" else "gcc-lld"}"\n'
        f'[tools]\nld = ["{script}"]\n'
    )
    gnu.chosen = "toolchains/counted.toml"
    (gnu.project / "layoutrand.toml").write_text(gnu.toml(["make"]))
    return gnu


@pytest.mark.parametrize("kind", most_slow(LINES))
def test_a_link_like_an_earlier_one_takes_two_more(counted: Workshop, kind: str) -> None:
    """Identity and the layout; the result is the one that was proved the long way."""
    links = counted.project / "links"
    script = (
        f"set -e; cd src; {LINES[kind]}; link; mv prog first; echo 1 >> {links}; link; "
        f"wc -l < {links} > ../before; link; wc -l < {links} > ../after"
    )
    done = direct(counted, "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert (counted.source / "prog").read_bytes() == (counted.source / "first").read_bytes()
    assert in_order(counted.source / "prog", NAMES) != NAMES
    before, after = (int((counted.project / name).read_text()) for name in ("before", "after"))
    assert after - before == 3


LONG = {
    "library": "gcc -c main.c u.c v.c; ar rc libu.a v.o u.o; link() { gcc -o prog main.o -L. -lu -lm; }",
    "static library": "gcc -c main.c u.c v.c; ar rc libu.a v.o u.o; link() { gcc -static -o prog main.o -L. -lu; }",
    "thin": "gcc -c main.c u.c; ar rcT libu.a u.o; link() { gcc -o prog main.o libu.a; }",
    "library that needs one": "mkdir lib; gcc -fPIC -shared -o lib/libw.so w.c; gcc -fPIC -shared -o lib/libv.so v.c -Llib -lw; "
    "gcc -c main.c u.c; link() { gcc -o prog main.o u.o -Llib -Wl,--no-as-needed -lv -Wl,-rpath-link,lib; }",
    "library that is a text": "mkdir lib; gcc -fPIC -shared -Wl,-soname,libv.so.1 -o lib/libv.so.1 v.c; "
    "echo 'INPUT(libv.so.1)' > lib/libv.so; gcc -c main.c u.c; link() { gcc -o prog main.o u.o -Llib -lv; }",
    "sections with blanks in their names": "gcc -ffunction-sections -c main.c u.c v.c; "
    "objcopy --rename-section .text.v_1='.text.v 1' --rename-section .text.v_2='.text.v 2' v.o; "
    "link() { gcc -o prog main.o u.o v.o; }",
    "a file with a line feed in its name": "gcc -ffunction-sections -c main.c u.c v.c; odd=$(printf 'v\\rv.o'); mv v.o \"$odd\"; "
    'link() { gcc -o prog main.o u.o "$odd"; }',
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", most_slow(LONG))
def test_a_map_that_does_not_tell_all(counted: Workshop, kind: str) -> None:
    """Every link of a build gives the file that its first one gives, by a replay or by any way."""
    done = direct(counted, "sh", "-c", f"set -e; cd src; {LONG[kind]}; link; mv prog first; link; mv prog second; link")
    assert done.returncode == 0, done.stderr
    files = [(counted.source / name).read_bytes() for name in ("first", "second", "prog")]
    assert files[0] == files[1] == files[2]
    assert in_order(counted.source / "prog", NAMES) != NAMES


def test_code_in_several_output_sections_is_refused_each_time(counted: Workshop) -> None:
    """However a link is proved, what it says is the same."""
    require(LINKERS["lld-19"], "lld-19")
    if (counted.project / "ld.bfd").exists():
        pytest.skip("GNU ld has no -z keep-text-section-prefix")
    counted.write(h__c='__attribute__((section(".text.hot.h"))) int h(int x) { return x; }\n')
    link = "gcc -Wl,-z,keep-text-section-prefix -o $name main.o u.o h.o"
    done = direct(counted, "sh", "-c", f"cd src; gcc -c main.c u.c h.c; for name in one two three; do {link}; done")
    assert done.returncode == 1
    assert done.stderr.count("output sections (") == 3
    assert "placed as asked" not in done.stderr


GNU_ONLY = ["-Wl,--Ma=own.map", "-Wl,--cre", "-Wl,-tM"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "option", most_slow(["-Wl,-Map=own.map", "-Wl,-Map,own.map", "-Wl,-M", "-Wl,--print-map", "-Wl,--cref", *GNU_ONLY])
)
def test_a_map_of_the_builds_own(counted: Workshop, option: str) -> None:
    """It goes where the build wants it, and holds what it holds without layoutrand; the program is laid out."""
    if option in GNU_ONLY and (counted.project / "ld.lld").exists():
        pytest.skip("lld takes no abbreviations")
    script = f"set -e; cd src; gcc -c main.c u.c; for i in 1 2; do gcc {option} -o prog main.o u.o > said; done"
    flag = "-fuse-ld=lld -B../ " if (counted.project / "ld.lld").exists() else ""
    plain = subprocess.run(["sh", "-c", script.replace("gcc -W", f"gcc {flag}-W")], cwd=counted.project)
    assert plain.returncode == 0
    expected = [_read(counted.source / name) for name in ("said", "own.map")]
    done = direct(counted, "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert [_read(counted.source / name) for name in ("said", "own.map")] == expected
    assert in_order(counted.source / "prog", NAMES) != NAMES


def _read(path: Path) -> list[str]:
    """Its lines, without addresses and sizes, which flags such as -ffunction-sections change."""
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    return sorted(
        {word for line in text.splitlines() for word in line.split() if re.fullmatch(r"\S+\.o|u_\d|main", word)}
    )
