"""A cache that is damaged, read-only or full: found, said, mended, and nothing finished is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layoutrand.cache import upkeep as caches
from layoutrand.cache.linked_check import verify
from layoutrand.cache.sealed_records import KeyRecord, sealed
from layoutrand.cache.store import Cache
from layoutrand.errors import CacheError
from layoutrand.model import STOCK, LayoutName
from speeds import first_fast
from warningkit import said
from workshop import Built, Workshop, main_calling, many_functions, whole

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"


@pytest.fixture
def simple(gnu: Workshop) -> Workshop:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(5, prefix="u"))
    return gnu


def flip(path: Path) -> None:
    """Change one bit in the middle of a file, in place or in a file of its own where it is a hard link."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)


def flip_in_place(path: Path) -> None:
    """Change one bit of the file itself."""
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    """Leave half of it."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = {"flipped": flip, "truncated": truncate, "missing": Path.unlink}


def digests(built: Built) -> dict[object, str]:
    """Whole-file hashes by layout."""
    return {name: binary.sha256 for name, binary in built.by_layout.items()}


@pytest.mark.parametrize("damage", first_fast(1, DAMAGES))
@pytest.mark.parametrize("name", ["prog", "meta.json"])
def test_a_damaged_binary_is_linked_again(simple: Workshop, damage: str, name: str) -> None:
    """The entry is mended, the user told, and the bytes are what they were."""
    first = simple.built(BUILD)
    DAMAGES[damage](first.path(3).parent / name)
    second = simple.built(BUILD)
    assert [binary.layout for binary in second.result.binaries if not binary.cached] == [3]
    assert said(second.result.notes) == ("sys: the cached binary of prog, layout 3, was damaged; linked again",)
    assert digests(second) == digests(first)
    third = simple.built(BUILD)
    assert all(binary.cached for binary in third.result.binaries)
    assert said(third.result.notes) == ()


def test_a_damaged_stock_binary_is_built_again(simple: Workshop) -> None:
    """stock has no capture to be linked from: it is taken from its build, which is kept or else repeated; said so."""
    first = simple.built(BUILD)
    flip(first.path(STOCK))
    second = simple.built(BUILD)
    damaged = "sys: its cached stock binary was damaged, so it is"
    assert said(second.result.notes) == (f"{damaged} taken again from the build that is kept",)
    caches.collect_builds(Cache(simple.cache), 0)
    flip(second.path(STOCK))
    third = simple.built(BUILD)
    assert said(third.result.notes) == (f"{damaged} built again",)
    assert digests(third) == digests(second) == digests(first)


def _capture_folder(shop: Workshop) -> Path:
    (folder,) = (shop.cache / "captures").iterdir()
    return folder


CAPTURE_FILES = [
    "capture.json",
    "0/code.npz",
    "0/root/_build/u.o",
    "0/edited/_build/u.o",
    "0/root/lib/x86_64-linux-gnu/libc.so.6",
]


@pytest.mark.parametrize(
    ("name", "damage"),
    first_fast(
        3,
        [
            (CAPTURE_FILES[0], "missing"),
            (CAPTURE_FILES[3], "truncated"),
            *((name, "flipped") for name in CAPTURE_FILES),
        ],
    ),
)
def test_a_damaged_capture_is_made_again(simple: Workshop, name: str, damage: str) -> None:
    """New seeds need the capture: a damaged one is found, said, made again, and gives the bytes it gave before."""
    first = simple.built(BUILD, seeds=[1, 2])
    path = _capture_folder(simple) / name
    if not path.exists():
        pytest.skip(f"this system's link reads no {name}")
    DAMAGES[damage](path)
    (shutil.rmtree(simple.cache / "binaries"), (simple.cache / "binaries").mkdir())
    second = simple.built(BUILD, seeds=[1, 2])
    assert digests(second) == digests(first)
    assert len(said(second.result.notes)) == 1
    assert "its capture was" in said(second.result.notes)[0]
    assert "damaged" in said(second.result.notes)[0]
    assert said(second.result.notes)[0].endswith("captured again from the build that is kept")
    caches.collect_builds(Cache(simple.cache), 0)
    DAMAGES[damage](path)
    (shutil.rmtree(simple.cache / "binaries"), (simple.cache / "binaries").mkdir())
    third = simple.built(BUILD, seeds=[1, 2])
    assert digests(third) == digests(first)
    assert said(third.result.notes)[0].endswith("built again")
    simple.said.clear()
    assert simple.built(BUILD, seeds=[1, 2, 3]).result.notes == ()
    assert simple.said == []


def test_a_capture_damaged_through_a_hard_link(simple: Workshop) -> None:
    """root and edited share unchanged files: damage to the shared one is damage to both."""
    simple.built(BUILD, seeds=[1])
    (shared,) = (p for p in (_capture_folder(simple) / "0/edited").rglob("crtn.o"))
    flip_in_place(shared)
    again = simple.built(BUILD, seeds=[1, 2])
    assert "its capture was damaged on disk" in said(again.result.notes)[0]
    assert len(again.seeded) == 2


def test_a_damaged_capture_harms_no_cached_binary(simple: Workshop) -> None:
    """As long as every binary is there, the capture is not needed, and not rebuilt."""
    first = simple.built(BUILD)
    flip(_capture_folder(simple) / "0/root/_build/u.o")
    simple.said.clear()
    assert digests(simple.built(BUILD)) == digests(first)
    assert simple.said == []


@pytest.mark.parametrize("damage", first_fast(1, DAMAGES))
def test_a_damaged_key_record(simple: Workshop, damage: str) -> None:
    """The note of which capture a build gave is worth no more than the time to build again."""
    first = simple.built(BUILD)
    for path in (simple.cache / "keys").iterdir():
        DAMAGES[damage](path)
    assert digests(simple.built(BUILD)) == digests(first)


def test_verify_lists_what_is_damaged(simple: Workshop) -> None:
    """`cache verify` names the damaged entries and no others."""
    first = simple.built(BUILD)
    assert verify(Cache(simple.cache)) == []
    flip(first.path(2))
    flip(_capture_folder(simple) / "0/code.npz")
    found = verify(Cache(simple.cache))
    assert {(entry.kind, entry.name) for entry, _ in found} == {
        ("binary", first.path(2).parent.name),
        ("capture", _capture_folder(simple).name),
    }
    assert any("code.npz" in problem for _, problem in found)


def test_evicted_entries_are_made_again(simple: Workshop) -> None:
    """`cache gc` to nothing loses nothing."""
    first = simple.built(BUILD)
    caches.collect(Cache(simple.cache), 0)
    assert not list((simple.cache / "binaries").iterdir())
    assert not list((simple.cache / "captures").iterdir())
    assert digests(simple.built(BUILD)) == digests(first)


def test_least_recently_used_goes_first(simple: Workshop) -> None:
    """A binary used lately survives one that was not."""
    first = simple.built(BUILD)
    for layout, binary in first.by_layout.items():
        age = 1_000_000_000 if layout != 2 else 1_100_000_000
        os.utime(binary.path.parent / "meta.json", (age, age))
    os.utime(_capture_folder(simple) / "capture.json", (900_000_000, 900_000_000))
    (kept,) = [e for e in caches.entries(Cache(simple.cache)) if e.name == first.path(2).parent.name]
    caches.collect(Cache(simple.cache), kept.size)
    assert [entry.name for entry in caches.entries(Cache(simple.cache))] == [kept.name]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own at a place; called again it changes the mount options."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        flags = f"remount,{options}" if mounted else options
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", flags, "tmpfs", str(place)], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"needs the right to mount a small file system: {done.stderr.strip()}")
        mounted = True
        return place

    yield mount
    if mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("size", first_fast(2, ["16k", "2500k", "200k", "600k", "5M"]))
def test_a_full_cache(simple: Workshop, small_disk: Callable[[str], Path], size: str) -> None:
    """Wherever the disk fills up, the message names the cause; with space the same call completes."""
    simple.cache = small_disk(f"size={size}") / "cache"
    try:
        result = simple.build(BUILD)
    except CacheError as error:
        messages = [str(error)]
    else:
        messages = [failure.error for failure in result.failures]
    assert messages
    for message in messages:
        assert "No space left on device" in message or "full disk?" in message, message
    small_disk("size=100M")
    whole(simple.build(BUILD)).assert_all_print_as_stock()
    assert verify(Cache(simple.cache)) == []


def test_a_read_only_cache(simple: Workshop, small_disk: Callable[[str], Path]) -> None:
    """A cache that cannot be written says so and what helps; what is in it stays whole."""
    simple.cache = small_disk("size=100M") / "cache"
    first = simple.built(BUILD)
    small_disk("ro")
    try:
        message = {failure.error for failure in simple.build(BUILD, seeds=[9]).failures}.pop()
    except CacheError as error:
        message = str(error)
    assert "Read-only file system" in message
    assert str(simple.cache) in message
    assert "mend the permissions" in message
    assert "LAYOUTRAND_CACHE" in message
    small_disk("rw")
    assert digests(simple.built(BUILD)) == digests(first)


def test_a_cache_where_a_file_is(simple: Workshop) -> None:
    """A path that is no directory is refused with the path."""
    simple.cache = simple.project / "file"
    simple.cache.write_text("")
    with pytest.raises(CacheError, match=r"cannot make the cache in .*file.*: (File exists|Not a directory)"):
        simple.build(BUILD)


def test_unknown_files_in_the_cache_are_no_harm(simple: Workshop) -> None:
    """Strangers' files in the cache directory are left alone and disturb nothing."""
    simple.built(BUILD)
    (simple.cache / "binaries" / "stray").write_text("x")
    (simple.cache / "captures" / "stray").mkdir()
    (simple.cache / "work" / "stray").write_text("x")
    simple.built(BUILD, seeds=[1, 5])
    assert len(caches.entries(Cache(simple.cache))) > 5
    verify(Cache(simple.cache))
    caches.collect(Cache(simple.cache), 10**9)


def test_exchanged_records_of_builds_give_no_system_the_binaries_of_another(simple: Workshop) -> None:
    """Each of the two is whole, so a seal alone says nothing: `verify` names both, and a build goes by neither."""
    systems = {"O1": {"cflags": "-O1"}, "O2": {"cflags": "-O2"}}
    config = simple.config(BUILD, systems=systems)
    layouts: list[LayoutName] = ["identity", 1, 2]
    first = [whole(each) for each in simple.build_all(config, layouts=layouts)]
    one, other = _build_records(simple)
    _exchange(one, other)

    found = {(entry.kind, entry.name, what) for entry, what in verify(Cache(simple.cache))}
    assert found == {("record", path.stem, "it is the record of another key") for path in (one, other)}
    again = simple.build_all(config, layouts=layouts)
    assert [digests(whole(each)) for each in again] == [digests(each) for each in first]
    for each in again:
        assert (
            f"{each.system}: the record of what was built with this key was another build's, so it is captured again "
            "from the build that is kept" in (said(each.notes))
        )
    assert verify(Cache(simple.cache)) == []


def test_exchanged_captures_are_found(simple: Workshop) -> None:
    """A directory that is called as another capture gives nobody the files of that one."""
    config = simple.config(BUILD, systems={"O1": {"cflags": "-O1"}, "O2": {"cflags": "-O2"}})
    first = [whole(each) for each in simple.build_all(config, layouts=["identity", 1])]
    one, other = sorted((simple.cache / "captures").iterdir())
    _exchange(one, other)

    assert {(entry.kind, entry.name) for entry, _ in verify(Cache(simple.cache))} == {
        ("capture", one.name),
        ("capture", other.name),
    }
    again = simple.build_all(config, layouts=["identity", 1, 2])
    assert [digests(whole(each)) | digests(each_first) for each, each_first in zip(again, first, strict=True)] == [
        digests(whole(each)) for each in again
    ]


def test_a_record_without_its_key_is_said_and_its_build_made_again(simple: Workshop) -> None:
    """As layoutrands before wrote them; binaries and captures of theirs go on being used."""
    first = simple.built(BUILD)
    (path,) = _build_records(simple)
    record = json.loads(path.read_bytes())
    path.write_bytes(sealed(record["value"]))

    assert verify(Cache(simple.cache)) == []
    again = simple.build(BUILD)
    assert list(said(again.notes)) == [
        "sys: the record of its build is of an earlier layoutrand and does not say which build it is of, so it is captured "
        "again from the build that is kept"
    ]
    assert digests(whole(again)) == digests(first)
    assert all(binary.cached for binary in again.binaries if binary.layout != STOCK)
    assert not said(simple.build(BUILD).notes)


def test_a_record_that_names_another_builds_capture_is_found(simple: Workshop) -> None:
    """Each object is whole and in its place, and the link between them leads elsewhere."""
    simple.built(BUILD)
    (path,) = _build_records(simple)
    simple.built(BUILD.replace("prog", "other"), artefacts=["other"])
    capture = {json.loads(other.read_bytes())["value"]["capture"] for other in _build_records(simple) if other != path}
    stored = json.loads(path.read_bytes())
    path.write_bytes(
        KeyRecord(path.stem, {**stored["value"], "capture": capture.pop()}, "sys", stored["facts"]).stored()
    )

    ((entry, what),) = verify(Cache(simple.cache))
    assert (entry.kind, entry.name) == ("record", path.stem)
    assert what.startswith("the capture that it names, ") and what.endswith(" is of another build")


def test_a_binary_that_is_not_what_its_key_is_of_is_found(simple: Workshop) -> None:
    """Its content is that of its record, whose layout is another than the key's."""
    first = simple.built(BUILD)
    record = first.path(2).parent / "meta.json"
    meta = json.loads(record.read_bytes())
    del meta["seal"]
    record.write_bytes(sealed({**meta, "layout": 3}))

    ((entry, what),) = verify(Cache(simple.cache))
    assert (entry.name, what) == (first.path(2).parent.name, "it is not what its key is of")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_log_of_a_build_is_found_and_nothing_but_a_log(simple: Workshop, damage: str) -> None:
    """A capture is used all the same: what it is does not depend on what its build said."""
    first = simple.built(BUILD)
    folder = _capture_folder(simple)
    DAMAGES[damage](folder / "build.log")

    ((entry, what),) = verify(Cache(simple.cache))
    assert (entry.kind, entry.name) == ("log", folder.name)
    assert "build.log" in what
    assert digests(simple.built(BUILD)) == digests(first)


def test_a_log_whose_record_is_gone_is_found(simple: Workshop) -> None:
    """Nobody can say any more whether it is what the build said."""
    simple.built(BUILD)
    folder = _capture_folder(simple)
    (folder / "log.json").unlink()

    ((entry, what),) = verify(Cache(simple.cache))
    assert (entry.kind, entry.name) == ("log", folder.name)
    assert what == f"damaged: {folder / 'log.json'}"


def _exchange(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _build_records(shop: Workshop) -> list[Path]:
    """The records that say which capture a build gave."""
    paths = sorted((shop.cache / "keys").iterdir())
    return [path for path in paths if path.stem.isalnum() and len(path.stem) == 64]
