"""The same seed is the same bytes: twice, elsewhere, and from a capture alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from layoutrand.cache.capture_record import Capture
from layoutrand.cache.store import Cache
from layoutrand.layout.order import draw
from layoutrand.link.code import Code
from layoutrand.link.relink import link_layout, verify
from layoutrand.linkers.toolbox import Tool
from layoutrand.platform.process import Completed, SubprocessRunner
from workshop import Built, Workshop, main_calling, many_functions, output

UNITS = {f"u{k}.c": many_functions(5, prefix=f"u{k}_") for k in range(3)}
ASSEMBLER = '.text\n.globl asm_f\n.type asm_f,@function\nasm_f: leal 7(%rdi),%eax\nret\n.size asm_f,.-asm_f\n.section .note.GNU-stack,"",@progbits\n'
COMMANDS = "$CC -g -c *.c && $CC -g -c asm.S && $AR rcs libu.a u0.o u1.o && $CC -g -o prog main.o u2.o asm.o libu.a"
PATHS = '#include <stdio.h>\nint where(int x) { return printf("%s:%d\\n", __FILE__, __LINE__) + x; }\n'


def fill(shop: Workshop) -> Workshop:
    """Units, an assembler file, debug information and a use of __FILE__."""
    shop.write_named(
        {
            **UNITS,
            "where.c": PATHS,
            "u2.c": UNITS["u2.c"] + '#include "where.c"\n',
            "asm.S": ASSEMBLER,
            "main.c": main_calling("u0_4", "u1_4", "u2_4", "asm_f", "where"),
        }
    )
    (shop.source / "where.c").rename(shop.source / "where.inc")
    (shop.source / "u2.c").write_text((shop.source / "u2.c").read_text().replace("where.c", "where.inc"))
    return shop


def digests(built: Built) -> dict[object, str]:
    """Whole-file hashes by layout."""
    return {name: binary.sha256 for name, binary in built.by_layout.items()}


def capture_of(built: Built) -> Capture:
    """The capture, which must be there."""
    assert built.result.capture is not None
    return built.result.capture


@pytest.fixture
def filled(shop: Workshop) -> Workshop:
    """A project with sources of several kinds."""
    return fill(shop)


@pytest.mark.slow
def test_building_twice_gives_the_same_bytes(filled: Workshop, tmp_path: Path) -> None:
    """Two captures of the same source in caches of their own have one id, and each seed the same bytes."""
    first = filled.built(COMMANDS)
    elsewhere = Workshop(filled.project, tmp_path / "another place" / "with a longer name", filled.linker)
    second = elsewhere.built(COMMANDS)
    assert not second.result.cached
    assert capture_of(first).id == capture_of(second).id
    assert digests(first) == digests(second)


@pytest.mark.slow
def test_another_project_directory_gives_the_same_bytes(filled: Workshop, tmp_path: Path) -> None:
    """Where the project lies enters nothing."""
    first = filled.built(COMMANDS)
    moved = fill(Workshop(tmp_path / "somewhere" / "else" / "entirely", tmp_path / "cache2", filled.linker))
    assert digests(first) == digests(moved.built(COMMANDS))


@pytest.mark.slow
def test_seeds_do_not_depend_on_their_company(filled: Workshop, tmp_path: Path) -> None:
    """A seed linked alone, with one job, has the bytes it has among others linked side by side."""
    together = digests(filled.built(COMMANDS, seeds=range(1, 6)))
    alone = Workshop(filled.project, tmp_path / "cache2", filled.linker)
    assert digests(alone.built(COMMANDS, seeds=[4], controls=False, jobs=1)) == {4: together[4]}


def test_a_cached_build_links_nothing(filled: Workshop) -> None:
    """The second call finds everything; the source is not built again."""
    first = filled.built(COMMANDS)
    assert not first.result.cached
    filled.said.clear()
    second = filled.built(COMMANDS)
    assert second.result.cached
    assert all(binary.cached for binary in second.result.binaries)
    assert digests(first) == digests(second)
    assert filled.said == []


class OfAnHour(SubprocessRunner):
    """Says of every program that it took an hour."""

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """Run it."""
        return replace(super().run(argv, cwd=cwd, env=env), seconds=3600.0)


def test_new_seeds_need_the_capture_alone(filled: Workshop) -> None:
    """With the capture in the cache further seeds are linked without building."""
    filled.built(COMMANDS, seeds=[1])
    filled.said.clear()
    more = filled.built(COMMANDS, seeds=[1, 2, 3])
    assert {binary.layout for binary in more.result.binaries if not binary.cached} == {2, 3}
    assert filled.said == []


@pytest.mark.slow
def test_a_changed_source_is_captured_anew(filled: Workshop) -> None:
    """An edit of one file leads to another capture and other binaries; undone, the first ones are back."""
    before = filled.built(COMMANDS)
    old = (filled.source / "u0.c").read_text()
    (filled.source / "u0.c").write_text(old.replace("return x * 3", "return x * 5"))
    changed = filled.built(COMMANDS)
    assert capture_of(changed).id != capture_of(before).id
    (filled.source / "u0.c").write_text(old)
    again = filled.built(COMMANDS)
    assert again.result.cached
    assert digests(again) == digests(before)


def test_relinking_after_the_source_is_gone(filled: Workshop, tmp_path: Path) -> None:
    """A capture holds all it needs: objects, archives, start files and libraries of the system."""
    built = filled.built(COMMANDS, seeds=[1, 2])
    capture = Cache(filled.cache).load_capture(capture_of(built).id)
    assert capture is not None
    shutil.rmtree(filled.project)
    link = capture.links[0]
    base = filled.cache / "captures" / capture.id / "0"
    layout = draw(link.sections, link.identity, name=2, factors=("function-order",), classes="keep")
    facts = capture.tools["ld"]
    ld = Tool(Path(facts["path"]), facts["version"], facts["sha256"])
    binary, seconds, _ = link_layout(OfAnHour(), ld, link, base, layout, scratch=tmp_path)
    with (base / "code.npz").open("rb") as file:
        linked = verify(binary, link, layout, Code.load(file), seconds, ld_version=ld.version)
    assert linked.sha256 == digests(built)[2]
    assert linked.link_s == 3600  # as the runner says, which knows what was waited for a turn


def test_relinking_after_the_cache_was_moved(filled: Workshop, tmp_path: Path) -> None:
    """A cache that was moved to another place links further seeds, with the bytes they would have had."""
    wanted = digests(filled.built(COMMANDS, seeds=[1, 2, 3]))
    shutil.rmtree(filled.cache / "binaries")
    target = tmp_path / "a moved" / "cache"
    target.parent.mkdir()
    filled.cache.rename(target)
    moved = Workshop(filled.project, target, filled.linker)
    built = moved.built(COMMANDS, seeds=[1, 2, 3])
    assert built.result.cached
    assert digests(built) == wanted


def test_a_capture_is_a_plain_record(filled: Workshop) -> None:
    """capture.json beside the captured files says what was linked, how and of what."""
    built = filled.built(COMMANDS, seeds=[1])
    capture = capture_of(built)
    folder = filled.cache / "captures" / capture.id
    table = json.loads((folder / "capture.json").read_text())
    assert table["schema"] == "layoutrand/capture/1"
    assert table["tools"]["ld"]["version"]
    for name in table["links"][0]["files"]:
        assert (folder / "0" / "root" / name).is_file()
        assert (folder / "0" / "edited" / name).is_file()
    assert "layoutrand: $ $CC -g -c *.c" in (folder / "build.log").read_text()


@pytest.mark.slow
def test_two_systems_of_equal_flags_share_one_capture(filled: Workshop) -> None:
    """The name of a system enters no key: equal builds are built once and their binaries are one."""
    config = filled.config(COMMANDS, systems={"one": {}, "two": {}, "other": {"cflags": "-O1"}})
    one, two, other = filled.build_all(config, layouts=["identity", 1])
    assert one.capture is not None and two.capture is not None and other.capture is not None
    assert one.capture.id == two.capture.id != other.capture.id
    assert [b.sha256 for b in one.binaries] == [b.sha256 for b in two.binaries]
    assert {b.system for b in two.binaries} == {"two"}
    assert sum("instrumented build" in line for line in filled.said) == 2


def test_programs_do_not_know_where_they_were_built(filled: Workshop) -> None:
    """No binary holds the path of the private copy, so its length shifts nothing."""
    built = filled.built(COMMANDS)
    for binary in built.by_layout.values():
        data = binary.path.read_bytes()
        assert str(filled.cache).encode() not in data
        assert b"where.inc:2" in output(binary.path)
