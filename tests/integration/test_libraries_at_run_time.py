"""Programs that need shared libraries of their own build: told apart at build time, found at execution."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import startkit
from layoutrand.objects import dynamic
from warningkit import said
from workshop import FILLER, Workshop, many_functions

SONAME = "libdeep.so.2"
INNER = f"$CC -shared -fPIC -o lib/{SONAME}.1 inner.c -Wl,-soname,{SONAME} && ln -s {SONAME}.1 lib/{SONAME} && "
UNLIKE = f"$CC -shared -fPIC -o lib/libinner.so inner.c -Wl,-soname,{SONAME}"  # is not called as it is asked for
WHERE = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    #include <string.h>
    int inner5(int);
    int main(void) {
        Dl_info found;
        if (!dladdr((void *)inner5, &found)) return 2;
        const char *bin = strstr(found.dli_fname, "/bin/");
        printf("%d from %s\\n", inner5(1), bin ? bin + 5 : found.dli_fname);
        return 0;
    }
"""
WAYS = {
    "absolute run path": "-Wl,-rpath,$PWD/lib",
    "old absolute run path": "-Wl,--disable-new-dtags,-rpath,$PWD/lib",
    "relative to the program": "-Wl,-rpath,'$ORIGIN/../lib'",
    "no run path": "",
}


@pytest.fixture
def project(tmp_path: Path) -> Workshop:
    """A program, and the library that it needs."""
    made = Workshop(tmp_path / "project", tmp_path / "cache")
    made.write(inner__c=many_functions(6, prefix="inner"), main__c=WHERE, filler__c=FILLER)
    return made


def commands(way: str = "") -> str:
    """The build, with the library known by a link as libraries are, and the program linked in one of the ways."""
    return f"mkdir -p app lib && {INNER} $CC -fPIE -o app/prog main.c filler.c lib/{SONAME} {way}"


def layoutrand(project: Workshop, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in the project."""
    env = {**os.environ, "LAYOUTRAND_CACHE": str(project.cache)}
    return startkit.layoutrand(*arguments, "-q", "--json", cwd=project.project, env=env)


@pytest.mark.parametrize(
    "way", [way if way == "absolute run path" else pytest.param(way, marks=pytest.mark.slow) for way in WAYS]
)
def test_all_artefacts_of_a_layout_find_each_other(project: Workshop, way: str) -> None:
    """Program and library of one layout are executed together, however the link says where libraries are."""
    text = project.toml([commands(WAYS[way])], artefacts=["app/prog", f"lib/{SONAME}"])
    (project.project / "where.out").write_text(f"221 from lib/{SONAME}\n")
    benchmark = '[[benchmarks]]\nname = "where"\ncommand = ["{artefact}"]\nexpect_stdout = "where.out"\n'
    (project.project / "layoutrand.toml").write_text(text + benchmark)

    done = layoutrand(project, "build", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    done = layoutrand(project, "run", "--seeds", "2")

    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (len(summary["failures"]), summary["executions"]) == (0, 6)


def test_a_library_that_is_no_artefact_is_named(project: Workshop) -> None:
    """Whoever forgets the library is told its name as it belongs into build.artefacts, with every build."""
    for _ in range(2):
        result = project.build(commands(WAYS["no run path"]), artefacts=["app/prog"], seeds=[1])
        assert not result.failures
        [note] = said(result.notes)
        assert f"it needs {SONAME}, which its build made: without 'lib/{SONAME}' in build.artefacts" in note


def test_a_library_under_another_name_is_no_help(project: Workshop) -> None:
    """The dynamic linker looks for the name inside the library, so the artefact must be listed by that name."""
    result = project.build(commands(), artefacts=["app/prog", f"lib/{SONAME}.1"], seeds=[1])
    assert any(f"without 'lib/{SONAME}'" in note for note in said(result.notes))
    listed = project.build(commands(), artefacts=["app/prog", f"lib/{SONAME}"], seeds=[1])
    assert not said(listed.notes)


def test_a_link_in_another_directory_is_named_as_it_is(project: Workshop) -> None:
    """Nettle links with libnettle.so and keeps the name that is asked for in a directory of its own."""
    build = f"mkdir -p lib/.lib && {UNLIKE} && ln -s ../libinner.so lib/.lib/{SONAME} && $CC -o prog main.c filler.c lib/libinner.so"
    result = project.build(build, artefacts=["prog", "lib/libinner.so"], seeds=[1])
    [note] = said(result.notes)
    assert f"without 'lib/.lib/{SONAME}' in place of 'lib/libinner.so' in build.artefacts" in note
    listed = project.build(build, artefacts=["prog", f"lib/.lib/{SONAME}"], seeds=[1])
    assert not listed.failures and not said(listed.notes)


def test_init_finds_the_link_in_another_directory(project: Workshop) -> None:
    """It was left out, and executions of the program had the library of the system, or none."""
    build = f"{UNLIKE} && ln -s ../libinner.so lib/.lib/{SONAME} && $CC -o prog main.c filler.c lib/libinner.so"
    (project.source / "build.sh").write_text(f"set -e\nmkdir -p lib/.lib\n{build}\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(project.cache)}
    done = startkit.layoutrand("init", "--", "sh", "build.sh", "--", "./prog", cwd=project.source, env=env)
    assert done.returncode == 0, done.stderr
    assert f"links prog, lib/.lib/{SONAME} with" in done.stdout


def test_a_name_that_the_build_does_not_make(project: Workshop) -> None:
    """Without a file of that name no path in build.artefacts helps; whoever is told one would find that it is not there."""
    build = f"mkdir -p lib && {UNLIKE} && $CC -o prog main.c filler.c lib/libinner.so"
    [note] = said(project.build(build, artefacts=["prog"], seeds=[1]).notes)
    assert f"without 'lib/{SONAME}' in build.artefacts" in note
    assert note.endswith("The build has it as 'lib/libinner.so' alone: let build.commands link that name to it")


def test_the_system_s_libraries_are_no_matter(project: Workshop) -> None:
    """libc and libm are found where they always are."""
    project.write(main__c="int main(void) { return 0; }\n")
    assert not project.build("$CC -o prog main.c filler.c -Wl,--no-as-needed -lm", seeds=[1]).notes


def test_a_library_that_a_library_needs(project: Workshop) -> None:
    """The chain is followed: the program needs one library, that one needs another, and each is named."""
    project.write(outer__c="int inner5(int); int outer(int x) { return inner5(x); }\n")
    project.write(main__c="int outer(int); int main(void) { return outer(1) == 0; }\n")
    outer = f"$CC -shared -fPIC -o lib/libouter.so outer.c lib/{SONAME} && "
    build = f"mkdir -p lib && {INNER} {outer} $CC -o prog main.c filler.c -Llib -louter -Wl,-rpath-link,lib"
    result = project.build(build, seeds=[1])
    assert not result.failures
    assert [note.split("it needs ")[1].split(",")[0] for note in said(result.notes)] == ["libouter.so", SONAME]


def test_names_in_dynamic_sections(project: Workshop) -> None:
    """What a file needs and is called is read from it; a static program or a script needs nothing."""
    source = project.source
    build = f"mkdir -p app lib && {INNER} gcc -o app/prog main.c filler.c lib/{SONAME} && gcc -static -o fixed filler.c -x c - <<< 'int main(void) {{ return 0; }}'"
    subprocess.run(["bash", "-ec", build.replace("$CC", "gcc")], cwd=source, check=True)

    assert dynamic.read((source / "app/prog").read_bytes()).needed == (SONAME, "libc.so.6")
    assert dynamic.read((source / "lib" / SONAME).read_bytes()).soname == SONAME
    assert dynamic.read((source / "fixed").read_bytes()) == dynamic.Dynamic()
    assert dynamic.read(b"#!/bin/sh\n") == dynamic.Dynamic()
    assert dynamic.read((source / "app/prog").read_bytes()[:5000]) == dynamic.Dynamic()


THIN = "int inner5(int); int main(int argc, char **argv) { return inner5(argc) == 0; }\n"


def test_a_thin_program_has_the_layouts_of_its_library(project: Workshop) -> None:
    """One function cannot be ordered, but with its library's it makes as many layouts as the library has."""
    project.write(main__c=THIN, filler__c="")
    result = project.build(commands(), artefacts=["app/prog", f"lib/{SONAME}"], seeds=range(1, 9))
    assert not result.failures
    text = {(binary.artefact, binary.layout): binary.text_sha256 for binary in result.binaries}
    assert len({text["app/prog", seed] for seed in range(1, 9)}) == 1
    assert len({text[f"lib/{SONAME}", seed] for seed in range(1, 9)}) == 8


def test_too_few_layouts_of_a_program_and_its_library(project: Workshop) -> None:
    """Two functions in the library and one in the program are two layouts: more seeds are failures of both."""
    project.write(
        inner__c="int inner4(int x) { return x; } int inner5(int x) { return x * 3; }\n", main__c=THIN, filler__c=""
    )
    result = project.build(commands(), artefacts=["app/prog", f"lib/{SONAME}"], seeds=range(1, 9))
    for artefact in ("app/prog", f"lib/{SONAME}"):
        seeds = [b.layout for b in result.binaries if b.artefact == artefact and isinstance(b.layout, int)]
        errors = {failure.error for failure in result.failures if failure.artefact == artefact}
        assert len(seeds) == 2
        assert all("too few placeable sections for this many seeds" in error for error in errors)


def test_programs_that_do_not_need_each_other(project: Workshop) -> None:
    """A thin program beside a large one has one layout, and it is said of it alone."""
    project.write(
        main__c="int main(void) { return 0; }\n",
        other__c=many_functions(8, prefix="other") + "int main(int c, char **v) { return other7(c) == 0; }\n",
    )
    result = project.build("$CC -o thin main.c && $CC -o thick other.c", artefacts=["thin", "thick"], seeds=[1, 2])
    assert {(failure.artefact, failure.layout) for failure in result.failures} == {("thin", 1), ("thin", 2)}
    assert {failure.error for failure in result.failures} == {
        (
            "thin has 1 placeable section: there is only one layout; factors such as "
            "text-offset and padding in layout.factors make more"
        )
    }


def test_init_names_libraries_that_a_program_opens_by_itself(project: Workshop) -> None:
    """A plugin is found by no link; a library that the program is linked with is laid out without a word."""
    plugin = "$CC -shared -fPIC -o lib/plugin.so filler.c"
    (project.source / "build.sh").write_text(f"set -e\n{commands()}\n{plugin}\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(project.cache)}
    for _ in range(2):  # the second call remembers
        done = startkit.layoutrand(
            "init", "--force", "--", "sh", "build.sh", "--", "app/prog", cwd=project.source, env=env
        )
        assert done.returncode == 0, done.stderr
        assert f"links app/prog, lib/{SONAME} with" in done.stdout
        assert (
            "shared libraries that nothing is linked with, not laid out: lib/plugin.so; what app/prog opens by itself "
            "(dlopen) moves once build.artefacts lists it"
        ) in " ".join(done.stdout.split())
