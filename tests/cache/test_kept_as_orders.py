"""Binaries that the cache keeps as the order that they are written in: found, damaged, listed, evicted, and made whole."""

import os

import pytest

from layoutrand.cache import keys
from layoutrand.cache.contents import content_of, is_there, place, sha256_of, state_of
from layoutrand.cache.learned_program import image_path, keep_learned, table_path
from layoutrand.cache.linked_check import verify
from layoutrand.cache.packing import keep_as_deltas, keep_whole
from layoutrand.cache.sealed_records import sealed, unsealed
from layoutrand.cache.storage_record import KeptAs
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect, entries
from layoutrand.cache.written_order import WrittenOrder
from layoutrand.errors import UnusableFile
from layoutrand.permute.learn import learn
from layoutrand.permute.learned import FORMAT
from layoutrand.permute.write import written
from layoutrand.platform.disk import sha256_bytes
from overwrite import overwrite
from permutekit import learnable

CAPTURE = "c" * 64
ORDERS = {1: [5, 4, 3, 2, 1, 0], 2: [1, 0, 3, 2, 5, 4], 3: [2, 3, 4, 5, 0, 1]}
GAPS = {3: [0, 7, 0, 64, 1, 0]}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return learn(*learnable(tmp_path_factory.mktemp("program"))[:4])


def facts(seed):
    return {"capture": CAPTURE, "artefact": "bin/prog", "layout": seed, "policy": {"factors": ["function-order"]}}


def key(seed):
    return keys.binary_key(facts(seed))


def content(table, seed):
    return bytes(written(table, ORDERS[seed], GAPS.get(seed, ())))


def image(cache):
    return image_path(cache.capture_path(CAPTURE), 0, FORMAT)


def put(cache, table, seed, used_at=None):
    order = WrittenOrder(keep_learned(table, image(cache)), ORDERS[seed], GAPS.get(seed, ()))
    meta = {
        "sha256": sha256_bytes(content(table, seed)),
        "system": "a",
        "artefact": "bin/prog",
        "layout": seed,
        "facts": facts(seed),
    }
    with cache.scratch("entry") as scratch:
        (scratch / "prog.order").write_bytes(order.stored())
        (scratch / "prog.order").chmod(0o755)
        stored = cache.commit_binary(scratch, key(seed), meta, kept=KeptAs("order", image(cache)))
    if used_at is not None:
        os.utime(folder(cache, seed) / "meta.json", (used_at, used_at))
    return stored


def folder(cache, seed):
    return cache.root / "binaries" / key(seed)


def load(cache, seed):
    return cache.load_binary(key(seed), "prog")


def names_in(cache, seed):
    return sorted(os.listdir(folder(cache, seed)))


@pytest.fixture
def kept(tmp_path, table):
    """Three seeds as orders, the last one with gaps."""
    cache = Cache(tmp_path / "cache")
    (cache.capture_path(CAPTURE) / "0").mkdir(parents=True)
    for seed in ORDERS:
        put(cache, table, seed, used_at=2000 + seed)
    (cache.capture_path(CAPTURE) / "capture.json").write_bytes(sealed({"system": "a"}))
    os.utime(cache.capture_path(CAPTURE) / "capture.json", (1000, 1000))
    return cache


def damaged(cache):
    """What `verify` says of the binaries; the capture here is none, of which it tells apart."""
    return {entry.name: what for entry, what in verify(cache) if entry.kind == "binary"}


def test_an_order_is_found_as_the_binary_that_it_stands_for(kept, table):
    for seed in ORDERS:
        found = load(kept, seed)
        assert (found.path, found.base) == (folder(kept, seed) / "prog.order", image(kept))
        assert found.stored.storage == "order"
        assert content_of(found.stored) == content(table, seed)
        assert sha256_of(found.stored) == found.meta["sha256"]
        assert found.path.stat().st_mode & 0o777 == 0o555
    assert len({content(table, seed) for seed in ORDERS}) == len(ORDERS)
    assert damaged(kept) == {}


def test_an_executions_own_file_is_the_binary(kept, table, tmp_path):
    found = load(kept, 2)
    assert place(found.stored, tmp_path / "own") == "copy"
    own = (tmp_path / "own").stat()
    assert (tmp_path / "own").read_bytes() == content(table, 2)
    assert own.st_mode & 0o777 == 0o555
    assert own.st_mtime_ns == found.path.stat().st_mtime_ns


def damage_order(cache):
    path = folder(cache, 1) / "prog.order"
    overwrite(path, path.read_bytes().replace(b"[5,4", b"[4,5"))


def reseal_order(cache):
    """An order that is whole, and another one."""
    overwrite(folder(cache, 1) / "prog.order", (folder(cache, 2) / "prog.order").read_bytes())


def lose_order(cache):
    (folder(cache, 1) / "prog.order").unlink()


def damage_table(cache):
    path = table_path(image(cache))
    overwrite(path, path.read_bytes()[:-30])


def damage_image(cache):
    data = bytearray(image(cache).read_bytes())
    data[len(data) // 2] ^= 1
    overwrite(image(cache), bytes(data))


def lose_image(cache):
    image(cache).unlink()


def lose_table(cache):
    table_path(image(cache)).unlink()


OWN = [damage_order, reseal_order, lose_order]
LEARNED = f"it is written from what was learned of the capture {CAPTURE[:12]}, which is"
WHAT = {
    **{damage: {1: "content differs from the record"} for damage in OWN},
    **{damage: dict.fromkeys(ORDERS, f"{LEARNED} damaged") for damage in (damage_table, damage_image)},
    **{lose: dict.fromkeys(ORDERS, f"{LEARNED} gone") for lose in (lose_image, lose_table)},
}


@pytest.mark.parametrize("damage", WHAT, ids=lambda damage: damage.__name__)
def test_damage_is_found_on_use_and_by_verify(kept, damage):
    assert load(kept, 1) is not None  # what was learned is in memory from now on
    damage(kept)
    assert damaged(kept) == {key(seed): what for seed, what in WHAT[damage].items()}
    for seed in ORDERS:
        assert (load(kept, seed) is None) == (seed in WHAT[damage])


def test_what_cannot_be_made_is_an_error_that_names_the_file(kept):
    stored = load(kept, 1).stored
    damage_order(kept)
    with pytest.raises(UnusableFile, match=r"prog\.order: no order of the program of .*learned-.*damaged"):
        content_of(stored)


@pytest.mark.parametrize(
    "said",
    [None, 7, {}, {"capture": CAPTURE}, {"capture": "..", "image": "0/learned-5.image"}]
    + [{"capture": CAPTURE, "image": name} for name in (7, "", "capture.json", "0/../../x", "0/learned-5.image/..")],
)
def test_a_record_that_names_nothing_learned_is_damaged(kept, said):
    record = folder(kept, 1) / "meta.json"
    overwrite(record, sealed({**unsealed(record.read_bytes()), "order": said}))
    assert load(kept, 1) is None
    assert damaged(kept) == {key(1): "content differs from the record"}


@pytest.mark.parametrize(
    "change",
    [{"order": None}, {"order": [-1]}, {"order": [True]}, {"order": "5"}, {"gaps": [1 << 30] * 3}, {"learned": 5}],
    ids=str,
)
def test_a_file_that_is_no_order_is_refused(table, change):
    known = {"learned": "x", "order": [0], "gaps": []}
    WrittenOrder.of_stored(sealed(known))
    with pytest.raises(ValueError, match="it is no"):
        WrittenOrder.of_stored(sealed({**known, **change}))


def test_an_order_of_other_pieces_is_no_binary(kept):
    record = folder(kept, 1) / "prog.order"
    known = unsealed(record.read_bytes())
    for order in ([0], [9, 8, 7, 6, 5, 4], [0, 0, 0, 0, 0, 0]):
        overwrite(record, sealed({**known, "order": order}))
        assert load(kept, 1) is None


def test_use_of_an_order_is_use_of_its_capture(kept):
    load(kept, 1)
    used = {seed: (folder(kept, seed) / "meta.json").stat().st_mtime for seed in ORDERS}
    assert (kept.capture_path(CAPTURE) / "capture.json").stat().st_mtime >= used[1] > used[2] == 2002


def test_a_capture_is_evicted_after_all_that_is_made_of_it(kept):
    """Though it was used itself before all of them."""
    listed = [(entry.kind, entry.used_at, entry.label) for entry in entries(kept)]
    assert listed == [
        *(("binary", 2000 + seed, f"a bin/prog {seed} (order)") for seed in ORDERS),
        ("capture", 2003, "a"),
    ]
    sizes = {entry.name: entry.size for entry in entries(kept)}
    evicted = collect(kept, sizes[CAPTURE] + sizes[key(3)]).evicted
    assert [entry.name for entry in evicted] == [key(1), key(2)]
    assert damaged(kept) == {}


def test_orders_without_their_capture_are_evicted_first(kept, table):
    for path in sorted(kept.capture_path(CAPTURE).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    kept.capture_path(CAPTURE).rmdir()
    assert {entry.label for entry in entries(kept)} == {f"a bin/prog {seed} (order of what is gone)" for seed in ORDERS}
    assert damaged(kept) == {key(seed): f"{LEARNED} gone" for seed in ORDERS}


def test_they_are_made_whole_and_are_no_deltas(kept, table):
    pytest.importorskip("backports.zstd" if not os.environ.get("CI") else "layoutrand")
    assert (done := keep_as_deltas(kept)).changed == done.others == 0
    assert names_in(kept, 1) == ["meta.json", "prog.order"]
    before = (folder(kept, 3) / "prog.order").stat()
    assert keep_whole(kept).changed == len(ORDERS)
    for seed in ORDERS:
        assert names_in(kept, seed) == ["meta.json", "prog"]
        assert "order" not in unsealed((folder(kept, seed) / "meta.json").read_bytes())
        assert content_of(load(kept, seed).stored) == content(table, seed)
    new = (folder(kept, 3) / "prog").stat()
    assert (new.st_mtime_ns, new.st_mode & 0o777) == (before.st_mtime_ns, 0o555)
    assert damaged(kept) == {}


def test_half_a_file_that_a_killed_process_left_is_in_nobodys_way(kept, table):
    (folder(kept, 1) / "prog").write_bytes(b"half")
    assert damaged(kept) == {}
    assert content_of(load(kept, 1).stored) == content(table, 1)
    os.utime(folder(kept, 1) / "meta.json", (1000, 1000))
    os.utime(kept.capture_path(CAPTURE) / "capture.json", (1000, 1000))
    assert keep_whole(kept).changed == len(ORDERS)
    assert content_of(load(kept, 1).stored) == content(table, 1)


def test_a_record_that_came_from_another_cache_says_nothing_of_how_it_is_kept_here(kept, table, tmp_path):
    other = Cache(tmp_path / "other")
    with other.scratch("entry") as scratch:
        (scratch / "prog").write_bytes(content(table, 1))
        other.commit_binary(scratch, key(1), load(kept, 1).meta)
    assert load(other, 1).base is None


@pytest.mark.parametrize("lose", [lose_order, lose_image, lose_table], ids=lambda lose: lose.__name__)
def test_a_file_that_is_gone_or_another_is_noticed(kept, table, lose):
    found = load(kept, 1).stored
    before = state_of(found)
    assert is_there(found)
    lose(kept)
    assert not is_there(found)
    put(kept, table, 1)
    assert state_of(found) != before
