"""A build that has been made is not made again for another artefact of it, and what is captured is what it would be."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gokit
from layoutrand.build.build import all_layouts
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.reuse import explain_reuse
from layoutrand.cache.kept_builds import ROOM
from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect, collect_builds, entries
from layoutrand.model import IDENTITY, STOCK
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.process import Completed
from overwrite import overwrite
from startkit import layoutrand
from workshop import FILLER, AskedOnce, Workshop, main_calling, many_functions, only_error, programs_of, require, whole

COUNT = "echo built >> {log}; "
TWO = "$CC -c main.c pad.c && $CC -o prog main.o pad.o && $CC -o other pad.o main.o"


@pytest.fixture
def made(gnu):
    """A build of two programs, one of which has been captured; and its log, with a line for each build."""
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    whole(build(gnu))
    assert builds(gnu) == 2  # instrumented and stock
    return gnu


def configured(shop, *artefacts, command=TWO, **changes):
    log = shop.project / "log"
    return shop.config(COUNT.format(log=log) + command, artefacts=artefacts or ["prog"], **changes)


def build(shop, *artefacts, layouts=(STOCK, IDENTITY, 1), **changes):
    shop.said.clear()
    return shop.build(configured(shop, *artefacts, **changes), layouts=list(layouts))


def builds(shop):
    return len((shop.project / "log").read_text().splitlines())


def said_again(shop):
    return [text for text in shop.said if "again" in text]


def kept(shop):
    return [entry.path for entry in entries(Cache(shop.cache)) if entry.kind == "build"]


def test_another_artefact_is_captured_without_a_build(made):
    """Its stock binary, too; what was taken is said in a line for each of both builds, and that both are kept."""
    result = whole(build(made, "other"))

    assert builds(made) == 2
    assert {binary.artefact for binary in result.result.binaries} == {"other"}
    told = [text.split(" is kept")[0].rsplit(" ", 2)[0] for text in made.said if "needed" in text]
    assert sorted(told) == ["sys: no build is needed: that of", "sys: no stock build is needed: that of"]
    assert not said_again(made)
    assert result.path(STOCK).read_bytes() != result.path(IDENTITY).read_bytes()
    assert result.result.facts["artefacts"] == ["other"]
    assert verify(Cache(made.cache)) == []


def test_all_artefacts_together_and_in_another_order(made):
    both = build(made, "other", "prog")

    assert not both.failures
    assert [link.artefact for link in both.capture.links] == ["other", "prog"]
    assert builds(made) == 2


@pytest.mark.parametrize("layout", [{"factors": ["link-order"]}, {"archives": "all"}], ids=["factor", "archives"])
def test_what_is_captured_otherwise_of_the_same_build_needs_none(made, layout):
    """Neither changes a flag of a compiler."""
    assert not build(made, layouts=[STOCK, IDENTITY], layout=layout).failures
    assert builds(made) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"layout": {"factors": ["data-order"]}},
        {"system": {"cflags": "-O1"}},
        {"command": TWO + " -lm"},
        {"build": {"env": {"V": "1"}}},
    ],
    ids=["section flags", "flags", "commands", "env"],
)
def test_what_makes_another_build_needs_one(made, changes):
    assert not build(made, "other", layouts=[IDENTITY], **changes).failures
    assert builds(made) == 3


def test_another_source_needs_a_build(made):
    (made.source / "pad.c").write_text(FILLER + "int more(int x) { return x; }\n")
    whole(build(made, "other"))
    assert builds(made) == 4


def test_a_wrong_artefact_is_told_at_once_and_the_right_one_needs_no_build(gnu):
    """Also where the first guess was wrong: the build that it cost is not lost."""
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    first = only_error(build(gnu, "bench", layouts=[IDENTITY]))
    again = only_error(build(gnu, "benches", layouts=[IDENTITY]))

    assert "made no bench; is build.artefacts right? It linked: prog, other" in first
    assert "made no benches; is build.artefacts right? It linked: prog, other" in again
    assert Path(again.rsplit("Full log: ", 1)[1]).read_text().startswith("layoutrand: $ echo built")
    whole(build(gnu, "prog", layouts=[IDENTITY, 1]))
    assert builds(gnu) == 1


PROGRAMS = {
    "plain": "$CC -o plain main.o pad.o",
    "onestep": "$CC -o onestep main.c pad.c",
    "archive": "$CC -o archive main.o -L. -lpad",
    "thin": "$CC -o thin main.o $PWD/thin.a",
    "script": "$CC -o script main.o $PWD/script.ld",
    "shared": "$CC -o shared main.o -L$PWD/lib -lshared",
    "lib/libshared.so.1": "$CC -shared -o lib/libshared.so.1 -Wl,-soname,libshared.so.1 pic.o",
    "moved": "$CC -o moved.tmp main.o pad.o -Wl,-z,now && mv moved.tmp moved",
    "copied": "$CC -o copy.tmp pad.o main.o && install -m 755 copy.tmp copied",
    "alias": "$CC -o aliased main.o pad.o -Wl,-z,norelro && ln -s aliased alias",
    "hard": "$CC -o hardly pad.o main.o -Wl,-z,norelro && ln hardly hard",
    "removed": "cp pad.o gone.o && $CC -o removed main.o gone.o && rm gone.o",
    "replaced": "cp pad.o late.o && $CC -o replaced main.o late.o && cp main.o late.o",
    "mapped": "$CC -o mapped main.o pad.o -Wl,-Map=mapped.map,--cref",
    "versions": 'echo "{ global: main; local: *; };" > ver.sym && $CC -rdynamic -o versions main.o pad.o -Wl,--version-script=ver.sym',
    "a b/spaced": 'mkdir "a b" && cp main.o pad.o "a b" && (cd "a b" && $CC -o spaced main.o ../pad.o)',
    "here": "$CC -o here main.o pad.o -Wl,-rpath,$PWD/lib",
}
MANY = [
    "$CC -c main.c pad.c && $CC -fPIC -c -o pic.o pad.c && mkdir lib",
    'ar rcs libpad.a pad.o && ar rcsT thin.a "$PWD/pad.o" && echo "INPUT($PWD/pad.o)" > script.ld',
    PROGRAMS["lib/libshared.so.1"] + " && ln -s libshared.so.1 lib/libshared.so",
    *(command for name, command in PROGRAMS.items() if not name.startswith("lib/")),
]


WITH_PATHS = ("thin", "here")
"""What has the path of its own build in it, as no other build has."""


def captured(shop, artefact, out):
    """The capture of one of the programs; all of them are copied to the directory once they are built."""
    copies = f'for f in {" ".join(repr(name) for name in PROGRAMS)}; do cp "$f" "{out}/$(basename "$f")"; done'
    commands = [COUNT.format(log=shop.project / "log") + MANY[0], *MANY[1:], copies]
    shop.said.clear()
    [result] = shop.build_all(shop.config(commands, artefacts=[artefact]), layouts=[IDENTITY])
    assert not result.failures, [failure.error for failure in result.failures]
    return result.capture


def contents(shop, capture, *, but_paths):
    """Path -> content of all that was captured, with the path of a build made one; the record without its duration."""
    folder = Cache(shop.cache).capture_path(capture.id)
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    record = json.loads(found.pop("capture.json"))
    for name in ("build.log", "log.json"):
        del found[name]
    left_out = {"build_s", "seal", *(("id", "links") if but_paths else ())}
    place = re.compile(re.escape(os.fsencode(shop.cache)) + rb"/work/b[0-9a-f]{8}-[0-9]{7}-\w{8}")
    files = {name: place.sub(b"the build", data) for name, data in found.items() if name != "0/code.npz"}
    return files, {name: value for name, value in record.items() if name not in left_out}


@pytest.mark.parametrize(
    "artefact",
    [pytest.param(name, marks=() if name == "here" else pytest.mark.slow) for name in PROGRAMS],
)
def test_a_capture_of_a_kept_build_is_the_one_of_a_fresh_build(shop, tmp_path, artefact):
    """Byte for byte, whatever way the program was linked and what became of its inputs and output since."""
    (tmp_path / "out").mkdir()
    shop.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    fresh = Workshop(tmp_path / "project", tmp_path / "cach2", shop.linker)  # a path of the same length
    first = captured(shop, "plain" if artefact != "plain" else "moved", tmp_path / "out")
    taken = captured(shop, artefact, tmp_path / "out")
    assert builds(shop) == 1
    made = captured(fresh, artefact, tmp_path / "out")
    assert builds(shop) == 2

    but_paths = artefact in WITH_PATHS
    assert first.id != taken.id
    assert (taken.id == made.id) is not but_paths
    assert contents(shop, taken, but_paths=but_paths) == contents(fresh, made, but_paths=but_paths)


@pytest.mark.slow
def test_a_program_with_the_path_of_its_build_is_what_that_build_left(gnu, tmp_path):
    """It is put back where it was, and not beside."""
    out = tmp_path / "out"
    out.mkdir()
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    captured(gnu, "plain", out)
    taken = captured(gnu, "here", out)

    assert builds(gnu) == 1
    assert taken.links[0].original_sha256 == sha256_file(out / "here")


OTHERS = {
    "gcc-lto": (
        {"main.c": main_calling("pad0", "pad1"), "pad.c": FILLER, "more.c": main_calling("pad2")},
        "$CC -O2 -c main.c pad.c more.c && $CC -O2 -o one main.o pad.o && $CC -O2 -o two more.o pad.o",
        ("one", "two"),
    ),
    "go": (
        {
            "go.mod": "module two\n\ngo 1.21\n",
            "cmd/one/main.go": gokit.MAIN,
            "cmd/two/main.go": gokit.MAIN.replace("as planned", "otherwise"),
        },
        "go build -o . ./cmd/...",
        ("one", "two"),
    ),
    "rust": (
        {
            "Cargo.toml": '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/main.rs": 'fn main() { println!("{:?}", std::env::args().map(|s| s.len()).sum::<usize>()); }',
            "src/bin/other.rs": 'fn main() { println!("{:?}", std::env::args().rev().collect::<Vec<_>>()); }',
        },
        "cargo build --release",
        ("target/release/two", "target/release/other"),
    ),
}
OTHERS["clang-lto"] = OTHERS["clang-thinlto"] = OTHERS["gcc-lto"]


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", OTHERS)
def test_builds_of_other_compilers_are_kept_as_well(tmp_path, toolchain, monkeypatch):
    """What link-time optimisation made, what go was given, what cargo said: all is there when it is put back."""
    if toolchain == "go":
        gokit.go()
        for name, value in gokit.offline(tmp_path).items():
            monkeypatch.setenv(name, value)
    elif toolchain == "rust":
        require("cargo", "cargo")
    else:
        programs_of(toolchain)
    files, command, artefacts = OTHERS[toolchain]
    shop = Workshop(tmp_path / "project", tmp_path / "cache", chosen=toolchain)
    shop.write_named(files)
    factor = "linker-shuffle" if toolchain == "go" else "function-order"
    changes = {
        "command": command,
        "system": {"cflags": ""},
        "layouts": [STOCK, IDENTITY],
        "layout": {"factors": [factor]},
    }
    fresh = build(shop, artefacts[0], **changes)
    assert not fresh.failures, only_error(fresh)
    before = contents(shop, fresh.capture, but_paths=False)
    shutil.rmtree(shop.cache / "binaries")
    Cache(shop.cache).drop_capture(fresh.capture.id)
    taken = build(shop, artefacts[0], **changes)
    other = build(shop, artefacts[1], **changes)

    assert builds(shop) == 2
    assert not other.failures, only_error(other)
    assert taken.capture.id == fresh.capture.id != other.capture.id
    assert contents(shop, taken.capture, but_paths=False) == before
    assert [binary.sha256 for binary in taken.binaries] == [binary.sha256 for binary in fresh.binaries]


def test_nothing_that_is_done_with_a_build_that_is_put_back_reaches_what_is_kept(made):
    folders = kept(made)
    before = {path: path.read_bytes() for folder in folders for path in folder.iterdir()}
    whole(build(made, "other"))
    build(made, "none")

    assert len(folders) == 2
    assert {path: path.read_bytes() for folder in kept(made) for path in folder.iterdir()} == before
    assert not list((made.cache / "work").iterdir())


def test_what_was_evicted_is_built_again_and_it_is_said_why(made):
    evicted = collect_builds(Cache(made.cache), 0).evicted
    whole(build(made, "other"))

    assert len(evicted) == 2
    assert builds(made) == 4
    assert sorted(said_again(made)) == [
        'sys: built again: build.artefacts: was ["prog"], now ["other"]; the earlier build is not in the cache any more',
        "sys: its stock build is made again: the earlier build is not in the cache any more",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["contents", "files.json", "build.json"])
def test_a_damaged_one_is_never_used_and_is_mended(made, name):
    for folder in kept(made):
        data = (folder / name).read_bytes()
        overwrite(folder / name, data[:-20] + bytes(byte ^ 1 for byte in data[-20:]))
    damaged = verify(Cache(made.cache))
    whole(build(made, "other"))

    assert {entry.kind for entry, _ in damaged} == {"build"} and len(damaged) == 2
    assert builds(made) == 4
    assert len([text for text in said_again(made) if "the earlier build is damaged in the cache" in text]) == 2
    assert verify(Cache(made.cache)) == []
    assert not build(made, "prog", "other", layouts=[STOCK, IDENTITY]).failures
    assert builds(made) == 4


@pytest.mark.parametrize("change", ["replaced", "in place", "beside"])
def test_a_library_outside_that_is_another_by_now_needs_a_build(gnu, tmp_path, change):
    """The link cannot be repeated as it was; that the library is there at all is of no help."""
    library = tmp_path / "outside/libout.a"
    library.parent.mkdir()

    def make(text):
        (tmp_path / "out.c").write_text(text)
        for words in (["gcc", "-O1", "-ffunction-sections", "-c", "out.c"], ["ar", "rcs", "new.a", "out.o"]):
            subprocess.run(words, cwd=tmp_path, check=True)
        return (tmp_path / "new.a").read_bytes()

    library.write_bytes(make(many_functions(3, prefix="o_")))
    gnu.write(main__c=main_calling("pad0", "pad1", "o_0"), pad__c=FILLER)
    command = f"$CC -c main.c pad.c && for p in prog other; do $CC -o $p main.o pad.o -L{library.parent} -lout; done"
    whole(build(gnu, "prog", command=command))
    new = make(many_functions(4, prefix="o_"))
    if change == "in place":
        library.write_bytes(new)
    elif change == "replaced":
        library.with_name("new").write_bytes(new)
        library.with_name("new").replace(library)
    else:
        library.with_name("libout.so.1").write_bytes(new)  # anything in a directory that the linker searches
    whole(build(gnu, "other", command=command))

    assert builds(gnu) == 4
    assert len([text for text in said_again(gnu) if "is not as it was when the earlier build read it" in text]) == 2


def test_where_there_is_no_room_it_is_told_and_nothing_else_is_different(gnu, monkeypatch):
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    monkeypatch.setenv(ROOM, "1K")
    whole(build(gnu))
    first = [text for text in gnu.said if "not kept" in text]
    whole(build(gnu, "other"))

    why = f"it has more than {ROOM}, 1 KiB"
    assert sorted(first) == [
        f"sys: the {kind}build is not kept: {why}. Another artefact of it needs another build"
        for kind in ("", "stock ")
    ]
    assert f"sys: its stock build is made again: the earlier build is not kept: {why}" in gnu.said
    assert (builds(gnu), kept(gnu)) == (4, [])


def test_who_wants_none_kept_is_not_told_of_it(gnu, monkeypatch):
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    monkeypatch.setenv(ROOM, "0")
    whole(build(gnu))
    assert (kept(gnu), [text for text in gnu.said if "kept" in text]) == ([], [])


def test_a_room_that_is_none_is_an_error_before_anything_is_built(gnu, monkeypatch):
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    monkeypatch.setenv(ROOM, "much")
    assert only_error(build(gnu)).startswith(f"{ROOM} much: write a size such as 500M or 2G")
    assert not (gnu.project / "log").exists()


def test_the_oldest_go_where_there_are_too_many(made, monkeypatch):
    """Those of another system stay as long as there is room; what was used last is kept."""
    monkeypatch.setenv(ROOM, str(sum(entry.size for entry in entries(Cache(made.cache)) if entry.kind == "build")))
    before = kept(made)
    build(made, system={"cflags": "-O1"})

    assert len(kept(made)) == 2
    assert not set(before) & set(kept(made))


def test_the_list_says_what_was_captured_and_how_it_was_built(made):
    labels = {(entry.kind, entry.label[:24]) for entry in entries(Cache(made.cache)) if entry.kind != "binary"}
    assert labels == {
        ("capture", "sys: prog"),
        ("build", "sys capture: echo built "),
        ("build", "sys stock: echo built >>"),
    }


def test_gc_takes_kept_builds_before_all_else(made):
    cache = Cache(made.cache)
    for folder in kept(made):
        os.utime(folder / "build.json", (2**33, 2**33))  # used last of all
    total = sum(entry.size for entry in entries(cache))
    done = collect(cache, total - 1)

    assert [entry.kind for entry in done.evicted] == ["build"]
    assert {"build", "capture", "binary"} <= {entry.kind for entry in entries(cache)}
    assert {entry.label.partition(": ")[0] for entry in done.evicted} <= {"sys capture", "sys stock"}


def test_explain_says_it_beforehand(made):
    def explained(*artefacts):
        progress = BuildProgress(made.said.append, lambda: None)
        setup = BuildSetup.of(configured(made, *artefacts), made.project, Cache(made.cache), made.runner, progress)
        [one] = explain_reuse(setup, ["sys"], all_layouts([1], controls=True))
        return one

    one = explained("other")
    assert (one.capture.state, one.stock.state) == ("from a kept build", "from a kept build")
    assert one.capture.reason.endswith("is kept, so no build is needed")
    assert explained("prog").capture.state == "reused"
    collect_builds(Cache(made.cache), 0)
    one = explained("other")
    assert (one.capture.state, one.stock.state) == ("to build", "to build")
    assert one.capture.reason.endswith("; the earlier build is not in the cache any more")
    assert builds(made) == 2


@pytest.mark.slow
def test_several_may_want_a_build_at_the_same_time(made):
    """It is put back at one place, by one after the other."""
    wanted = [("other",), ("prog", "other"), ("other", "prog")]
    with ThreadPoolExecutor(len(wanted)) as pool:
        shops = [Workshop(made.project, made.cache) for _ in wanted]
        results = list(pool.map(lambda shop, names: build(shop, *names, layouts=[STOCK, IDENTITY]), shops, wanted))

    assert not [failure.error for result in results for failure in result.failures]
    assert [tuple(link.artefact for link in result.capture.links) for result in results] == wanted
    assert builds(made) == 2


@pytest.mark.parametrize("cflags", ["", "-O2"], ids=["no sections", "flags unheard"])
def test_who_has_mended_what_no_key_knows_of_gets_another_build(gnu, cflags):
    """What failed for a compiler past the wrappers is not told for ever of the build that was made then."""
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    how = gnu.project / "how"
    command = f". {how} && $COMPILE -c main.c pad.c && $CC -o prog main.o pad.o && $CC -o other pad.o main.o"
    changes = {"command": command, "system": {"cflags": cflags}}
    how.write_text("COMPILE=/usr/bin/gcc\n")
    failed = build(gnu, **changes)
    before = builds(gnu)
    other = build(gnu, "other", **changes)
    assert failed.failures and other.failures
    assert builds(gnu) == before == 2
    how.write_text("COMPILE=$CC\n")
    whole(build(gnu, **changes))

    assert builds(gnu) == (4 if cflags else 3)  # the stock build was as it should
    assert any("the earlier build did not give what is asked for" in text for text in said_again(gnu))


def test_who_has_installed_what_an_artefact_takes_gets_another_build(gnu):
    """No key knows what a build looks for; the same name asked again is asked of another build."""
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    library = gnu.project / "library"
    command = (
        f"$CC -c main.c pad.c && $CC -o prog main.o pad.o && if [ -e {library} ]; then $CC -o other pad.o main.o; fi"
    )
    missing = build(gnu, "other", command=command)
    library.touch()
    whole(build(gnu, "other", command=command))

    assert all("made no other" in failure.error for failure in missing.failures)
    assert builds(gnu) == 4
    assert len([text for text in said_again(gnu) if "the earlier build did not give what is asked for" in text]) == 2
    whole(build(gnu, "prog", command=command))
    assert builds(gnu) == 4


def test_what_is_kept_is_for_its_owner_alone(made):
    """A build writes into its tree what its environment told it."""
    assert [folder.stat().st_mode & 0o077 for folder in kept(made)] == [0, 0]


def test_a_build_is_taken_where_what_is_remembered_of_it_is_lost(made):
    """It says itself what it is; `cache verify --mend` removes damaged records."""
    for record in (made.cache / "keys").glob("kept-*.json"):
        record.write_bytes(b"damaged")
    assert {entry.kind for entry, _ in verify(Cache(made.cache))} == {"record"}
    whole(build(made, "other"))
    assert builds(made) == 2
    only_error(build(made, "none", layouts=[IDENTITY]))
    only_error(build(made, "none", layouts=[IDENTITY]))
    assert builds(made) == 3


@pytest.mark.slow
def test_builds_of_another_user_are_in_nobodys_way_and_stay(made, monkeypatch):
    """Who shares a cache can tell nothing of them, neither that they are damaged."""
    before, access = kept(made), os.access
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, mode: path not in before and access(path, mode))
        whole(build(made, "other"))
        assert builds(made) == 4
        assert len([text for text in said_again(made) if "the earlier build is another user's (" in text]) == 2
        told = [text for text in made.said if "build is not kept: another user's is there (" in text]
        assert len(told) == 2
        assert verify(Cache(made.cache)) == []
        assert collect_builds(Cache(made.cache), 0).evicted == ()
        assert kept(made) == before
    assert not build(made, "other", "prog").failures
    assert builds(made) == 4


def test_a_damaged_capture_is_captured_again_without_a_build(made):
    [result] = [whole(build(made)).result]
    next((Cache(made.cache).capture_path(result.capture.id) / "0/root").rglob("*.o")).write_bytes(b"x")
    again = whole(build(made, layouts=[IDENTITY, 2]))

    assert again.result.capture.id == result.capture.id
    assert builds(made) == 2
    assert verify(Cache(made.cache)) == []


def test_a_stock_program_that_is_no_program_needs_a_build(gnu):
    """Of stock builds programs and libraries alone are kept; in rebuild mode an artefact may be a script."""
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    command = TWO + " && printf '#!/bin/sh\\n' > script"
    changes = {"command": command, "build": {"mode": "rebuild"}, "layouts": [STOCK]}
    build(gnu, "prog", **changes)
    build(gnu, "other", **changes)
    assert builds(gnu) == 1
    result = build(gnu, "script", **changes)

    assert builds(gnu) == 2
    assert result.binaries[0].path.read_text() == "#!/bin/sh\n"
    assert any("of the earlier stock build programs and libraries alone are kept" in text for text in gnu.said)


def test_what_lies_where_a_killed_layoutrand_had_put_it_back_is_in_nobodys_way(made):
    records = [json.loads((folder / "build.json").read_text()) for folder in kept(made)]
    [base] = [record["base"] for record in records if record["variant"] == "capture"]
    Path(base, "src").mkdir(parents=True)
    Path(base, "src/prog").write_text("half")
    whole(build(made, "other"))

    assert builds(made) == 2
    assert not Path(base).exists()


def test_a_cache_that_was_moved_keeps_no_builds(made, tmp_path):
    """Links name files where the build was."""
    made.cache.rename(tmp_path / "moved")
    moved = Workshop(made.project, tmp_path / "moved")
    whole(build(moved, "other"))

    assert builds(moved) == 4
    assert any("the earlier build lay in" in text for text in said_again(moved))


def test_the_cache_and_the_directories_to_build_in_may_be_on_two_file_systems(
    gnu, tmp_path, monkeypatch, other_file_system
):
    """A makefile would not take the cache's path, so the build is in the system's temporary directory."""
    with tempfile.TemporaryDirectory(dir=other_file_system) as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        shop = Workshop(gnu.project, tmp_path / "a cache")
        gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
        whole(build(shop))
        whole(build(shop, "other"))
    assert builds(shop) == 2


def test_what_kept_builds_take_and_may_take_is_told_with_the_cache(made):
    env = {**os.environ, "LAYOUTRAND_CACHE": str(made.cache)}
    last = layoutrand("cache", "ls", env=env).stdout.splitlines()[-1]
    fewer = layoutrand("cache", "ls", env={**env, ROOM: "500M"}).stdout.splitlines()[-1]
    strange = layoutrand("cache", "ls", env={**env, ROOM: "much"})

    assert re.fullmatch(rf"of these [\d.]+ [KM]iB are kept builds, which may have 8\.00 GiB \({ROOM}\)", last)
    assert fewer.endswith(f"may have 500.0 MiB ({ROOM})")
    assert (strange.returncode, strange.stdout) == (2, "") and f"{ROOM} much" in strange.stderr


def test_a_build_in_the_users_tree_is_not_kept(gnu):
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    build(gnu, layouts=[IDENTITY], build={"in_place": True, "exclude": ["*.o", "prog", "other"]})
    assert kept(gnu) == []


class Interrupts(AskedOnce):
    """Linkers of captures end by the signal of Ctrl-C while it is ``on``."""

    on = True

    def run(self, argv, *, cwd, env):
        if self.on and "-o" in argv and os.path.basename(argv[0]).startswith("ld"):
            return Completed(-signal.SIGINT, b"", b"")
        return super().run(argv, cwd=cwd, env=env)


def test_a_build_whose_capture_was_interrupted_is_not_made_again(gnu):
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    gnu.runner = Interrupts()
    failed = build(gnu, layouts=[IDENTITY])
    assert "was stopped by SIGINT" in only_error(failed)
    assert builds(gnu) == 1

    gnu.runner.on = False
    assert not build(gnu, layouts=[IDENTITY]).failures
    assert builds(gnu) == 1
    assert not said_again(gnu)
