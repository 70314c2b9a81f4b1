"""What layoutrand wrote and reads again: cache, results, shared directory, bundles; anybody may have been at it since.

Where a record is sealed it is attacked twice: as it lies there, and with a seal that fits, as an enemy would make it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from experiments import measured, write
from fakes import EXECUTION, make_config
from fuzz.target import Target, tree_of
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.selection import select
from layoutrand.build.coincidence import recorded_coincidence
from layoutrand.cache import capture_record, keys, packing
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.cache.delta import DeltaBase, zstandard
from layoutrand.cache.kept_builds import KeptBuild, kept_tree, load_build, unpack_build
from layoutrand.cache.linked_check import verify
from layoutrand.cache.packed_tree import PackedPath, PackedTree, pack
from layoutrand.cache.sealed_records import KeyRecord, sealed, unsealed
from layoutrand.cache.store import Cache, captured_contents, link_seconds
from layoutrand.cache.upkeep import entries, record_entries
from layoutrand.capture.own_files import own_files, parse_written
from layoutrand.cluster.bundle import import_capture
from layoutrand.cluster.bundle_command import import_system
from layoutrand.cluster.manifest import parse_manifest
from layoutrand.cluster.measuring_task import record_key, record_of
from layoutrand.cluster.returned_executions import take_record
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.cluster.unneeded import inventory
from layoutrand.execute.experiment import slot_key
from layoutrand.jvm.home_image import check_seal
from layoutrand.model import BuildFailure, BuiltFrom, Node, Section, Stored
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.results.file import open_for_reading, open_for_writing, project_id, results_path
from overwrite import overwrite

SECTION = Section(0, "a.o", ".text.f", 0, "", "text", 16, 16, False)
DIGEST = sha256_bytes(b"content")
LINK = CapturedLink(
    artefact="prog",
    linker="/usr/bin/ld",
    output="/x/prog",
    argv=("a.o",),
    replay_argv=("a.o", "-s"),
    cwd="_build",
    environment={"A": "b"},
    files={"_build/a.o": DIGEST},
    edited={"_build/a.o": DIGEST},
    members=("libc.a(x.o)",),
    sections=(SECTION, replace(SECTION, index=1, name=".text.g")),
    identity=(0, 1),
    other_sizes={".data": 8},
    script="SECTIONS { }",
    users_script=False,
    moves={},
    code_sha256=DIGEST,
    original_sha256=DIGEST,
    warnings=("w",),
)
TOOLS = {"ld": {"version": "GNU ld 2.40", "sha256": "0" * 64}, "cc": {"version": "gcc 12", "sha256": "0" * 64}}


@cache
def capture() -> Capture:
    """A capture that holds together."""
    source = {"digest": "0" * 64, "git": {"commit": "1" * 40, "dirty": True}}
    found = Capture("", "a", "gcc", True, TOOLS, source, 1.5, 1, (LINK,))
    return replace(found, id=keys.captured_id(capture_record.identity_facts(found.links, found.tools)))


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _use(place: Path) -> None:
    """All that is done with a cache of unknown content."""
    used = Cache(place / "cache")
    used.recall("k" * 64)
    found = used.load_capture(capture().id)
    if found is not None:
        used.damaged_files(found)
        capture_record.tools_of(found)
    used.load_binary("b" * 64, "prog")
    load_build(used, "e" * 64)
    list(captured_contents(used))
    entries(used)
    record_entries(used)
    link_seconds(used)
    verify(used)


def _cached(name: str, *, fits: bool) -> Callable[[bytes, Path], None]:
    """The data as one file of a cache, with a seal that fits or as it is."""

    def read(data: bytes, place: Path) -> None:
        tree = tree_of(data) if fits else None
        if fits and not isinstance(tree, dict):
            return
        for folder in ("keys", f"captures/{capture().id}/0/root/_build", f"binaries/{'b' * 64}", f"builds/{'e' * 64}"):
            (place / "cache" / folder).mkdir(parents=True, exist_ok=True)
        overwrite(place / f"cache/binaries/{'b' * 64}/prog", b"content")
        overwrite(place / "cache" / name, sealed(tree) if fits else data)
        _use(place)

    return read


CACHED = {
    f"keys/{'k' * 64}.json": lambda: unsealed(
        KeyRecord("k" * 64, {"capture": capture().id, "build_s": 1.5, "n_links": 3}, "a", {"source": {}}).stored()
    ),
    f"captures/{capture().id}/capture.json": lambda: capture_record.to_json(capture()),
    f"builds/{'e' * 64}/build.json": lambda: {"schema": "layoutrand/kept-build/1", **vars(KEPT)},
    f"binaries/{'b' * 64}/meta.json": lambda: {
        "key": "b" * 64,
        "sha256": DIGEST,
        "system": "a",
        "artefact": "prog",
        "layout": 3,
        "link_s": 0.1,
        "text_sha256": DIGEST,
    },
}


BASE = b"".join(sha256_bytes(b"%d" % number).encode() for number in range(60))
MOVED = BASE[1000:] + BASE[:1000]


@cache
def delta(*, checked: bool = True) -> bytes:
    """The second content as a delta against the first; also as an enemy would make it, with nothing that checks it."""
    base = DeltaBase(BASE)
    if checked:
        return base.encode(MOVED) or b""
    return bytes(zstandard().compress(MOVED, level=1, zstd_dict=zstandard().ZstdDict(BASE, is_raw=True).as_prefix))


WRITTEN = _json({"schema": "layoutrand/written/1", "files": {"out/report.html": DIGEST, "../t.csv": DIGEST}})


def _written_files(data: bytes, place: Path) -> None:
    """The data as the record of what layoutrand has written into a project's source."""
    (place / ".layoutrand").mkdir(exist_ok=True)
    overwrite(place / ".layoutrand" / "written.json", data)
    assert own_files(place, place) == []
    with contextlib.suppress(ValueError):
        parse_written(data)


def _delta(data: bytes, place: Path) -> None:
    """The data as what is kept of a binary in the cache."""
    overwrite(place / "base", BASE)
    overwrite(place / "delta", data)
    content = content_of(Stored(place / "delta", place / "base"))
    assert len(content) <= 4 * len(BASE) + (1 << 20)


def _against(data: bytes, place: Path) -> None:
    """The data as the file that a delta is against."""
    overwrite(place / "base", data)
    overwrite(place / "delta", delta())
    assert content_of(Stored(place / "delta", place / "base")) == MOVED  # or an error


def _kept_as_delta(data: bytes, place: Path) -> None:
    """The data as the record of a binary that is kept as a delta, with a seal that fits."""
    if not isinstance(tree := tree_of(data), dict):
        return
    store = Cache(place / "cache")
    for key, files in {"b": {"prog": BASE}, "d": {"prog.zst": delta(), "meta.json": sealed(tree)}}.items():
        folder = store.root / "binaries" / (key * 64)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            overwrite(folder / name, content)
    if (found := store.load_binary("d" * 64, "prog")) is not None:
        assert sha256_bytes(content_of(found.stored)) == found.meta["sha256"]
    entries(store)
    verify(store)
    packing.keep_as_deltas(store)
    packing.keep_whole(store)


DELTA_RECORD = {
    "key": "d" * 64,
    "sha256": sha256_bytes(MOVED),
    "system": "a",
    "artefact": "prog",
    "layout": 3,
    "facts": {"capture": "c", "artefact": "prog", "layout": 3},
    "delta": {"base": "b" * 64},
}


@cache
def results() -> bytes:
    """A results file with something in each table."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        config = make_config(BENCHMARK)
        rows = {k: [[10 + k / 100]] for k in range(1, 5)} | {"stock": [[10.5]], "identity": [[10.25]]}
        built = [BuiltFrom("a", "capture-of-a", "1" * 40, "2" * 40, 1.5e9, "subject", False, "", "words", {"x": "1"})]
        write(
            config,
            root,
            [each for system in "ab" for each in measured(config, root, system, "b", rows)],
            [BuildFailure("a", "prog", 9, "no", None)],
            [Node("n", {"cpu_model": "x", "machine": "m", "cpus": 2})],
            built,
        )
        with open_for_writing(results_path(root)) as opened:
            opened.close()
        with closing(sqlite3.connect(results_path(root))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")
        return results_path(root).read_bytes()


BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
TABLES = ("experiments", "contexts", "executions", "measurements", "build_failures", "nodes")


@cache
def rows() -> bytes:
    """One row of each table, by column."""
    found: dict[str, Any] = {}
    with tempfile.NamedTemporaryFile() as file:
        file.write(results())
        file.flush()
        with closing(sqlite3.connect(file.name)) as connection:
            connection.row_factory = sqlite3.Row
            for table in TABLES:
                row = dict(connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchone())
                found[table] = {key: value for key, value in row.items() if key != "id" and not key.endswith("_id")}
    return _json(found)


def _read_results(place: Path) -> None:
    """Everything that is asked of a results file."""
    config = make_config(BENCHMARK)
    with open_for_reading(results_path(place)) as opened:
        for experiment, _ in opened.experiments():
            opened.executions(experiment)
            opened.latest(experiment)
            for context in opened.contexts(experiment):
                recorded_coincidence(made.made_from for made in context.built)
            opened.current_captures(experiment)
            opened.build_failures(experiment, {"a": "capture-of-a"})
            opened.nodes(experiment)
        question = Question(config=config, project=place, systems=(), benchmarks=(), captures={}, host=None)
        analyse(select(question, opened), confidence=0.95, metrics=())


def _results_file(data: bytes, place: Path) -> None:
    path = results_path(place)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    _read_results(place)


def _results_rows(data: bytes, place: Path) -> None:
    """Rows with other values in them."""
    tree = tree_of(data)
    path = results_path(place)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(results())
    with closing(sqlite3.connect(path)) as connection:
        for table, row in tree.items() if isinstance(tree, dict) else ():
            for column, value in row.items() if isinstance(row, dict) and table in TABLES else ():
                kept = json.dumps(value) if isinstance(value, dict | list) else value
                try:
                    connection.execute(
                        f"UPDATE {table} SET {column} = ? WHERE rowid IN (SELECT rowid FROM {table} LIMIT 1)", (kept,)
                    )
                except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                    continue  # nothing that SQLite can hold there
        connection.commit()
    _read_results(place)


def _returned(data: bytes, place: Path) -> None:
    """The record of an execution, sealed and packed, as a node leaves it."""
    returned = ReturnedRecords(place, "run")
    name = record_key(slot_key(EXECUTION), EXECUTION.attempt)
    path = returned.path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = zlib.compress(data)
    path.write_bytes(sha256_bytes(packed).encode() + b"\n" + packed)
    take_record(returned, name, lambda _: None)


def _returned_raw(data: bytes, place: Path) -> None:
    returned = ReturnedRecords(place, "run")
    path = returned.path("key")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    returned.get("key")


def _returned_sample() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        returned = ReturnedRecords(Path(name), "run")
        returned.put("key", record_of(EXECUTION, {"cpus": 2}, {}))
        return returned.path("key").read_bytes()


def _agreed(data: bytes, place: Path) -> None:
    returned = ReturnedRecords(place, "run")
    (place / "processors").mkdir(exist_ok=True)
    (place / "processors/run-cpu.json").write_bytes(data)
    returned.agreed("cpu")


@cache
def staged() -> dict[str, Any]:
    """The parts of a bundle: contents by digest, the manifest, and what says of which build it is."""
    record = canonical_json(capture_record.to_json(capture()))
    link = b"content"
    files = [[path, digest, len(link), 0o644] for path, digest in sorted(capture().contents().items())] + [
        ["record.json", sha256_bytes(record), len(record), 0o644]
    ]
    manifest = {"schema": "layoutrand/bundle/1", "capture": capture().id, "files": sorted(files)}
    return {"contents": [record, link], "manifest": manifest}


def _shared(place: Path) -> SharedDirectory:
    """A new shared directory with the contents."""
    shutil.rmtree(place / "shared", ignore_errors=True)
    shared = SharedDirectory(place / "shared")
    for content in staged()["contents"]:
        shared.put(sha256_bytes(content), content)
    return shared


def _bundle(data: bytes, place: Path) -> None:
    """A manifest that is what its name says, of whatever files."""
    shared = _shared(place)
    shutil.rmtree(place / "cache", ignore_errors=True)
    digest = shared.put_manifest(data)
    import_capture(Cache(place / "cache"), shared, digest)


def _bundle_record(data: bytes, place: Path) -> None:
    """The record of a capture within a bundle whose digests are right."""
    shared = _shared(place)
    shutil.rmtree(place / "cache", ignore_errors=True)
    shared.put(sha256_bytes(data), data)
    manifest = {**staged()["manifest"]}
    manifest["files"] = [
        ["record.json", sha256_bytes(data), len(data), 0o644] if row[0] == "record.json" else row
        for row in manifest["files"]
    ]
    import_capture(Cache(place / "cache"), shared, shared.put_manifest(canonical_json(manifest)))
    inventory(shared.root)


def _carried(data: bytes, place: Path) -> None:
    shared = _shared(place)
    shutil.rmtree(place / "cache", ignore_errors=True)
    shared.put_manifest(canonical_json(staged()["manifest"]))
    shared.put_carried(data)
    import_system(Cache(place / "cache"), place / "shared", None)


def _carried_sample() -> bytes:
    bundle = sha256_bytes(canonical_json(staged()["manifest"]))
    known = {"capture": capture().id, "build_s": 1.0, "n_links": 1}
    return _json({"schema": "layoutrand/carried/1", "system": "a", "bundle": bundle, "key": "a" * 64, "known": known})


def _staged_result(data: bytes, place: Path) -> None:
    """A linked binary that waits to be collected, with a head that its seal fits."""
    shared = SharedDirectory(place)
    path = shared.result_path("c" * 64)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(hashlib.sha256(data).hexdigest().encode() + b"\n" + data + b"\n" + zlib.compress(b"content"))
    shared.result("c" * 64, None)


def _staged_raw(data: bytes, place: Path) -> None:
    shared = SharedDirectory(place)
    path = shared.result_path("c" * 64)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    shared.result("c" * 64, None)


def _content(data: bytes, place: Path) -> None:
    shared = SharedDirectory(place)
    path = shared.object_path(DIGEST)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    shared.get(DIGEST, 7)


def _staged_sample() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        shared = SharedDirectory(Path(name))
        shared.put_result(
            "c" * 64,
            {"sha256": DIGEST, "text_sha256": DIGEST, "link_s": 0.5, "system": "a", "verification": None},
            b"content",
        )
        return shared.result_path("c" * 64).read_bytes()


def _kept(data: bytes, place: Path) -> None:
    """What says what is kept of a build, with a digest that fits."""
    folder = place / "cache/builds" / ("e" * 64)
    for path in (folder, place / "base"):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    (folder / "contents").write_bytes(b"content")
    (folder / "files.json").write_bytes(data)
    build = replace(KEPT, files_sha256=sha256_bytes(data))
    (folder / "build.json").write_bytes(sealed({"schema": "layoutrand/kept-build/1", **vars(build)}))
    verify(Cache(place / "cache"))
    if (found := kept_tree(folder, build)) is not None:
        unpack_build(*found, place / "base")


KEPT = KeptBuild("e" * 64, "a", "capture", {}, "/base", 1.5, 2.5, {"/usr/lib": 5, "/none": None})
KEPT_FILES = PackedTree(
    (
        PackedPath("directory", "src", 0o755, 1),
        PackedPath("file", "src/a", 0o644, -1, (0, 0)),
        PackedPath("same", "src/b", other="src/a"),
        PackedPath("link", "src/c", other="../elsewhere"),
        PackedPath("left out", "src/d"),
    ),
    ((DIGEST, 7),),
)


def _kept_records(data: bytes, place: Path) -> None:
    """A tree in which somebody wrote to what was recorded of a link."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "build/0").mkdir(parents=True)
    (place / "build/0/inputs.tar").write_bytes(data)
    pack(place / "build", {}, place / "contents", is_wanted=lambda _: True, most=10 * len(data))


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in ("a.o", "b.o"):
            member = tarfile.TarInfo(name)
            member.size = len(b"content")
            archive.addfile(member, io.BytesIO(b"content"))
    return file.getvalue()


def _home(data: bytes, place: Path) -> None:
    (place / "home").mkdir(exist_ok=True)
    (place / "home.json").write_bytes(data)
    check_seal(place / "home")


def _id(data: bytes, place: Path) -> None:
    (place / ".layoutrand").mkdir(exist_ok=True)
    (place / ".layoutrand/id").write_bytes(data)
    project_id(place)


def _manifest(data: bytes, place: Path) -> None:
    del place
    parse_manifest(data, where="manifest")


TARGETS = (
    *(
        Target(
            f"cache, {name.partition('/')[0]}",
            _cached(name, fits=True),
            lambda make=make: (_json(make()),),
            "json",
            cost=4,
        )  # type: ignore[misc]
        for name, make in CACHED.items()
    ),
    *(
        Target(
            f"cache, {name.partition('/')[0]}, bytes",
            _cached(name, fits=False),
            lambda make=make: (sealed(make()),),
            "bytes",
            cost=4,
        )  # type: ignore[misc]
        for name, make in CACHED.items()
    ),
    Target("files that were written", _written_files, lambda: (WRITTEN,), "json"),
    Target("delta", _delta, lambda: (delta(), delta(checked=False)), "bytes"),
    Target("base of a delta", _against, lambda: (BASE,), "bytes"),
    Target("binary kept as a delta", _kept_as_delta, lambda: (_json(DELTA_RECORD),), "json", cost=10),
    Target("results file", _results_file, lambda: (results(),), "bytes", cost=20),
    Target("results rows", _results_rows, lambda: (rows(),), "json", cost=20),
    Target(
        "returned record",
        _returned,
        lambda: (_json(record_of(EXECUTION, {"cpus": 2}, {"stdout": b"x"})),),
        "json",
        cost=2,
    ),
    Target("returned record, bytes", _returned_raw, lambda: (_returned_sample(),), "bytes", cost=2),
    Target("agreement", _agreed, lambda: (b'{"cpu_model": "x"}',), "json", cost=2),
    Target("manifest", _manifest, lambda: (_json(staged()["manifest"]),), "json"),
    Target("bundle", _bundle, lambda: (_json(staged()["manifest"]),), "json", cost=10),
    Target("bundle's record", _bundle_record, lambda: (staged()["contents"][0],), "json", cost=10),
    Target("carried build", _carried, lambda: (_carried_sample(),), "json", cost=10),
    Target("staged result", _staged_result, lambda: (_staged_sample().split(b"\n")[1],), "json", cost=2),
    Target("staged result, bytes", _staged_raw, lambda: (_staged_sample(),), "bytes", cost=2),
    Target("staged content", _content, lambda: (zlib.compress(b"content"),), "bytes", cost=2),
    Target("kept build", _kept, lambda: (KEPT_FILES.to_json(),), "json", cost=4),
    Target("kept build's records", _kept_records, lambda: (_tar(),), "bytes", cost=4),
    Target("seal of a home", _home, lambda: (b"{}",), "json", cost=2),
    Target("project's word", _id, lambda: (b"0" * 32,), cost=2),
)
