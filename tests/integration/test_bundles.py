"""A capture brought to another machine: whole, only what is lacking, or a clear error and nothing half there."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from layoutrand.cache.capture_record import Capture
from layoutrand.cache.store import Cache
from layoutrand.cluster.bundle import Exported, export_capture, import_capture
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.errors import BundleError, CacheError, StoreError
from layoutrand.platform.disk import sha256_bytes
from speeds import first_fast
from workshop import Workshop, main_calling, many_functions

BUILD = "$CC -c *.c && $AR rcs libu.a u.o && $CC -o prog main.o w.o libu.a"


@pytest.fixture
def shop(gnu: Workshop) -> Workshop:
    """A small program of which one object is in an archive."""
    gnu.write(main__c=main_calling("u3", "w2"), u__c=many_functions(6, prefix="u"))
    gnu.write(w__c=many_functions(4, prefix="w"))
    return gnu


@pytest.fixture
def captured(shop: Workshop) -> Capture:
    """Its capture."""
    return _capture(shop)


def _capture(shop: Workshop) -> Capture:
    capture = shop.built(BUILD, seeds=[1]).result.capture
    assert capture is not None
    return capture


@pytest.fixture
def bundle(shop: Workshop, captured: Capture, tmp_path: Path) -> tuple[SharedDirectory, Exported]:
    """Its bundle in a shared directory."""
    shared = SharedDirectory(tmp_path / "shared")
    return shared, export_capture(Cache(shop.cache), captured, shared, jobs=2)


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Content and mode of every file."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def objects(shared: SharedDirectory) -> list[Path]:
    """Every stored content."""
    return sorted(path for path in (shared.root / "objects").rglob("*") if path.is_file())


def left_behind(cache: Cache) -> list[str]:
    """Captures and unfinished work in a cache."""
    return [path.name for folder in ("captures", "work") for path in (cache.root / folder).iterdir()]


def test_a_capture_arrives_whole_and_each_content_travels_once(
    shop: Workshop, captured: Capture, bundle: tuple[SharedDirectory, Exported], tmp_path: Path
) -> None:
    """Every file has its content and mode; what both trees of the capture share is stored and read once."""
    shared, exported = bundle
    node = Cache(tmp_path / "node" / "cache")
    arrived, travelled = import_capture(node, shared, exported.digest)
    assert arrived == captured
    there, here = (snapshot(cache.capture_path(captured.id)) for cache in (Cache(shop.cache), node))
    assert here == there
    assert len(objects(shared)) == exported.travelled.contents == travelled.contents
    assert sum(path.stat().st_size for path in objects(shared)) == exported.travelled.moved == travelled.moved
    assert exported.travelled.moved < exported.travelled.size < sum(len(data) for data, _ in there.values())


def test_what_is_there_does_not_travel_again(
    shop: Workshop, captured: Capture, bundle: tuple[SharedDirectory, Exported], tmp_path: Path
) -> None:
    """A second export writes nothing, a second import reads nothing; another capture moves only what differs."""
    shared, exported = bundle
    again = export_capture(Cache(shop.cache), captured, shared)
    assert (again.digest, again.travelled.contents, again.travelled.moved) == (exported.digest, 0, 0)
    node = Cache(tmp_path / "node")
    import_capture(node, shared, exported.digest)
    assert import_capture(node, shared, exported.digest)[1].contents == 0

    shop.write(u__c=many_functions(7, prefix="u"))
    other = _capture(shop)
    more = export_capture(Cache(shop.cache), other, shared)
    # libu.a twice (as it was and edited), the log, the code and the record
    assert 0 < more.travelled.contents <= 5 < exported.travelled.contents
    arrived, travelled = import_capture(node, shared, more.digest)
    assert arrived == other
    assert travelled.contents == more.travelled.contents + 1  # the log, which no capture's record names
    assert node.damaged_files(other) == []


def test_a_damaged_file_of_another_capture_is_read_from_the_bundle(
    shop: Workshop, captured: Capture, bundle: tuple[SharedDirectory, Exported], tmp_path: Path
) -> None:
    """What a node seems to have is checked before it is used."""
    shared, exported = bundle
    node = Cache(tmp_path / "node")
    import_capture(node, shared, exported.digest)
    for path in node.capture_path(captured.id).rglob("main.o"):
        path.write_bytes(b"damaged")
    shop.write(u__c=many_functions(7, prefix="u"))
    other = _capture(shop)
    import_capture(node, shared, export_capture(Cache(shop.cache), other, shared).digest)
    assert node.damaged_files(other) == []
    assert node.damaged_files(captured) != []
    import_capture(node, shared, exported.digest)
    assert node.damaged_files(captured) == []


def test_a_damaged_capture_is_not_exported(shop: Workshop, captured: Capture, tmp_path: Path) -> None:
    """The error names the file, and there is no manifest."""
    next(Cache(shop.cache).capture_path(captured.id).rglob("code.npz")).write_bytes(b"damaged")
    with pytest.raises(CacheError, match=r"code\.npz is damaged"):
        export_capture(Cache(shop.cache), captured, SharedDirectory(tmp_path / "shared"))
    assert not (tmp_path / "shared" / "bundles").exists()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:]),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "another content": lambda path: path.write_bytes(zlib.compress(b"something else")),
    "a bomb": lambda path: path.write_bytes(zlib.compress(b"\0" * (1 << 26))),
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("damage", first_fast(2, DAMAGES))
def test_a_damaged_content_is_refused_and_put_there_again(
    shop: Workshop, captured: Capture, bundle: tuple[SharedDirectory, Exported], tmp_path: Path, damage: str
) -> None:
    """The node is left as it was, and the next export mends what is damaged."""
    shared, exported = bundle
    victim = objects(shared)[3]
    DAMAGES[damage](victim)
    node = Cache(tmp_path / "node")
    with pytest.raises(BundleError, match=f"{victim.name} is damaged"):
        import_capture(node, shared, exported.digest)
    assert left_behind(node) == []
    assert export_capture(Cache(shop.cache), captured, shared).travelled.contents == 1
    import_capture(node, shared, exported.digest)
    assert node.damaged_files(captured) == []


def test_a_content_that_is_not_there_is_named(bundle: tuple[SharedDirectory, Exported], tmp_path: Path) -> None:
    """As when someone cleans the shared directory up."""
    shared, exported = bundle
    objects(shared)[0].unlink()
    node = Cache(tmp_path / "node")
    with pytest.raises(BundleError, match="cannot read .*No such file.*shared directory exists on every node"):
        import_capture(node, shared, exported.digest)
    assert left_behind(node) == []


def test_a_damaged_manifest_is_refused(bundle: tuple[SharedDirectory, Exported], tmp_path: Path) -> None:
    """Its own digest is its name."""
    shared, exported = bundle
    path = shared.manifest_path(exported.digest)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(BundleError, match="is damaged"):
        import_capture(Cache(tmp_path / "node"), shared, exported.digest)


def test_a_record_of_another_capture_is_refused(bundle: tuple[SharedDirectory, Exported], tmp_path: Path) -> None:
    """What the record says must give the id that the manifest has, and name no file that the manifest lacks."""
    shared, exported = bundle
    table = json.loads(shared.manifest(exported.digest))

    def imported(table: dict[str, object]) -> str:
        digest = shared.put_manifest(json.dumps(table).encode())
        with pytest.raises(BundleError) as caught:
            import_capture(Cache(tmp_path / "node"), shared, digest)
        assert left_behind(Cache(tmp_path / "node")) == []
        return str(caught.value)

    assert "is a bundle of capture " + "0" * 64 in imported({**table, "capture": "0" * 64})
    fewer = [row for row in table["files"] if not row[0].endswith("edited/_build/main.o")]
    assert "lacks 0/edited/_build/main.o" in imported({**table, "files": fewer})

    (row,) = (row for row in table["files"] if row[0] == "record.json")
    record = json.loads(shared.get(row[1], row[2])[0])
    record["links"][0]["argv"][0] = "--another"
    data = json.dumps(record).encode()
    shared.put(sha256_bytes(data), data)
    changed = [
        entry if entry is not row else [row[0], sha256_bytes(data), len(data), row[3]] for entry in table["files"]
    ]
    assert "by its content of" in imported({**table, "files": changed})
    data = b"[]"
    shared.put(sha256_bytes(data), data)
    changed = [
        entry if entry is not row else [row[0], sha256_bytes(data), len(data), row[3]] for entry in table["files"]
    ]
    assert "record of the capture cannot be read" in imported({**table, "files": changed})


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_is_said_and_nothing_half_is_left(
    shop: Workshop,
    captured: Capture,
    bundle: tuple[SharedDirectory, Exported],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On either side."""
    shared, exported = bundle
    opened = Path.open

    def full(path: Path, mode: str = "r", **how: Any) -> IO[Any]:
        return opened(Path("/dev/full") if path.suffix == ".o" and "w" in mode else path, mode, **how)

    monkeypatch.setattr(Path, "open", full)
    node = Cache(tmp_path / "node")
    with pytest.raises(CacheError, match="No space left on device"):
        import_capture(node, shared, exported.digest)
    assert left_behind(node) == []
    monkeypatch.undo()

    elsewhere = SharedDirectory(tmp_path / "shared2")
    (tmp_path / "shared2").write_text("a file where the directory should be")
    with pytest.raises(StoreError, match="cannot write .*shared directory"):
        export_capture(Cache(shop.cache), captured, elsewhere)


def test_a_bundle_serves_once_its_maker_is_gone(
    shop: Workshop, captured: Capture, bundle: tuple[SharedDirectory, Exported], tmp_path: Path
) -> None:
    """Linked from the bundle alone, under another path, with neither project nor cache of this machine: the same bytes."""
    shared, exported = bundle
    from layoutrand.layout.order import draw
    from layoutrand.link.relink import link_layout
    from layoutrand.linkers.toolbox import Tool
    from layoutrand.platform.process import SubprocessRunner

    local = shop.built(BUILD, seeds=[5, 6])
    wanted = {name: local.by_layout[name].sha256 for name in (5, 6)}
    shutil.rmtree(shop.cache)
    shutil.rmtree(shop.project)
    node = Cache(tmp_path / "a node" / "with a longer path" / "to its cache")
    arrived, _ = import_capture(node, shared, exported.digest)
    ld = Tool(Path(arrived.tools["ld"]["path"]), arrived.tools["ld"]["version"], arrived.tools["ld"]["sha256"])
    (link,) = arrived.links
    found = {}
    for name in (5, 6):
        layout = draw(link.sections, link.identity, name=name, factors=("function-order",), classes="keep")
        with node.scratch("link") as scratch:
            base = node.capture_path(arrived.id) / "0"
            binary, _, _ = link_layout(SubprocessRunner(), ld, link, base, layout, scratch=scratch)
            found[name] = sha256_bytes(binary.data)
    assert found == wanted
