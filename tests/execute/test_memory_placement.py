"""Heap and mappings of a program come to lie where they were drawn, and an execution that does not show it fails."""

from __future__ import annotations

import os
import subprocess

import pytest

from executekit import Kept, Project, compiled
from fakes import make_config
from layoutrand.config.conditions import HEAP_STEP, MAX_MEMORY_OFFSET, PAGE, Conditions
from layoutrand.errors import FeatureUnsupported, ToolNotFound
from layoutrand.execute.measure import measure
from layoutrand.execute.memory_placement import MemoryRecord, draw_heap_offset, draw_mmap_offset

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
BOTH = 'randomise = ["heap-offset", "mmap-offset"]\naslr = "off"'
SHOWS_ADDRESSES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  void *small = malloc(100), *large = malloc(1 << 20);
  printf("%lx %lx %lx\n", (unsigned long)small, (unsigned long)large, (unsigned long)sbrk(0));
  return 0;
}
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_offsets_are_pinned_for_ever():
    """Whoever cites a schedule seed gets these offsets from it again."""
    assert [draw_heap_offset(1, bytes([n])) for n in range(4)] == [1592448, 1952448, 1221968, 1393200]
    assert [draw_mmap_offset(1, bytes([n])) for n in range(4)] == [1159168, 4096, 1622016, 1875968]


def test_offsets_are_multiples_below_a_huge_page():
    heaps = [draw_heap_offset(1, str(n).encode()) for n in range(20_000)]
    mappings = [draw_mmap_offset(1, str(n).encode()) for n in range(20_000)]
    assert all(offset % HEAP_STEP == 0 and 0 <= offset < MAX_MEMORY_OFFSET for offset in heaps)
    assert set(mappings) == set(range(0, MAX_MEMORY_OFFSET, PAGE))
    assert {draw_mmap_offset(1, str(n).encode(), 16384) for n in range(5000)} == set(range(0, MAX_MEMORY_OFFSET, 16384))
    within_a_page = {offset % PAGE for offset in heaps}
    assert within_a_page == set(range(0, PAGE, HEAP_STEP))


def test_heap_and_mappings_lie_where_they_were_drawn(project):
    """Without the kernel's own randomisation addresses differ by what was drawn, and by nothing else."""
    config = make_config(WALL, systems=("a",), run=BOTH)
    executor = Kept()
    assert project.run(config, compiled(project, SHOWS_ADDRESSES), executor).failures == ()
    executions = sorted(project.executions(config), key=lambda each: each.order)
    addresses = [[int(word, 16) for word in printed.split()] for printed in executor.printed]
    heap = [each.conditions["heap_offset"] for each in executions]
    mappings = [each.conditions["mmap_offset"] for each in executions]
    assert len(set(heap)) == len(set(mappings)) == 3
    small = [address[0] - offset for address, offset in zip(addresses, heap, strict=True)]
    large = [address[1] + offset for address, offset in zip(addresses, mappings, strict=True)]
    assert len(set(small)) == 1
    assert len(set(large)) == 1


@pytest.mark.parametrize("name", ["heap-offset", "mmap-offset"])
def test_each_moves_alone_and_with_address_space_randomisation(project, name):
    config = make_config(WALL, systems=("a",), run=f'randomise = ["{name}"]')
    assert project.run(config, compiled(project, SHOWS_ADDRESSES), measure).failures == ()
    for execution in project.executions(config):
        assert {"heap_offset", "mmap_offset"} & execution.conditions.keys() == {name.replace("-", "_")}


def test_arguments_and_the_size_of_the_environment_are_the_same_for_all(project):
    executor = Kept()
    project.run(make_config(WALL, systems=("a",), run=BOTH), compiled(project, SHOWS_ADDRESSES), executor)
    assert len({command.argv for command in executor.commands}) == 1
    assert len({tuple(command.env.items()) for command in executor.commands}) == 1


def test_what_is_preloaded_already_stays(project):
    """As a user's malloc does."""
    own = project.root / "own.so"
    source = b'__attribute__((constructor)) static void say(void) { extern int puts(const char *); puts("own"); }'
    subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", own], input=source, check=True)
    config = make_config(WALL + f'env = {{LD_PRELOAD = "{own}"}}\n', systems=("a",), run=BOTH)
    executor = Kept()
    assert project.run(config, compiled(project, SHOWS_ADDRESSES, layouts=(1,)), executor).failures == ()
    assert executor.printed[0].startswith("own\n")


def test_the_heap_of_musl_is_in_use_before_anything_is_loaded(project):
    """Its dynamic linker allocates there itself; mappings can be moved."""
    binaries = compiled(project, SHOWS_ADDRESSES, compiler="musl-gcc")
    project.run(make_config(WALL, systems=("a",), run='randomise = ["heap-offset"]'), binaries, measure)
    config = make_config(WALL, systems=("a",), run='randomise = ["mmap-offset"]\naslr = "off"')
    executor = Kept()
    assert project.run(config, binaries, executor).failures == ()
    drawn = [each.conditions["mmap_offset"] for each in sorted(project.executions(config), key=lambda each: each.order)]
    assert len({int(text.split()[1], 16) + offset for text, offset in zip(executor.printed, drawn, strict=True)}) == 1
    heap = project.executions(make_config(WALL, systems=("a",), run='randomise = ["heap-offset"]'))
    assert {each.status for each in heap} == {"not-moved"}
    assert all(each.reason.endswith("its heap was in use before it could be moved") for each in heap)


def test_all_that_a_command_starts_is_moved(project):
    """And each process is proved: the shell, and the program that it starts."""
    text = '[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "\\"$0\\"; \\"$0\\"", "{artefact}"]\n'
    config = make_config(text, systems=("a",), run='randomise = ["heap-offset"]\naslr = "off"')
    executor = Kept()
    assert project.run(config, compiled(project, SHOWS_ADDRESSES, layouts=(1, 2)), executor).failures == ()
    first, second = (printed.split() for printed in executor.printed)
    drawn = [each.conditions["heap_offset"] for each in sorted(project.executions(config), key=lambda e: e.order)]
    assert int(first[0], 16) - int(second[0], 16) == drawn[0] - drawn[1]


@pytest.mark.parametrize("flags", [("-static",), ("-static-pie",)])
def test_a_static_program_is_an_error_before_anything_is_executed(project, flags):
    executor = Kept()
    with pytest.raises(FeatureUnsupported, match='"heap-offset".* prog is static'):
        project.run(make_config(WALL, systems=("a",), run=BOTH), compiled(project, SHOWS_ADDRESSES, *flags), executor)
    assert executor.commands == []


def test_a_static_program_behind_a_shell_is_an_error_too(project):
    text = '[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "\\"$0\\"", "{artefact}"]\n'
    with pytest.raises(FeatureUnsupported, match="prog is static"):
        project.run(make_config(text, systems=("a",), run=BOTH), compiled(project, SHOWS_ADDRESSES, "-static"))


def test_a_program_that_loads_nothing_before_itself_fails(project):
    """As one that begins anew without the variable: nothing shows where its memory was."""
    static = project.root / "static"
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", static], input=b"int main(void) { return 0; }", check=True)
    config = make_config(
        f'[[benchmarks]]\nname = "b"\ncommand = ["{static}", "{{artefact}}"]\n', systems=("a",), run=BOTH
    )
    project.run(config, compiled(project, SHOWS_ADDRESSES, layouts=(1,)), measure)
    (execution,) = project.executions(config)
    assert execution.status == "not-moved"
    assert "loaded no object before itself" in execution.reason
    assert list((project.path / execution.log).glob("memory.*")) == []


def test_a_program_that_takes_its_heap_before_it_can_be_moved_fails(project):
    """As under an object of the user's that is initialised before all others, too."""
    early = project.root / "early.so"
    source = b"__attribute__((constructor)) static void use(void) { extern void *sbrk(long); sbrk(100); }"
    words = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-Wl,-z,initfirst", "-o", early]
    subprocess.run(words, input=source, check=True)
    config = make_config(
        WALL + f'env = {{LD_PRELOAD = "{early}"}}\n', systems=("a",), run='randomise = ["heap-offset"]'
    )
    project.run(config, compiled(project, SHOWS_ADDRESSES, layouts=(1,)), measure)
    (execution,) = project.executions(config)
    assert execution.status == "not-moved"
    assert "in use before" in execution.reason


def test_without_a_compiler_nothing_is_executed(project, monkeypatch):
    binaries = compiled(project, SHOWS_ADDRESSES)
    monkeypatch.setenv("PATH", str(project.root))
    executor = Kept()
    with pytest.raises(ToolNotFound, match="cc or gcc or clang not found"):
        project.run(make_config(WALL, systems=("a",), run=BOTH), binaries, executor)
    assert executor.commands == []


def test_a_damaged_record_is_no_proof(project):
    config = make_config(WALL, systems=("a",), run=BOTH)

    def spoil(command):
        outcome = measure(command)
        command.stdout.with_name("memory.00").write_bytes(b"0\0" * 7 + os.urandom(3))
        return outcome

    project.run(config, compiled(project, SHOWS_ADDRESSES, layouts=(1,)), spoil)
    (execution,) = project.executions(config)
    assert execution.status == "not-moved"
    assert "cannot be read" in execution.reason


@pytest.mark.parametrize("command", ["env -i {artefact}", "LD_PRELOAD= {artefact}", "true {artefact}"])
def test_a_command_that_keeps_it_from_the_program_fails(project, command):
    """What the shell itself loaded proves nothing of the program."""
    words = ", ".join(f'"{word}"' for word in ("sh", "-c", command.replace("{artefact}", "$0"), "{artefact}"))
    text = f'[[benchmarks]]\nname = "b"\ncommand = [{words}]\n'
    project.run(make_config(text, systems=("a",), run=BOTH), compiled(project, SHOWS_ADDRESSES, layouts=(1,)), measure)
    (execution,) = project.executions(make_config(text, systems=("a",), run=BOTH))
    assert execution.status == "not-moved"
    assert "prog was not seen to load anything before itself" in execution.reason


def test_gaps_between_libraries_hold_nothing_back(project):
    """Two libraries that lie at multiples of 2 MiB leave a gap, into which a block of 150 KiB would come."""
    libraries = []
    for name in ("one", "two"):
        library = project.root / f"lib{name}.so"
        text = f"__attribute__((aligned(2097152))) char {name}[3 << 20] = {{1}};"
        words = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-Wl,-z,max-page-size=2097152", "-o", library]
        subprocess.run(words, input=text.encode(), check=True)
        libraries.append(str(library))
    flags = ("-x", "none", "-Wl,--no-as-needed", *libraries, f"-Wl,-rpath,{project.root}")
    binaries = compiled(project, SHOWS_ADDRESSES.replace("malloc(1 << 20)", "malloc(150 << 10)"), *flags)
    without = Kept()
    assert project.run(make_config(WALL, systems=("a",), run='aslr = "off"'), binaries, without).failures == ()
    config = make_config(WALL, systems=("a",), run='randomise = ["mmap-offset"]\naslr = "off"')
    executor = Kept()
    assert project.run(config, binaries, executor).failures == ()
    drawn = [each.conditions["mmap_offset"] for each in sorted(project.executions(config), key=lambda each: each.order)]
    large = [int(printed.split()[1], 16) for printed in executor.printed]
    assert len({address + offset for address, offset in zip(large, drawn, strict=True)}) == 1
    assert int(without.printed[0].split()[1], 16) > max(large) + (2 << 20)  # it was in the gap


def test_a_limit_for_files_is_the_programs_own(project):
    """What is noted of its memory counts for nothing there."""
    text = '[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "for k in 1 2 3 4 5; do \\"$0\\"; done", "{artefact}"]\n'
    config = make_config(f'{text}output_limit = "2KiB"\n', systems=("a",), run=BOTH)
    assert project.run(config, compiled(project, SHOWS_ADDRESSES, layouts=(1,)), measure).failures == ()


@pytest.mark.parametrize("name", ["a b", "a:b"])
def test_a_path_at_which_the_dynamic_linker_would_take_names_apart_is_an_error(tmp_path, name):
    (tmp_path / name).mkdir()
    project = Project(tmp_path / name)
    with pytest.raises(FeatureUnsupported, match="the path of the project has '[ :]'"):
        project.run(make_config(WALL, systems=("a",), run=BOTH), compiled(project, SHOWS_ADDRESSES))


def test_a_heap_ends_with_a_page_whatever_that_is():
    lines = ((0x20000, 0x28000, "rw-p", "[heap]"),)
    record = MemoryRecord(7, (0x20000, 0x24010), (0, 0), 0, 0, "/bin/a", lines)
    conditions = Conditions(heap_offset=0x4010)
    assert record.unproved(conditions, 16384) == ""
    assert record.unproved(conditions, 4096) == "its heap was in use before it could be moved"
