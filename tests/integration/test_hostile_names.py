"""Spaces, quotes, dollars, newlines and bytes that are not UTF-8 in the names of files and directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workshop import Workshop, in_order, main_calling, many_functions

NAMES = {
    "space": "with space",
    "quotes": 'it\'s "quoted"',
    "dollar": "a$HOME$$b",
    "newline": "two\nlines",
    "star": "*?[x]",
    "semicolon": "a;b&c|d(e)`f`",
    "backslash": "back\\slash",
    "hash": "#hash%25{0}",
    "latin1": os.fsdecode(b"caf\xe9"),
    "utf8": "größe-名前",
    "colon": "a:b=c,d",
    "dash": "-o -Wl,x",
    "at": "@file",
}
SCRIPT = """#!/bin/bash
# every file name comes from a glob, and is always quoted
set -e
objects=()
for file in ./*/*.c; do
    $CC -c "$file" -o "${file%.c}.o"
    objects+=("${file%.c}.o")
done
$CC -c main.c -o main.o
"""
DIRECT = SCRIPT + '$CC -o prog main.o "${objects[@]}"\n'
ARCHIVE = SCRIPT + '$AR rcs "./$1/lib.a" "${objects[@]}"\n$CC -o prog main.o "./$1/lib.a"\n'


EVERYTHING = 'it\'s "all" $HOME\n*?;&|`x` #%25{0} caf' + os.fsdecode(b"\xe9") + " größe"


def fill(shop: Workshop, script: str, *names: str) -> None:
    """For each name two sources in a directory of that name, themselves of that name."""
    functions = []
    for number, name in enumerate(names):
        folder = shop.source / name
        folder.mkdir()
        for unit in "ab":
            prefix = f"{unit}{number}_"
            (folder / f"{name}{unit}.c").write_text(many_functions(3, prefix=prefix))
            functions.append(f"{prefix}2")
    shop.write(main__c=main_calling(*functions))
    (shop.source / "build.sh").write_text(script)


@pytest.mark.slow
def test_names_of_sources_and_objects(shop: Workshop) -> None:
    """Files of such names are compiled, captured, relinked and told apart like any others."""
    fill(shop, DIRECT, *NAMES.values())
    built = shop.built("bash build.sh", seeds=[1, 2])
    built.assert_all_print_as_stock()
    functions = [f"{unit}{number}_{k}" for unit in "ab" for number in range(len(NAMES)) for k in range(3)]
    assert in_order(built.path(1), functions) != in_order(built.path(2), functions)
    assert built.result.capture is not None
    objects = {section.object for section in built.result.capture.links[0].sections if not section.pinned}
    assert objects == {"main.o", *(f"{name}/{name}{unit}.o" for name in NAMES.values() for unit in "ab")}


@pytest.mark.parametrize("kind", ["space", "quotes", "newline", "latin1", "dollar"])
def test_names_of_archives(shop: Workshop, kind: str) -> None:
    """Archives and members of such names are found again in the capture."""
    fill(shop, ARCHIVE, NAMES[kind])
    quoted = NAMES[kind].encode("utf-8", "surrogateescape").hex()
    pairs = "".join(f"\\x{quoted[k : k + 2]}" for k in range(0, len(quoted), 2))
    built = shop.built(f"bash build.sh $'{pairs}'", seeds=[1, 2])
    built.assert_all_print_as_stock()


def test_project_and_cache_directories(tmp_path: Path, linker: str) -> None:
    """Project and cache may lie anywhere: the build happens where no path needs quoting, relinks work there too."""
    shop = Workshop(tmp_path / EVERYTHING / "project", tmp_path / EVERYTHING / "cache", linker)
    fill(shop, DIRECT, "plain")
    shop.built("bash build.sh", seeds=[1]).assert_all_print_as_stock()
    shop.built("bash build.sh", seeds=[1, 2]).assert_all_print_as_stock()


def test_a_cache_behind_a_symbolic_link(tmp_path: Path, linker: str) -> None:
    """The wrappers see physical paths; a cache reached by a link is the same cache."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    shop = Workshop(tmp_path / "project", tmp_path / "link" / "cache", linker)
    fill(shop, DIRECT, "plain")
    first = shop.built("bash build.sh", seeds=[1])
    direct = Workshop(tmp_path / "project", tmp_path / "real" / "cache", linker)
    assert direct.built("bash build.sh", seeds=[1]).result.cached
    first.assert_all_print_as_stock()


def test_a_cache_inside_the_source(tmp_path: Path, linker: str) -> None:
    """A cache that lies in the source tree is no part of the source: it is neither copied nor does it change the key."""
    shop = Workshop(tmp_path / "project", tmp_path / "project" / "src" / "my cache", linker)
    fill(shop, DIRECT, "plain")
    shop.built("bash build.sh", seeds=[1]).assert_all_print_as_stock()
    assert shop.built("bash build.sh", seeds=[1]).result.cached


def test_make_in_a_project_with_a_space(tmp_path: Path, linker: str) -> None:
    """make cannot quote, and need not: project and cache directories with spaces do not reach it."""
    shop = Workshop(tmp_path / "my project", tmp_path / "my cache", linker)
    shop.write(main__c=main_calling("a3"), a__c=many_functions(4, prefix="a"))
    makefile = "TOP := $(CURDIR)\nprog: main.o a.o\n\t$(CC) -o $(TOP)/$@ $(TOP)/main.o $(TOP)/a.o\n"
    (shop.source / "Makefile").write_text(makefile)
    shop.built("make -j{jobs}", seeds=[1, 2]).assert_all_print_as_stock()


@pytest.mark.parametrize("artefact", ["with space/the prog", "it's", "a$b", "two\nlines", "größe"])
def test_the_artefact(shop: Workshop, artefact: str) -> None:
    """Artefacts of such names are found, captured and stored under their own name."""
    shop.write(main__c=main_calling("a3"), a__c=many_functions(4, prefix="a"))
    (shop.source / "build.sh").write_text(
        'set -e\nmkdir -p "$(dirname "$1")"\n$CC -c main.c a.c\n$CC -o "$1" main.o a.o\n'
    )
    word = "'" + artefact.replace("'", "'\\''") + "'"
    built = shop.built(f"bash build.sh {word}", artefacts=[artefact], seeds=[1, 2])
    built.assert_all_print_as_stock()
    assert built.path(1).name == os.path.basename(artefact)
