"""What counts as the same contents of a function or variable, on objects that gcc made."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from buildkit import compiled, run
from layoutrand.capture import objects
from layoutrand.link.likeness import contents

FIRST = """
    #include <stdio.h>
    static int count;
    static const int table[] = {1, 2, 3, 4};
    int limits[2] = {5, 6};
    int *first = &limits[0];
    static __attribute__((noinline)) int local(int x) { return x * 7 + count++; }
    int says(int x) { return puts("what is said") + x; }
    int calls(int x) { return local(x) + table[x & 3]; }
    int asks(int x) { return getchar() + limits[x & 1]; }
"""
ALL = {"local", "says", "calls", "asks", "limits", "first", "table", "count"}


def held(folder, source, *, archived=False):
    """Digest of each section of the compiled source, by the name of its function or variable."""
    folder.mkdir()
    path = compiled(folder, "unit.c", source, "-O2", "-fdata-sections", "-fno-pic")
    if archived:
        run("ar", "rc", folder / "unit.a", path)
        path = folder / "unit.a"
    files = {f"_build/{path.name}": path.read_bytes()}
    found = objects.objects(files, [] if not archived else ["_build/unit.a(unit.o)"])
    chosen = objects.candidates(found, data=True)
    edited = dict(objects.edited_files(files, found, chosen, rename=True))
    for name, data in edited.items():
        target = folder / "edited" / name
        target.parent.mkdir(parents=True)
        target.write_bytes(data)
    link = SimpleNamespace(sections=tuple(each.section for each in chosen), edited=dict.fromkeys(edited, ""))
    return {
        each.section.name.rpartition(".")[2]: digest
        for each, digest in zip(chosen, contents(link, folder), strict=True)
    }


def other(tmp_path, *changes):
    """Of which functions and variables the contents are others once the source is changed so."""
    source = FIRST
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    first, second = held(tmp_path / "first", FIRST), held(tmp_path / "second", source)
    return {name for name in first if first[name] != second.get(name)}


def test_everything_is_told_and_nothing_is_like_another(tmp_path):
    found = held(tmp_path / "once", FIRST)
    assert set(found) >= ALL
    assert b"" not in found.values()
    assert len({found[name] for name in ALL}) == len(ALL)
    assert held(tmp_path / "again", FIRST) == found


def test_in_an_archive_it_is_the_same(tmp_path):
    assert held(tmp_path / "object", FIRST) == held(tmp_path / "archive", FIRST, archived=True)


@pytest.mark.parametrize(
    "added",
    [
        'int more(void) { return puts("before what is said"); }\nint says',
        "static int extra[9] = {1};\nint more(int x) { return extra[x]++; }\nint says",
        "static int zeros[99];\nint more(int x) { return zeros[x]++; }\nint says",
    ],
    ids=["a string", "data", "bss"],
)
def test_what_else_an_object_holds_changes_nothing(tmp_path, added):
    """Places inside sections, numbers of sections and of symbols are all others then."""
    assert other(tmp_path, ("int says", added)) == set()


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("what is said", "what was said", {"says"}),
        ("puts(", "remove(", {"says"}),
        ("x * 7", "x * 9", {"local"}),
        ("&limits[0]", "&limits[1]", {"first"}),
        ("{1, 2, 3, 4}", "{1, 2, 3, 5}", {"table"}),
        ("{5, 6}", "{5, 7}", {"limits"}),
    ],
)
def test_a_change_is_seen_where_it_is(tmp_path, before, after, changed):
    """A string, the function that is called, code, the place that is pointed to, values; and nowhere else."""
    assert other(tmp_path, (before, after)) == changed
