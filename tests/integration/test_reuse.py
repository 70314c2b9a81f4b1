"""What is built again and what is not, and whether `build --explain` says so, part by part."""

import json
import os
import subprocess

import pytest

from gitkit import commit, git, make
from layoutrand.build.build import all_layouts
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.reuse import explain_reuse, reuse_document
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect, collect_builds, collect_layouts
from layoutrand.errors import BuildFailed
from layoutrand.model import STOCK
from layoutrand.platform.process import SubprocessRunner
from overwrite import overwrite
from speeds import first_fast
from warningkit import said
from workshop import FILLER, main_calling, many_functions, whole

COMMAND = "echo built >> {log}; $CC -c main.c pad.c && $CC -o prog main.o pad.o"
TOOLCHAIN = 'name = "mine"\ndescription = "mine"\nextends = "gcc"\n'


class NoBuilds(SubprocessRunner):
    """Asks tools for their versions, and starts no build."""

    def run_logged(self, argv, **_rest):
        raise BuildFailed(f"{argv} was started")


@pytest.fixture
def shop(gnu):
    """A program of two files, and a log outside of it with a line for each build."""
    gnu.write(main__c=main_calling("pad0", "pad1"), pad__c=FILLER)
    (gnu.project / "mine.toml").write_text(TOOLCHAIN)
    return gnu


def configured(shop, *, command=COMMAND, systems=None, **changes):
    return shop.config(
        command.format(log=shop.project / "log"), systems=systems or {"sys": {"toolchain": "./mine.toml"}}, **changes
    )


def builds(shop):
    log = shop.project / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def built(shop, config, *, jobs=2):
    """Build seeds 1 and 2 of all systems with both controls."""
    results = shop.build_all(config, layouts=all_layouts([1, 2], controls=True), jobs=jobs)
    for result in results:
        whole(result)
    return results


def explained(shop, config, seeds=(1, 2)):
    """System -> explanation; nothing is built, and the document can be written as JSON."""
    before = builds(shop)
    progress = BuildProgress(shop.said.append, lambda: None)
    setup = BuildSetup.of(config, shop.project, Cache(shop.cache), NoBuilds(), progress)
    found = explain_reuse(setup, list(config.systems), all_layouts(list(seeds), controls=True))
    assert builds(shop) == before
    assert json.loads(json.dumps(reuse_document(found)))["schema"] == "layoutrand/explain/1"
    return {one.system: one for one in found}


def changed(verdict):
    """Part -> (was, now) of those that are not the same."""
    return {part.name: (part.was, part.now) for part in verdict.parts if part.change != "same"}


def test_before_the_first_build_all_is_to_build(shop):
    """Nothing is remembered, so there is nothing to compare with, and nothing is written."""
    one = explained(shop, configured(shop))["sys"]

    assert (one.capture.state, one.capture.reason) == ("to build", "no earlier build of this system is remembered")
    assert (one.stock.state, one.capture.compared_with, one.capture.files) == ("to build", None, None)
    assert [(b.artefact, b.cached, b.missing, b.reason) for b in one.binaries] == [
        ("prog", (), ("identity", 1, 2), "the capture must be made first"),
    ]
    assert not list((shop.cache / "captures").iterdir())


def test_what_was_built_is_reused(shop):
    """Without a change every part is the same; layouts that were not asked for before are missing."""
    config = configured(shop)
    [result] = built(shop, config)
    one = explained(shop, config, seeds=(1, 2, 3))["sys"]

    assert (one.capture.state, one.stock.state) == ("reused", "reused")
    assert one.capture.reason == "nothing it depends on changed since the latest build of this system"
    assert one.capture.capture.id == result.capture.id
    assert {part.change for part in one.capture.parts} == {"same"}
    assert {"source.digest", "commands", "flags.cflags", "tools.cc.sha256", "tools.ld.version", "toolchain.name"} <= {
        part.name for part in one.capture.parts
    }
    [binaries] = one.binaries
    assert (binaries.cached, binaries.damaged, binaries.missing) == (("identity", 1, 2), (), (3,))
    assert binaries.reason == "never made from this capture, or evicted"
    built(shop, config)
    assert builds(shop) == 2


def test_lists_of_files_are_dropped_with_the_builds_they_belong_to(shop):
    """`cache gc` keeps the list of files of each system's latest build, and of builds that are just being made."""
    for _ in range(2):
        built(shop, configured(shop))
        edit_source(shop)
    lists = sorted((shop.cache / "keys").glob("source-*.json"))
    collect(Cache(shop.cache), 10**12)
    young = sorted((shop.cache / "keys").glob("source-*.json"))
    for path in lists:
        os.utime(path, (1, 1))
    collect(Cache(shop.cache), 10**12)

    assert (len(lists), young) == (2, lists)
    assert len(list((shop.cache / "keys").glob("source-*.json"))) == 1
    (shop.source / "pad.c").write_text(FILLER)
    assert explained(shop, configured(shop))["sys"].capture.files.changed == ("pad.c",)


def edit_source(shop):
    (shop.source / "pad.c").write_text(FILLER + "int more(int x) { return x; }\n")
    (shop.source / "a é.txt").write_text("new")
    return {}


def edit_toolchain(shop):
    (shop.project / "mine.toml").write_text(TOOLCHAIN + '[link]\ndriver_flags = ["-Wl,-O1"]\n')
    return {}


def other_tool(shop):
    (shop.project / "mine.toml").write_text(TOOLCHAIN + '[tools]\nar = ["gcc-ar"]\n')
    return {}


CHANGES = {
    "source": (edit_source, {"source.digest"}),
    "commands": (lambda shop: {"command": COMMAND + " -lm"}, {"commands"}),
    "flags": (
        lambda shop: {"systems": {"sys": {"toolchain": "./mine.toml", "cflags": "-O1", "ldflags": "-lm"}}},
        {"flags.cflags", "flags.ldflags"},
    ),
    "env": (lambda shop: {"build": {"env": {"V": "1"}}}, {"env.V"}),
    "toolchain file": (edit_toolchain, {"toolchain.link.driver_flags"}),
    "tool": (other_tool, {"toolchain.tools.ar", "tools.ar.path", "tools.ar.sha256"}),
    "placement of data": (
        lambda shop: {"layout": {"factors": ["function-order", "data-order"]}},
        {"places_data", "section_flags"},
    ),
}


@pytest.mark.parametrize(("change", "parts"), first_fast(3, CHANGES.values()), ids=CHANGES.keys())
def test_each_part_of_the_key_is_named_when_it_changes(shop, change, parts):
    """The explanation names just the parts that differ, and the build that follows does what it said."""
    built(shop, configured(shop))
    config = configured(shop, **change(shop))
    one = explained(shop, config)["sys"]

    assert one.capture.state == "to build"
    assert set(changed(one.capture)) == parts
    assert (
        one.capture.reason
        == f"{len(parts)} of {len(one.capture.parts)} parts of its key changed since the latest build of this system"
    )
    built(shop, config)
    after = explained(shop, config)["sys"]
    assert (after.capture.state, after.stock.state, set(changed(after.capture))) == ("reused", "reused", set())


def test_inherited_variables_are_named(shop, monkeypatch):
    """A variable that reaches the build from outside is a reason, too."""
    monkeypatch.delenv("CFLAGS", raising=False)
    config = configured(shop)
    built(shop, config)
    monkeypatch.setenv("CFLAGS", "-g")

    assert changed(explained(shop, config)["sys"].capture) == {"inherited.CFLAGS": (None, "-g")}


def test_files_that_changed_are_named(shop):
    """New, changed and removed files of a source directory, whatever their names."""
    built(shop, configured(shop))
    edit_source(shop)
    (shop.source / os.fsdecode(b"caf\xe9.h")).write_text("x")
    built(shop, configured(shop))
    (shop.source / "a é.txt").unlink()
    (shop.source / "main.c").write_text(main_calling("pad1"))
    (shop.source / os.fsdecode(b"caf\xe9.h")).write_text("y")
    (shop.source / "new.txt").write_text("x")
    one = explained(shop, configured(shop))["sys"]

    assert one.capture.files.added == ("new.txt",)
    assert one.capture.files.removed == ("a é.txt",)
    assert sorted(one.capture.files.changed) == [os.fsdecode(b"caf\xe9.h"), "main.c"]
    assert reuse_document([one])["systems"][0]["capture"]["files"]["changed"] == ["caf\\xe9.h", "main.c"]


def test_what_was_built_before_the_latest_build_is_reused(shop):
    """Back at an older source nothing is built, though it is not what was built last."""
    old = (shop.source / "pad.c").read_text()
    config = configured(shop)
    built(shop, config)
    edit_source(shop)
    built(shop, config)
    (shop.source / "pad.c").write_text(old)
    (shop.source / "a é.txt").unlink()
    one = explained(shop, config)["sys"]

    assert (one.capture.state, one.capture.reason) == ("reused", "an earlier build had exactly this key")
    assert set(changed(one.capture)) == {"source.digest"}
    assert (one.capture.files.removed, one.capture.files.changed) == (("a é.txt",), ("pad.c",))
    before = builds(shop)
    built(shop, config)
    assert builds(shop) == before


def test_another_layout_policy_needs_links_and_no_build(shop):
    """A capture outlives a change of the policy; its binaries are missing, and the change is named."""
    built(shop, configured(shop))
    config = configured(shop, layout={"factors": ["module-order"]})
    one = explained(shop, config)["sys"]

    assert one.capture.state == "reused"
    [binaries] = one.binaries
    assert (binaries.cached, binaries.missing) == (("identity",), (1, 2))
    assert binaries.reason == (
        "the layout policy changed since the latest build of this system: layout.factors was ['function-order'], is ['module-order']"
    )


def evict(cache, capture, _binary):
    cache.drop_capture(capture.id)


def damage_capture(cache, capture, _binary):
    next((cache.capture_path(capture.id) / "0" / "root").rglob("*.o")).write_bytes(b"x")


def damage_record(cache, capture, _binary):
    (cache.capture_path(capture.id) / "capture.json").write_bytes(b"{}")


def lose_key(cache, _capture, _binary):
    for path in (cache.root / "keys").iterdir():
        if not path.name.startswith(("latest-", "source-")):
            path.unlink()


DAMAGE = {
    "evicted": (evict, "it was captured, but is no longer in the cache (evicted, or damaged)"),
    "damaged": (damage_capture, "it was captured, but is damaged on disk ("),
    "damaged record": (damage_record, "it was captured, but is no longer in the cache (evicted, or damaged)"),
    "key gone": (lose_key, "nothing changed, but the record of its key is gone or damaged"),
}


@pytest.mark.parametrize(("damage", "reason"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_capture_that_is_lost_is_to_build(shop, damage, reason):
    """What happened to it is told, nothing it depends on changed; unless the build that gave it is kept."""
    config = configured(shop)
    [result] = built(shop, config)
    damage(Cache(shop.cache), result.capture, None)
    kept = explained(shop, config)["sys"].capture
    collect_builds(Cache(shop.cache), 0)
    one = explained(shop, config)["sys"]

    assert kept.state == "from a kept build"
    assert kept.reason.startswith(reason)
    assert one.capture.state == "to build"
    assert one.capture.reason.startswith(reason)
    assert changed(one.capture) == {}


def test_layouts_that_were_evicted_are_the_same_again(shop, tmp_path):
    """All but stock, whose file takes a build; a layout whose capture is gone stays."""
    config = configured(shop)
    [first] = built(shop, config)
    known = {binary.layout: binary.path.read_bytes() for binary in first.binaries}
    evicted = collect_layouts(Cache(shop.cache)).evicted
    assert {entry.kind for entry in evicted} == {"binary"}
    assert len(evicted) == len(known) - 1
    assert {binary.layout for binary in first.binaries if binary.path.exists()} == {STOCK}

    [again] = built(shop, config)
    assert {binary.layout: binary.path.read_bytes() for binary in again.binaries} == known
    assert {binary.layout for binary in again.binaries if binary.cached} == {STOCK}
    os.rename(Cache(shop.cache).capture_path(again.capture.id), tmp_path / "lost")
    assert collect_layouts(Cache(shop.cache)).evicted == ()


def test_damaged_and_missing_binaries_are_counted(shop):
    """Each layout is cached, damaged or missing; a stock binary is a build of its own."""
    config = configured(shop)
    [result] = built(shop, config)
    by_layout = {binary.layout: binary.path for binary in result.binaries}
    overwrite(by_layout[1], b"x")
    overwrite(by_layout[STOCK], b"x")
    one = explained(shop, config, seeds=(1, 2, 9))["sys"]

    [binaries] = one.binaries
    assert (binaries.cached, binaries.damaged, binaries.missing) == (("identity", 2), (1,), (9,))
    assert binaries.reason == "content on disk differs from its record; never made from this capture, or evicted"
    assert one.stock.state == "from a kept build"
    assert one.stock.reason.startswith("its binary is damaged on disk; the build of ")


def test_one_systems_error_stops_no_other(shop):
    """A system that cannot be judged is told with the reason, the others as always."""
    config = configured(shop, systems={"good": {}, "bad": {"toolchain": "no-such"}})
    found = explained(shop, config)

    assert (found["bad"].capture.state, found["good"].capture.state) == ("error", "to build")
    assert "no toolchain called 'no-such'" in found["bad"].capture.reason


@pytest.mark.slow
def test_rebuild_mode_is_explained_alike(shop):
    """There each layout is a build of its own, and the first one's record takes the capture's place."""
    config = configured(shop, build={"mode": "rebuild"})
    before = explained(shop, config)["sys"]
    built(shop, config)
    one = explained(shop, config, seeds=(1, 2, 3))["sys"]

    assert (before.capture.state, one.capture.state, one.stock.state) == ("to build", "reused", "reused")
    assert [(b.cached, b.missing) for b in one.binaries] == [(("identity", 1, 2), (3,))]


TWINS = {"a": {"cflags": "-O1"}, "b": {"cflags": "-O1"}, "c": {"cflags": "-O2"}}


def test_systems_with_equal_keys_build_once_even_at_the_same_time(shop):
    """Four builds at a time: two systems that are the same share capture and stock build, and that is said."""
    config = configured(shop, systems=TWINS)
    found = explained(shop, config)
    results = built(shop, config, jobs=4)

    assert [found[name].capture.shared_with for name in "abc"] == [("b",), ("a",), ()]
    assert builds(shop) == 4
    assert [result.capture.system for result in results] == ["a", "b", "c"]
    assert results[0].capture.id == results[1].capture.id != results[2].capture.id
    assert said(results[1].notes) == ("b: the same program as a, so they share a capture and its binaries",)
    assert results[0].notes == results[2].notes == ()


@pytest.mark.slow
def test_revisions_with_one_program_share_a_capture_and_keep_their_commits(gnu, tmp_path):
    """A revision that changes no code links to the same files; each system is recorded with its own commit."""
    repository = make(tmp_path / "repo", {"main.c": main_calling("pad0"), "pad.c": FILLER})
    git("tag", "old", cwd=repository)
    new = commit(repository, {"README": "more words\n"})
    old = git("rev-parse", "old", cwd=repository)
    text = gnu.toml(
        ["$CC -c main.c pad.c && $CC -o prog main.o pad.o"],
        build={"repo": str(repository)},
        systems={"old": {"rev": "old"}, "new": {"rev": "main"}},
    ).replace('source = "src"\n', "")
    from layoutrand.config.config import parse

    config = parse(text, path="x")
    for _again in range(2):
        results = built(gnu, config)
        assert [result.capture.source["commit"] for result in results] == [old, new]
        assert [result.capture.source["rev"] for result in results] == ["old", "main"]
        assert results[0].capture.id == results[1].capture.id
    commit(repository, {"pad.c": FILLER + "int more;\n", "x": "x"})
    one = explained(gnu, config)["new"]
    assert changed(one.capture) == {"source.commit": (new, git("rev-parse", "main", cwd=repository))}
    assert (one.capture.files.added, one.capture.files.changed) == (("x",), ("pad.c",))


@pytest.mark.slow
def test_a_build_says_why_it_is_made_again_before_it_is(shop):
    """By names of files and by flags; nothing where it is the first, or nothing is to be made."""
    config = configured(shop)
    built(shop, config)
    built(shop, config)
    again = [text for text in shop.said if "again" in text]
    (shop.source / "pad.c").write_text(FILLER + "int more;\n")
    (shop.source / "notes").write_text("x")
    built(shop, config)
    built(shop, configured(shop, systems={"sys": {"toolchain": "./mine.toml", "cflags": "-O1"}}))

    assert again == []
    assert [text for text in shop.said if "again" in text] == [
        "sys: built again: changed: pad.c, added: notes",
        'sys: built again: flags.cflags: was "-O2", now "-O1"',
    ]
    last = max(number for number, text in enumerate(shop.said) if text.startswith("sys: instrumented build ("))
    assert shop.said.index("sys: built again: changed: pad.c, added: notes") < last


def test_where_archives_may_move_is_another_capture_of_the_same_link(gnu, tmp_path):
    """What is cached of the one is not taken for the other: the same files are linked by the same line."""
    (tmp_path / "l.c").write_text(many_functions(6, prefix="l_"))
    flags = ["-O1", "-ffunction-sections", "-c", "l.c"]
    for words in (["gcc", *flags], ["ar", "rcs", "libl.a", "l.o"]):
        subprocess.run(words, cwd=tmp_path, check=True)
    gnu.write(main__c=main_calling("l_0", "u_0"), u__c=many_functions(6, prefix="u_"))
    command = f"$CC -o prog main.c u.c {tmp_path}/libl.a"

    stays, moves, again = (
        gnu.built(command, seeds=[1, 2], layout={"archives": which}) for which in ("built", "all", "built")
    )

    pinned = [
        {section.pinned for section in made.result.capture.links[0].sections if "libl.a" in section.object}
        for made in (stays, moves, again)
    ]
    assert pinned == [{True}, {False}, {True}]
    texts = [[made.seeded[seed].text_sha256 for seed in (1, 2)] for made in (stays, moves, again)]
    assert texts[0] == texts[2] and not {*texts[0]} & {*texts[1]}
    assert stays.result.capture.id == again.result.capture.id != moves.result.capture.id
