"""Text of programs comes to lie on huge pages where that is set, and an execution that does not show it fails."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import pytest

from executekit import Kept, Project, compiled
from fakes import make_binary, make_config
from layoutrand.errors import ConfigError, FeatureUnsupported, NoMeasurement
from layoutrand.execute import text_pages
from layoutrand.execute.experiment import current_experiment
from layoutrand.execute.measure import measure
from layoutrand.execute.text_pages import Segments, TextMoved, read_segments, read_text_moved
from layoutrand.host.huge_pages import huge_page_bytes, listed_huge, no_huge_pages
from layoutrand.platform.disk import sha256_file
from workshop import not_installed, require

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
TEXT = 'hugepages = "text"'
HUGE = 2 << 20
PACKAGES = {"gold": "binutils", "mold": "mold"}
LINKED_FOR_IT = "-Wl,-z,max-page-size=2097152"
SHOWS_ITS_TEXT = r"""
#include <stdio.h>
#include <string.h>
int main(void)
{
  FILE *file = fopen("/proc/self/smaps", "r");
  char line[4096];
  unsigned long low, high, huge, own = 0;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
      own = low <= (unsigned long)main && (unsigned long)main < high ? high - low : 0;
    if (own && sscanf(line, "AnonHugePages: %lu", &huge) == 1)
      printf("%lu %lu\n", own, huge << 10);
  }
  return 0;
}
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def gives():
    """A machine that has huge pages for those who ask."""
    why, _ = no_huge_pages()
    if why:
        pytest.skip(why)


def linked(project, *flags, source=SHOWS_ITS_TEXT, **more):
    return compiled(project, source, "-x", "none", LINKED_FOR_IT, *flags, **more)


def there_is(linker):
    if linker in PACKAGES:
        require(f"ld.{linker}", PACKAGES[linker])


@pytest.mark.usefixtures("gives")
@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",), ("-fuse-ld=gold",), ("-fuse-ld=mold",)])
def test_text_lies_on_huge_pages(project, flags):
    """As the program itself sees it, and as is recorded."""
    for flag in flags:
        there_is(flag.removeprefix("-fuse-ld="))
    config = make_config(WALL, systems=("a",), run=TEXT)
    executor = Kept()
    assert project.run(config, linked(project, *flags), executor).failures == ()
    assert executor.printed == [f"{HUGE} {HUGE}\n"] * 3
    for execution in project.executions(config):
        assert execution.conditions["hugepages"] == "text"
        assert execution.conditions["text_on_huge_pages"] == {"prog": HUGE}


@pytest.mark.usefixtures("gives")
def test_lld_does_so_too(project):
    if shutil.which("ld.lld-19") is None:
        pytest.skip(not_installed("ld.lld-19", "lld-19"))
    config = make_config(WALL, systems=("a",), run=TEXT)
    executor = Kept()
    binaries = linked(project, "-fuse-ld=lld", compiler="clang-19")
    assert project.run(config, binaries, executor).failures == ()
    assert executor.printed == [f"{HUGE} {HUGE}\n"] * 3


@pytest.mark.usefixtures("gives")
def test_text_of_several_huge_pages_lies_on_all_of_them(project):
    large = '__asm__(".text\\n.fill 4194304, 1, 0x90");' + SHOWS_ITS_TEXT
    config = make_config(WALL, systems=("a",), run=TEXT)
    executor = Kept()
    assert project.run(config, linked(project, source=large, layouts=(1,)), executor).failures == ()
    assert executor.printed == [f"{3 * HUGE} {3 * HUGE}\n"]


@pytest.mark.usefixtures("gives")
def test_without_the_setting_nothing_is_loaded(project):
    config = make_config(WALL, systems=("a",))
    executor = Kept()
    assert project.run(config, linked(project, layouts=(1,)), executor).failures == ()
    assert executor.printed[0].split()[1] == "0"
    assert all("LD_PRELOAD" not in command.env for command in executor.commands)
    assert not {"hugepages", "text_on_huge_pages"} & project.executions(config)[0].conditions.keys()


@pytest.mark.usefixtures("gives")
def test_it_goes_with_moved_heap_and_mappings(project):
    config = make_config(WALL, systems=("a",), run=f'{TEXT}\nrandomise = ["heap-offset", "mmap-offset"]\naslr = "off"')
    executor = Kept()
    assert project.run(config, linked(project), executor).failures == ()
    assert executor.printed == [f"{HUGE} {HUGE}\n"] * 3
    wanted = {"heap_offset", "mmap_offset", "hugepages", "text_on_huge_pages"}
    assert all(wanted <= execution.conditions.keys() for execution in project.executions(config))


@pytest.mark.usefixtures("gives")
def test_libraries_among_the_artefacts_are_moved_too(project):
    """And a program of which the library is not linked for it is an error before anything is executed."""
    config = make_config(WALL, systems=("a",), run=TEXT)
    config = config.model_copy(update={"build": config.build.model_copy(update={"artefacts": ["prog", "lib.so"]})})
    library = project.root / "lib.so"
    source = b"int answer(void) { return 42; }"
    programs = None
    for flags in ([LINKED_FOR_IT], []):
        words = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", library, "-Wl,-soname,lib.so", *flags]
        subprocess.run(words, input=source, check=True)
        if programs is None:
            text = SHOWS_ITS_TEXT.replace("return 0", "extern int answer(void); return answer() - 42")
            programs = linked(project, str(library), source=text, layouts=(1,))
        binaries = [*programs, beside(project, library)]
        if flags:
            assert project.run(config, binaries, measure).failures == ()
            (execution,) = project.executions(config)
            assert execution.conditions["text_on_huge_pages"] == {"prog": HUGE, "lib.so": HUGE}
        else:
            with pytest.raises(FeatureUnsupported, match=r"lib\.so of a in layout 1 may lie anywhere"):
                project.run(config, binaries, measure)


def beside(project, library):
    """The library as an artefact of its own, beside the program."""
    path = project.root / "cache/lib/lib.so"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, path)
    binary = make_binary(project.root / "other", "a", 1, "")
    return replace(binary, artefact="lib.so", path=path, sha256=sha256_file(path))


@pytest.mark.usefixtures("gives")
@pytest.mark.parametrize("linker", ["bfd", "gold", "mold"])
def test_a_program_that_is_linked_as_usual_is_an_error_that_says_how_to_link_it(project, linker):
    there_is(linker)
    executor = Kept()
    with pytest.raises(FeatureUnsupported, match=rf"prog of a in layout 1 may lie .*{LINKED_FOR_IT}"):
        project.run(
            make_config(WALL, systems=("a",), run=TEXT),
            compiled(project, SHOWS_ITS_TEXT, f"-fuse-ld={linker}"),
            executor,
        )
    assert executor.commands == []


@pytest.mark.usefixtures("gives")
def test_one_at_a_fixed_address_beside_its_data_is_an_error_too(project):
    binaries = compiled(project, SHOWS_ITS_TEXT, "-no-pie")
    with pytest.raises(FeatureUnsupported, match="has something else within the huge pages of its text"):
        project.run(make_config(WALL, systems=("a",), run=TEXT), binaries, measure)


@pytest.mark.usefixtures("gives")
def test_each_layout_is_looked_at(project):
    good = linked(project, layouts=(1, 2))
    bad = compiled(project, SHOWS_ITS_TEXT, layouts=(3,))
    with pytest.raises(FeatureUnsupported, match="prog of a in layout 3"):
        project.run(make_config(WALL, systems=("a",), run=TEXT), [*good, *bad], measure)


@pytest.mark.usefixtures("gives")
def test_a_static_program_is_an_error_before_anything_is_executed(project):
    executor = Kept()
    with pytest.raises(FeatureUnsupported, match='there is run.hugepages = "text", which .* prog is static'):
        project.run(make_config(WALL, systems=("a",), run=TEXT), linked(project, "-static"), executor)
    assert executor.commands == []


@pytest.mark.usefixtures("gives")
def test_a_command_that_names_no_artefact_is_an_error(project):
    config = make_config(WALL.replace("{artefact}", "true"), systems=("a",), run=TEXT)
    with pytest.raises(FeatureUnsupported, match="does not say by {artefact} what that is"):
        project.run(config, linked(project, layouts=(1,)), measure)


@pytest.mark.usefixtures("gives")
@pytest.mark.parametrize("command", ["env -i {artefact}", "LD_PRELOAD= {artefact}", "true {artefact}"])
def test_a_command_that_keeps_it_from_the_program_fails(project, command):
    words = ", ".join(f'"{word}"' for word in ("sh", "-c", command.replace("{artefact}", "$0"), "{artefact}"))
    config = make_config(f'[[benchmarks]]\nname = "b"\ncommand = [{words}]\n', systems=("a",), run=TEXT)
    project.run(config, linked(project, layouts=(1,)), measure)
    (execution,) = project.executions(config)
    assert execution.status == "not-moved"
    assert "prog was not seen to load anything before itself" in execution.reason


@pytest.mark.usefixtures("gives")
def test_where_the_kernel_gives_none_the_execution_fails(project):
    """As to a program that may have none: prctl(PR_SET_THP_DISABLE) goes over to what is started."""
    source = b"#include <sys/prctl.h>\n#include <unistd.h>\nint main(int n, char **v) { prctl(41, 1, 0, 0, 0); execv(v[1], v + 1); return 1; }"
    without = project.root / "without"
    subprocess.run(["gcc", "-x", "c", "-", "-o", without], input=source, check=True)
    config = make_config(
        f'[[benchmarks]]\nname = "b"\ncommand = ["{without}", "{{artefact}}"]\n', systems=("a",), run=TEXT
    )
    project.run(config, linked(project, layouts=(1,)), measure)
    (execution,) = project.executions(config)
    assert execution.status == "not-moved"
    assert "text of prog lies on 0 KiB of huge pages" in execution.reason
    assert "text_on_huge_pages" not in execution.conditions


@pytest.mark.parametrize(
    ("text", "layout"),
    [('[suite]\nkind = "dacapo"\njar = "x.jar"\n', ""), (WALL, '\n[layout]\nfactors = ["heap-base"]\n')],
)
def test_what_starts_programs_itself_is_an_error_in_the_file(text, layout):
    with pytest.raises(ConfigError, match='run.hugepages: "text" cannot go with'):
        make_config(text, systems=("a",), run=TEXT + layout)


def test_it_is_part_of_what_an_experiment_is():
    listed = [json.loads(current_experiment(make_config(WALL, run=run)).randomise) for run in ("", TEXT)]
    assert listed == [[], ["hugepages-text"]]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "has no transparent huge pages"),
        ({"enabled": "always madvise [never]", "hpage_pmd_size": "2097152"}, "are switched off"),
        ({"enabled": "always [madvise] never"}, "has no transparent huge pages"),
        ({"enabled": "always [madvise] never", "hpage_pmd_size": "2097151"}, "has no transparent huge pages"),
        ({"enabled": "always [madvise] never", "hpage_pmd_size": "2097152"}, ""),
        ({"enabled": "[always] madvise never", "hpage_pmd_size": "33554432"}, ""),
    ],
)
def test_a_machine_says_whether_it_has_any(tmp_path, files, said):
    place = tmp_path / "sys/kernel/mm/transparent_hugepage"
    place.mkdir(parents=True)
    for name, content in files.items():
        (place / name).write_text(f"{content}\n")
    why, mend = no_huge_pages(tmp_path)
    assert said in why
    assert bool(why) == bool(mend) == bool(said)


def test_without_them_nothing_is_executed(project, monkeypatch):
    monkeypatch.setattr(text_pages, "no_huge_pages", lambda: ("are switched off", "switch them on"))
    executor = Kept()
    with pytest.raises(FeatureUnsupported, match='run.hugepages = "text": are switched off; switch them on'):
        project.run(make_config(WALL, systems=("a",), run=TEXT), linked(project, layouts=(1,)), executor)
    assert executor.commands == []


SMAPS = """10000-20000 r-xp 00000000 00:00 0
AnonHugePages:      2048 kB
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
"""


def test_huge_pages_of_what_is_large_are_counted():
    assert listed_huge(SMAPS, 4 << 20) == 2 << 20
    assert listed_huge(SMAPS, 8 << 20) == 0


@pytest.mark.parametrize(
    ("text", "other", "alignment", "obstacle"),
    [
        ([(0x200000, 0x201000)], [(0, 0x1000), (0x400000, 0x401000)], HUGE, ""),
        ([(0x200000, 0x400000)], [(0x400000, 0x401000)], HUGE, ""),
        ([(0x200000, 0x401000)], [(0x5FF000, 0x600000)], HUGE, "has something else"),
        ([(0x201000, 0x202000)], [(0x200000, 0x201000)], HUGE, "has something else"),
        ([(0x201000, 0x202000)], [(0x1FF000, 0x200000)], HUGE, ""),
        ([(0x200000, 0x201000)], [], 4096, "may lie anywhere"),
        ([], [(0, 0x1000)], HUGE, "has no text"),
    ],
)
def test_text_must_have_its_huge_pages_to_itself(text, other, alignment, obstacle):
    found = Segments(tuple(text), tuple(other), alignment, library=False, movable=True).obstacle(HUGE)
    assert obstacle in found
    assert bool(obstacle) == bool(found)


def test_what_is_no_program_has_no_segments(tmp_path):
    for data in (b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + bytes(58), b"\x7fELF\x01\x01" + bytes(58)):
        (tmp_path / "file").write_bytes(data)
        found = read_segments(tmp_path / "file")
        assert found is None or found.text == ()


def test_segments_are_those_that_readelf_lists(project):
    (binary,) = linked(project, layouts=(1,))
    found = read_segments(binary.path)
    lines = subprocess.run(["readelf", "-lW", binary.path], check=True, capture_output=True, text=True).stdout
    loads = [line.split() for line in lines.splitlines() if line.startswith("  LOAD")]
    texts = [(int(words[2], 16), int(words[5], 16)) for words in loads if "E" in words[6:-1]]
    assert found.text == tuple((at // 4096 * 4096, -(-(at + size) // 4096) * 4096) for at, size in texts)
    assert len(found.other) == len(loads) - len(texts)
    assert found.alignment == HUGE


TEXT_LINE = b"0555555600000-555555601000 r-xp 00200000 fe:00 7 /bin/prog\n"
MAPPED = b"m555555600000-555555800000 r-xp 00000000 00:00 0\n"


def test_a_record_says_what_became_of_text():
    moved = read_text_moved(TEXT_LINE, MAPPED + b"hAnonHugePages:      2048 kB\n")
    assert moved == TextMoved(
        (("0", 0x555555600000, 0x555555601000, "/bin/prog"),), ((0x555555600000, 0x555555800000, HUGE),)
    )
    assert moved.unproved() == ""
    assert moved.sizes() == {"prog": HUGE}


@pytest.mark.parametrize(
    ("texts", "huge", "said"),
    [
        (TEXT_LINE, b"", "lies on 0 KiB"),
        (TEXT_LINE, MAPPED + b"hAnonHugePages:         0 kB\n", "lies on 0 KiB"),
        (TEXT_LINE, MAPPED.replace(b"55800000", b"55a00000") + b"hAnonHugePages:      2048 kB\n", "lies on 2048 KiB"),
        (b"1" + TEXT_LINE[1:], b"", "something else lies within its huge pages"),
        (b"4" + TEXT_LINE[1:], b"", "may not be executed"),
    ],
)
def test_a_record_that_shows_less_is_no_proof(texts, huge, said):
    assert said in read_text_moved(texts, huge).unproved()


@pytest.mark.parametrize(
    ("texts", "huge"), [(b"9" + TEXT_LINE[1:], b""), (b"0x", b""), (b"", b"x"), (b"", b"hAnonHugePages: 1 kB")]
)
def test_a_damaged_record_is_no_proof(texts, huge):
    with pytest.raises(NoMeasurement):
        read_text_moved(texts, huge)


def test_this_machine_says_a_size_that_is_a_power_of_two():
    size = huge_page_bytes()
    assert size is None or size & (size - 1) == 0
