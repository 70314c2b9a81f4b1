"""Binaries that the cache keeps as deltas: found, damaged, listed, evicted, made of what is there, and made whole again."""

import os
import random
import subprocess
import sys

import pytest

from layoutrand.cache import delta, keys, packing
from layoutrand.cache.contents import base_at, content_of, is_there, place
from layoutrand.cache.linked_check import verify
from layoutrand.cache.packing import keep_as_deltas, keep_whole
from layoutrand.cache.storage_record import WHOLE_FILE, KeptAs
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect, entries
from layoutrand.errors import ToolNotFound
from layoutrand.platform.disk import sha256_bytes
from overwrite import overwrite

BASE = random.Random(1).randbytes(100_000)


def content(layout):
    """Of one program: the same in other places."""
    cut = 0 if layout == "identity" else 1000 * (layout + 1)
    return BASE[cut:] + BASE[:cut]


def facts(layout):
    policy = {} if layout == "identity" else {"policy": {"factors": ["function-order"]}}
    return {"capture": "c", "artefact": "bin/prog", "layout": layout, **policy}


def key(layout):
    return keys.binary_key(facts(layout))


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def put(cache, layout, against=None, used_at=None):
    meta = {
        "sha256": sha256_bytes(content(layout)),
        "system": "a",
        "artefact": "bin/prog",
        "layout": layout,
        "facts": facts(layout),
    }
    with cache.scratch("entry") as scratch:
        (scratch / "prog").write_bytes(content(layout))
        (scratch / "prog").chmod(0o755)
        kept = WHOLE_FILE if against is None else KeptAs("delta", against)
        stored = cache.commit_binary(scratch, key(layout), meta, kept=kept)
    if used_at is not None:
        os.utime(cache.root / "binaries" / key(layout) / "meta.json", (used_at, used_at))
    return stored


@pytest.fixture
def kept(cache):
    """Identity as a file, and two seeds as deltas against it."""
    base = put(cache, "identity", used_at=1000).path
    for seed in (1, 2):
        put(cache, seed, base, used_at=2000 + seed)
    return cache


def folder(cache, layout):
    return cache.root / "binaries" / key(layout)


def load(cache, layout):
    return cache.load_binary(key(layout), "prog")


def names_in(cache, layout):
    return sorted(os.listdir(folder(cache, layout)))


def test_a_delta_is_found_as_the_binary_that_it_stands_for(kept):
    found = load(kept, 1)
    assert found.path == folder(kept, 1) / "prog.zst"
    assert found.base == folder(kept, "identity") / "prog"
    assert content_of(found.stored) == content(1)
    assert found.path.stat().st_size < 0.05 * len(BASE)
    assert found.path.stat().st_mode & 0o777 == 0o555
    assert load(kept, "identity").base is None


def test_what_gains_nothing_as_a_delta_is_a_file(cache, tmp_path):
    (tmp_path / "other").write_bytes(random.Random(5).randbytes(1000))
    assert put(cache, 1, tmp_path / "other").base is None
    assert names_in(cache, 1) == ["meta.json", "prog"]
    assert content_of(load(cache, 1).stored) == content(1)


def test_a_record_that_came_from_another_cache_says_nothing_of_how_it_is_kept_here(kept, tmp_path):
    """A node sends the record of a layout, and its whole content."""
    other = Cache(tmp_path / "other")
    with other.scratch("entry") as scratch:
        (scratch / "prog").write_bytes(content(1))
        other.commit_binary(scratch, key(1), load(kept, 1).meta)
    assert load(other, 1).base is None
    assert content_of(load(other, 1).stored) == content(1)


def test_an_executions_own_file_is_as_if_it_had_been_copied(kept, tmp_path):
    whole = place(put(kept, 3), tmp_path / "whole", clone=False)
    found = load(kept, 1)
    assert place(found.stored, tmp_path / "own") == whole == "copy"
    own = (tmp_path / "own").stat()
    assert (tmp_path / "own").read_bytes() == content(1)
    assert own.st_mode == (tmp_path / "whole").stat().st_mode
    assert own.st_mtime_ns == found.path.stat().st_mtime_ns
    assert own.st_blocks == (tmp_path / "whole").stat().st_blocks


def damage_delta(cache):
    path = folder(cache, 1) / "prog.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    overwrite(path, bytes(data))


def shorten_delta(cache):
    path = folder(cache, 1) / "prog.zst"
    overwrite(path, path.read_bytes()[:-9])


def swap_deltas(cache):
    """A delta that is whole, of another layout."""
    overwrite(folder(cache, 1) / "prog.zst", (folder(cache, 2) / "prog.zst").read_bytes())


def lose_delta(cache):
    (folder(cache, 1) / "prog.zst").unlink()


def damage_base(cache):
    overwrite(folder(cache, "identity") / "prog", BASE[:50_000] + b"\0" + BASE[50_001:])


def lose_base(cache):
    (folder(cache, "identity") / "prog").unlink()


OWN = [damage_delta, shorten_delta, swap_deltas, lose_delta]
WHAT = {
    **{damage: {1: "content differs from the record"} for damage in OWN},
    damage_base: {
        "identity": "content differs from the record",
        **dict.fromkeys((1, 2), f"it is a delta against {key('identity')[:16]}, which is damaged"),
    },
    lose_base: {
        "identity": "content differs from the record",
        **dict.fromkeys((1, 2), f"it is a delta against {key('identity')[:16]}, which is gone"),
    },
}


@pytest.mark.parametrize("damage", WHAT, ids=lambda damage: damage.__name__)
def test_damage_is_found_on_use_and_by_verify(kept, damage):
    assert load(kept, 1) is not None  # its base is in memory from now on
    damage(kept)
    assert {entry.name: what for entry, what in verify(kept)} == {key(at): what for at, what in WHAT[damage].items()}
    for layout in ("identity", 1, 2):
        assert (load(kept, layout) is None) == (layout in WHAT[damage])


@pytest.mark.parametrize("base", [None, 7, "", "..", "../binaries/x", "a/b", "a\0b", {"x": 1}, []])
def test_a_record_that_names_no_entry_as_the_base_is_damaged(kept, base):
    from layoutrand.cache.sealed_records import sealed, unsealed

    record = folder(kept, 1) / "meta.json"
    overwrite(record, sealed({**unsealed(record.read_bytes()), "delta": {"base": base}}))
    assert load(kept, 1) is None
    assert [(entry.name, what) for entry, what in verify(kept)] == [(key(1), "content differs from the record")]
    assert key(1) in [entry.name for entry in entries(kept) if entry.label == "damaged"]


def test_what_is_a_delta_itself_is_the_base_of_nothing(kept):
    from layoutrand.cache.sealed_records import sealed, unsealed

    record = folder(kept, 1) / "meta.json"
    overwrite(record, sealed({**unsealed(record.read_bytes()), "delta": {"base": key(2)}}))
    assert load(kept, 1) is None


def test_without_the_library_a_delta_is_an_error_and_not_taken_for_damaged(kept, monkeypatch):
    """Else it would be made again, or its layout evicted, where somebody only forgot to install something."""
    from layoutrand.cache import contents

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(delta, "import_module", missing)
    monkeypatch.setattr(contents, "_bases", type(contents._bases)())
    assert load(kept, "identity") is not None
    for use in (lambda: load(kept, 1), lambda: verify(kept), lambda: keep_as_deltas(kept), lambda: keep_whole(kept)):
        with pytest.raises(ToolNotFound, match="layouts that are kept as deltas need"):
            use()
    assert len(entries(kept)) == 3
    assert len(collect(kept, 0).evicted) == 3


def test_of_bases_in_memory_the_latest_stay(tmp_path, monkeypatch):
    from layoutrand.cache import contents

    monkeypatch.setattr(contents, "_HELD", 250)
    monkeypatch.setattr(contents, "_bases", type(contents._bases)())
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode() * 100)
    bases = {name: base_at(tmp_path / name) for name in "ab"}
    assert base_at(tmp_path / "a") is bases["a"]
    base_at(tmp_path / "c")
    assert base_at(tmp_path / "a") is bases["a"]
    assert base_at(tmp_path / "b") is not bases["b"]


def test_use_of_a_delta_is_use_of_its_base(kept):
    load(kept, 1)
    used = {layout: (folder(kept, layout) / "meta.json").stat().st_mtime for layout in ("identity", 1, 2)}
    assert used["identity"] >= used[1] > used[2] == 2002


def test_a_base_is_evicted_after_all_that_needs_it(kept):
    """Though it was used itself before all of them."""
    put(kept, 3, used_at=2003)
    listed = [(entry.name, entry.used_at, entry.label) for entry in entries(kept)]
    assert listed == [
        (key(1), 2001, "a bin/prog 1 (delta)"),
        (key(2), 2002, "a bin/prog 2 (delta)"),
        (key("identity"), 2002, "a bin/prog identity"),
        (key(3), 2003, "a bin/prog 3"),
    ]
    sizes = {entry.name: entry.size for entry in entries(kept)}
    evicted = collect(kept, sizes[key("identity")] + sizes[key(3)]).evicted
    assert [entry.name for entry in evicted] == [key(1), key(2)]
    assert verify(kept) == []


def test_deltas_without_their_base_are_evicted_first(kept):
    """As when a process that evicted it had been killed, and its deltas came from elsewhere."""
    put(kept, 3, used_at=10)
    for path in folder(kept, "identity").iterdir():
        path.unlink()
    folder(kept, "identity").rmdir()
    assert [entry.label for entry in entries(kept)] == [
        *[f"a bin/prog {seed} (delta against what is gone)" for seed in sorted((1, 2), key=key)],
        "a bin/prog 3",
    ]


def test_a_base_stays_while_another_process_uses_a_delta(kept):
    script = (
        "import sys\nfrom pathlib import Path\nfrom layoutrand.cache.store import Cache\n"
        f"print(Cache(Path({str(kept.root)!r})).load_binary({key(1)!r}, 'prog') is not None, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdout.readline() == b"True\n"
        done = collect(kept, 0)
        assert [entry.name for entry in done.evicted] == [key(2)]
        assert {entry.name for entry in done.in_use} == {key(1), key("identity")}
        put(kept, 4, used_at=1)
        packed = keep_as_deltas(kept)
        assert (packed.changed, packed.in_use) == (1, 0)
        assert keep_whole(kept).in_use == 1
        user.stdin.close()
    assert keep_whole(kept).changed == 1


def test_files_become_deltas_and_files_again(cache):
    for layout in ("identity", 1, 2, 3):
        put(cache, layout, used_at=1000)
    (folder(cache, 3) / "prog").chmod(0o750)
    before = {layout: (folder(cache, layout) / "prog").stat() for layout in ("identity", 1, 2, 3)}

    done = keep_as_deltas(cache)
    assert (done.changed, done.in_use, done.others) == (3, 0, 0)
    assert done.after < 0.5 * done.before
    assert names_in(cache, "identity") == ["meta.json", "prog"]
    assert names_in(cache, 1) == ["meta.json", "prog.zst"]
    assert {entry.used_at for entry in entries(cache)} == {1000}
    assert verify(cache) == []
    assert content_of(load(cache, 3).stored) == content(3)
    assert keep_as_deltas(cache).changed == 0

    assert keep_whole(cache).changed == 3
    assert verify(cache) == []
    for layout, old in before.items():
        new = (folder(cache, layout) / "prog").stat()
        assert names_in(cache, layout) == ["meta.json", "prog"]
        assert (new.st_size, new.st_mtime_ns) == (old.st_size, old.st_mtime_ns)
        assert new.st_mode & 0o777 == old.st_mode & 0o555
    assert keep_whole(cache).changed == 0


def test_without_identity_another_layout_is_the_base_and_what_is_one_stays_whole(cache):
    first = put(cache, 1).path
    put(cache, 2, first)
    put(cache, 3)
    assert keep_as_deltas(cache).changed == 1
    assert names_in(cache, 1) == ["meta.json", "prog"]
    assert load(cache, 3).base == first
    put(cache, "identity")
    put(cache, 4)
    assert keep_as_deltas(cache).changed == 1
    assert load(cache, 4).base == folder(cache, "identity") / "prog"
    assert load(cache, 2).base == first
    assert verify(cache) == []


def test_damaged_layouts_and_those_of_other_programs_are_left(cache):
    put(cache, "identity")
    put(cache, 1)
    overwrite(folder(cache, 1) / "prog", b"damaged")
    with cache.scratch("entry") as scratch:
        (scratch / "prog").write_bytes(content(2))
        cache.commit_binary(scratch, "stock", {"sha256": sha256_bytes(content(2)), "layout": "stock"})
    assert keep_as_deltas(cache).changed == 0
    assert [entry.name for entry, _ in verify(cache)] == [key(1)]
    overwrite(folder(cache, "identity") / "prog", b"damaged, too")
    put(cache, 2)
    put(cache, 3)
    assert keep_as_deltas(cache).changed == 1
    assert {load(cache, seed).base for seed in (2, 3)} == {None, folder(cache, min((2, 3), key=key)) / "prog"}


STEPS = {
    "the new file": {keep_as_deltas: "storage_record.write_own", keep_whole: "packing.place"},
    "the record": dict.fromkeys((keep_as_deltas, keep_whole), "packing.write_atomically"),
    "the old file": dict.fromkeys((keep_as_deltas, keep_whole), "packing._leave_one"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("change", [keep_as_deltas, keep_whole])
def test_killed_at_any_step_nothing_is_lost_and_the_next_call_tidies_up(kept, change, step, monkeypatch):
    """In a process that ends at once before the step, and after it."""
    put(kept, 3)
    for when in ("before", "after"):
        (keep_as_deltas if change is keep_whole else keep_whole)(kept)
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom layoutrand.cache import storage_record, packing\n"
            "from layoutrand.cache.store import Cache\n"
            f"real = {STEPS[step][change]}\n"
            "def step(*args, **options):\n"
            f"    if {when == 'after'}: real(*args, **options)\n"
            "    os._exit(9)\n"
            f"{STEPS[step][change]} = step\n"
            f"packing.{change.__name__}(Cache(Path({str(kept.root)!r})))\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.returncode == 9, done.stderr
        assert verify(kept) == []
        for layout in ("identity", 1, 2, 3):
            assert content_of(load(kept, layout).stored) == content(layout)
            os.utime(folder(kept, layout) / "meta.json", (1000, 1000))
        change(kept)
        assert verify(kept) == []
        for layout in (1, 2, 3):
            assert names_in(kept, layout) == ["meta.json", "prog.zst" if change is keep_as_deltas else "prog"]


def test_half_a_file_that_a_killed_process_left_is_in_nobodys_way(kept):
    put(kept, 3, used_at=1000)
    (folder(kept, 3) / "prog.zst").write_bytes(b"half")
    (folder(kept, 1) / "prog").write_bytes(b"half")
    assert verify(kept) == []
    assert content_of(load(kept, 1).stored) == content(1)
    assert content_of(load(kept, 3).stored) == content(3)
    for layout in (1, 3):
        os.utime(folder(kept, layout) / "meta.json", (1000, 1000))
    assert keep_as_deltas(kept).changed == 1
    assert names_in(kept, 3) == names_in(kept, 1) == ["meta.json", "prog.zst"]
    assert content_of(load(kept, 3).stored) == content(3)


def test_an_entry_that_was_replaced_meanwhile_is_left(cache, monkeypatch):
    put(cache, "identity")
    put(cache, 1)
    real = packing._as_delta

    def replaced(layout, base):
        made = real(layout, base)
        put(cache, 1)
        return made

    monkeypatch.setattr(packing, "_as_delta", replaced)
    done = keep_as_deltas(cache)
    assert (done.changed, done.in_use) == (0, 1)
    assert verify(cache) == []
    assert load(cache, 1).base is None


def test_a_base_that_is_gone_is_not_there(kept):
    found = load(kept, 1).stored
    assert is_there(found)
    lose_base(kept)
    assert not is_there(found)
