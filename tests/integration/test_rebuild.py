"""Rebuild mode: the user's own build once per layout, and what is proved of an artefact that is no linker's file."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import startkit
from layoutrand.build.build import SystemBuild
from layoutrand.build.claims import AS_LINKED, CODE, LOADED, NOT_COMPARABLE
from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect_layouts
from layoutrand.model import IDENTITY, STOCK
from speeds import first_fast
from warningkit import said
from workshop import Built, Workshop, in_order, main_calling, many_functions, only_error, output, require, whole

COMPILE = "$CC -c *.c && "
LINK = "$CC -o prog main.o u0.o u1.o"
PLAIN = COMPILE + LINK
NAMES = [f"u{unit}_{k}" for unit in range(2) for k in range(6)]
REBUILD = {"mode": "rebuild"}


@pytest.fixture
def units(shop: Workshop) -> Workshop:
    """A program of three files."""
    return with_units(shop)


@pytest.fixture
def gnu_units(gnu: Workshop) -> Workshop:
    """The same with GNU ld, where the linker makes no difference."""
    return with_units(gnu)


def with_units(shop: Workshop) -> Workshop:
    """Write the sources."""
    shop.write_named({f"u{k}.c": many_functions(6, prefix=f"u{k}_") for k in range(2)})
    shop.write(main__c=main_calling("u0_5", "u1_5"))
    return shop


def claims(built: Built) -> set[str]:
    """What is proved of the layouts that were built."""
    return {b.verification.post_processed for b in built.by_layout.values() if b.verification is not None}


def builds(shop: Workshop) -> list[str]:
    """The builds since the last call, as they were announced."""
    said = [line for line in shop.said if line.endswith("build")]
    shop.said.clear()
    return said


@pytest.mark.parametrize(
    ("commands", "changes"),
    [
        (PLAIN, {}),
        pytest.param(
            PLAIN,
            {"layout": {"factors": ["module-order", "function-order-in-module"], "classes": "mix"}},
            marks=pytest.mark.slow,
        ),
        pytest.param(COMPILE + "$LD -r -o all.o u0.o u1.o && $CC -o prog main.o all.o", {}, marks=pytest.mark.slow),
        pytest.param(
            COMPILE + "$AR rcs libu.a u0.o u1.o && $CC -g -o prog.tmp main.o -L. -lu && mv prog.tmp prog",
            {},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_same_seed_gives_the_same_bytes_in_both_modes(units: Workshop, commands: str, changes: dict) -> None:
    """Where nothing works on the file after its link, a rebuilt layout is the relinked one, byte for byte."""
    relinked = units.built(commands, seeds=[1, 2], **changes)
    rebuilt = units.built(commands, seeds=[1, 2], build=REBUILD, **changes)
    assert {name: b.sha256 for name, b in rebuilt.by_layout.items()} == {
        name: b.sha256 for name, b in relinked.by_layout.items()
    }
    assert claims(rebuilt) == {AS_LINKED}
    assert said(rebuilt.result.notes) == said(relinked.result.notes)
    assert rebuilt.result.capture.id != relinked.result.capture.id


@pytest.mark.parametrize(
    ("after", "claim"),
    [
        ("strip prog", LOADED),
        pytest.param("objcopy --add-section .signature=main.c prog", LOADED, marks=pytest.mark.slow),
        pytest.param(
            "objcopy --only-keep-debug prog prog.debug && strip prog && objcopy --add-gnu-debuglink=prog.debug prog",
            LOADED,
            marks=pytest.mark.slow,
        ),
        pytest.param("printf signature >> prog", LOADED, marks=pytest.mark.slow),
        pytest.param("sed -i s/u0_5/U0_5/ prog", CODE, marks=pytest.mark.slow),
        pytest.param("objcopy --rename-section .text=.code prog", CODE, marks=pytest.mark.slow),
        (
            "gzip -nc prog > packed && { printf '#!/bin/sh\\ntail -n +3 $0 | gunzip > $0.real; chmod +x $0.real; exec $0.real\\n\\n'; cat packed; } > new && chmod +x new && mv new prog",
            NOT_COMPARABLE,
        ),
    ],
)
def test_what_the_build_does_after_the_link(gnu_units: Workshop, after: str, claim: str) -> None:
    """What the whole build leaves is the binary; how much of the verified link is proved to be in it is recorded."""
    built = gnu_units.built(f"{PLAIN} -g && {after}", seeds=[1, 2, 3], build=REBUILD)
    printed = set(built.outputs().values())
    assert len(printed) == 1
    assert claims(built) == {claim}
    note = next(note for note in said(built.result.notes) if "after its link" in note)
    assert note.startswith("sys: prog is changed after its link (4 layouts): ")
    assert len({binary.sha256 for binary in built.by_layout.values()}) == 5
    again = gnu_units.built(f"{PLAIN} -g && {after}", seeds=[1, 2, 3], build=REBUILD)
    assert all(binary.cached for binary in again.by_layout.values())
    assert claims(again) == {claim}
    assert said(again.result.notes) == said(built.result.notes)


@pytest.mark.slow
def test_a_raw_image(gnu_units: Workshop) -> None:
    """objcopy -O binary leaves no ELF file: the code is found in it byte for byte."""
    built = gnu_units.built(f"{PLAIN} && objcopy -O binary prog image.bin", artefacts=["image.bin"], build=REBUILD)
    assert claims(built) == {CODE}
    assert built.path(STOCK).read_bytes()[:4] != b"\x7fELF"


@pytest.mark.slow
def test_firmware(gnu: Workshop) -> None:
    """Objects joined by ld -r, linked by a script of the build's own, converted into an image: the code of relink mode."""
    gnu.write_named(
        {
            "fw.ld": "ENTRY(_start)\nSECTIONS { . = 0x10000; .boot : { *(.text.boot) } .text : { *(.text .text.*) }\n"
            ".data : { *(.rodata* .data* .bss*) } /DISCARD/ : { *(.comment) *(.note*) *(.eh_frame) } }\n",
            "start.c": '__attribute__((section(".text.boot"))) void _start(void) { int f5(int); f5(3); for (;;) {} }\n',
            "f.c": many_functions(6, prefix="f"),
            "g.c": many_functions(6, prefix="g"),
        }
    )
    link = (
        "$CC -ffreestanding -fno-stack-protector -fno-pic -c start.c f.c g.c && $LD -r -o all.o f.o g.o && "
        "$LD -static -T fw.ld -o fw.elf start.o all.o"
    )
    image = link + " && objcopy -O binary fw.elf fw.bin && printf signed >> fw.bin"
    relinked = gnu.built(link, artefacts=["fw.elf"], seeds=[1, 2])
    rebuilt = gnu.built(image, artefacts=["fw.bin"], seeds=[1, 2], build=REBUILD)
    assert claims(rebuilt) == {CODE}
    for layout in (IDENTITY, 1, 2):
        assert rebuilt.by_layout[layout].text_sha256 == relinked.by_layout[layout].text_sha256
    assert rebuilt.path(1).read_bytes().endswith(b"signed")


@pytest.mark.slow
def test_the_programs_order_is_that_of_relink_mode_under_strip(units: Workshop) -> None:
    """Stripped in the build, the functions stand where relinking alone puts them: the code sections are equal."""
    relinked = units.built(PLAIN, seeds=[1, 2])
    rebuilt = units.built(PLAIN + " && strip prog", seeds=[1, 2], build=REBUILD)
    for seed in (1, 2):
        assert rebuilt.by_layout[seed].text_sha256 == relinked.by_layout[seed].text_sha256
    assert in_order(relinked.path(1), NAMES) != in_order(relinked.path(IDENTITY), NAMES)


@pytest.mark.slow
def test_an_artefact_that_does_not_depend_on_the_program(gnu_units: Workshop) -> None:
    """If all seeds give one file, they are twins whatever the links inside the builds looked like."""
    result = gnu_units.build(f"{PLAIN} && echo constant > prog", seeds=[1, 2], build=REBUILD)
    assert {binary.layout for binary in result.binaries} == {STOCK, IDENTITY}
    for failure in result.failures:
        message = failure.error
        assert "the same file as identity's, though the program linked inside the build has another layout" in message
        assert "prog does not contain that program, or a step after the link undoes its layout" in message


@pytest.mark.slow
def test_an_artefact_with_two_contents(gnu_units: Workshop) -> None:
    """Files that differ from identity's but not from each other are twins."""
    after = 'case $(nm -n prog | grep " T u0_" | head -1) in *u0_0) echo one > prog;; *) echo other > prog;; esac'
    result = gnu_units.build(f"{PLAIN} && {after}", seeds=[1, 2, 3], build=REBUILD, controls=False)
    assert len(result.binaries) == 1
    assert "the same file as of seed 1, though the program linked inside the build has another layout" in only_error(
        result
    )


def test_an_artefact_of_unknown_descent(gnu_units: Workshop) -> None:
    """A file with another name and none of the code is refused, and the links seen are named."""
    result = gnu_units.build(
        f"{PLAIN} && gzip -nc prog > firmware", artefacts=["firmware"], seeds=[1, 2], build=REBUILD
    )
    assert {binary.layout for binary in result.binaries} == {STOCK}
    message = next(failure.error for failure in result.failures if failure.layout == IDENTITY)
    assert "nothing shows that firmware comes from a program that was laid out in this build" in message
    assert "The links were: prog (laid out)" in message
    assert "Full log: " in message


@pytest.mark.slow
def test_one_layout_fails_and_the_others_go_on(gnu_units: Workshop) -> None:
    """A step of the build that fails with some layouts costs those alone; each names its reason and its own log."""
    check = "case $(nm -n prog | grep ' T u0_' | head -1) in *u0_[345]) echo too early >&2; exit 3;; esac"
    result = gnu_units.build(f"{PLAIN} && {check}", seeds=range(1, 6), build=REBUILD, controls=False)
    failed = {failure.layout for failure in result.failures}
    assert failed
    assert failed | {binary.layout for binary in result.binaries} == set(range(1, 6))
    assert result.binaries
    for failure in result.failures:
        assert f"system 'sys': the layout-{failure.layout} build exited with status 3" in failure.error
        assert "too early" in failure.error
        assert failure.log.name.startswith(f"build-sys-layout-{failure.layout}-")
    builds(gnu_units)
    again = gnu_units.build(f"{PLAIN} && {check}", seeds=range(1, 6), build=REBUILD, controls=False)
    assert {failure.layout for failure in again.failures} == failed
    assert sorted(builds(gnu_units)) == [f"sys: layout {seed}: build" for seed in sorted(failed)]


def test_layouts_that_each_take_a_build_are_not_evicted_as_layouts_of_a_capture(gnu_units: Workshop) -> None:
    """There is no capture that they could be made from."""
    gnu_units.built(PLAIN, seeds=[1], build=REBUILD, controls=False)
    assert collect_layouts(Cache(gnu_units.cache)).evicted == ()


def test_a_build_that_always_fails_is_tried_once(gnu_units: Workshop) -> None:
    """Thirty seeds of a build that cannot work cost one; every layout is a failure that says why."""
    result = gnu_units.build(f"{PLAIN} && exit 4", seeds=range(1, 31), build=REBUILD, controls=False)
    assert len(result.failures) == 30
    assert builds(gnu_units) == ["sys: layout identity: build"]
    message = only_error(result)
    assert message.startswith("not built, since identity, with which every layout is compared, failed: system 'sys'")
    assert "the layout-identity build exited with status 4" in message
    assert all(failure.log for failure in result.failures)
    assert "Full log" not in message  # whoever tells of it adds the log
    assert {failure.cause for failure in result.failures} == {result.failures[0].cause}
    assert result.failures[0].cause.startswith("the build exited with status 4")


@pytest.mark.slow
def test_another_program_each_time(gnu_units: Workshop) -> None:
    """A build that puts something else into the code each time makes no layouts of one program: refused."""
    gnu_units.write(stamp__c="int stamp(int x) { return x * STAMP; }\n", main__c=main_calling("u0_5", "u1_5", "stamp"))
    commands = COMPILE.replace("-c", "-c -DSTAMP=$((RANDOM * 32768 + RANDOM + 100000))") + LINK + " stamp.o"
    result = gnu_units.build(commands, seeds=[1, 2], build=REBUILD, controls=False, jobs=1)
    assert not result.binaries
    for failure in result.failures:
        assert "another program than identity's: .text.stamp of stamp.o has other code. Is the build" in failure.error
        assert f"layout-{failure.layout}" in failure.log.name


@pytest.mark.slow
def test_resumed_and_cached(gnu_units: Workshop) -> None:
    """What is there is not built again; more seeds cost one build each; a damaged binary or record is made again."""
    commands = PLAIN + " && strip prog"
    first = gnu_units.built(commands, seeds=[1, 2], build=REBUILD)
    assert not first.result.cached
    assert sorted(builds(gnu_units)) == [
        "sys: layout 1: build",
        "sys: layout 2: build",
        "sys: layout identity: build",
        "sys: stock build",
    ]
    second = gnu_units.built(commands, seeds=[1, 2, 3], build=REBUILD)
    assert second.result.cached
    assert builds(gnu_units) == ["sys: layout 3: build"]
    assert [b.layout for b in second.by_layout.values() if not b.cached] == [3]
    first.path(2).chmod(0o644)
    first.path(2).write_bytes(b"damaged")
    third = gnu_units.built(commands, seeds=[1, 2, 3], build=REBUILD)
    assert builds(gnu_units) == ["sys: layout 2: build"]
    assert "sys: the cached binary of prog, layout 2, was damaged; built again" in said(third.result.notes)
    cache = Cache(gnu_units.cache)
    assert verify(cache) == []
    cache.drop_capture(first.result.capture.id)
    fourth = gnu_units.built(commands, seeds=[1, 2, 3], build=REBUILD)
    assert builds(gnu_units) == ["sys: layout identity: build"]
    assert "sys: the record of identity's build was missing or damaged; it is built again" in said(fourth.result.notes)
    assert fourth.result.capture.id == first.result.capture.id
    assert {name: b.sha256 for name, b in fourth.by_layout.items()} == {
        name: b.sha256 for name, b in second.by_layout.items()
    }


@pytest.mark.slow
def test_several_artefacts_of_one_build(units: Workshop) -> None:
    """A program and the library it is linked with come from one build per layout, each laid out by itself."""
    commands = (
        "$CC -fPIC -shared -o libu.so u0.c u1.c -Wl,-soname,libu.so && strip libu.so && "
        "$CC -o prog main.c filler.c -L. -lu -Wl,-rpath,'$ORIGIN' && strip prog"
    )
    units.write(filler__c=many_functions(8, prefix="pad"))
    result = units.build(commands, artefacts=["prog", "libu.so"], seeds=[1, 2], build=REBUILD)
    assert not result.failures
    builds_made = builds(units)
    assert len(builds_made) == 4
    texts = {b.text_sha256 for b in result.binaries if isinstance(b.layout, int)}
    assert len(texts) == 4
    library = next(b for b in result.binaries if (b.artefact, b.layout) == ("libu.so", 1))
    program = next(b for b in result.binaries if (b.artefact, b.layout) == ("prog", 1))
    stock = next(b for b in result.binaries if (b.artefact, b.layout) == ("prog", STOCK))
    stock_library = next(b for b in result.binaries if (b.artefact, b.layout) == ("libu.so", STOCK))
    printed = [
        output(p.path, env={"LD_LIBRARY_PATH": str(so.path.parent)})
        for p, so in [(program, library), (stock, stock_library)]
    ]
    assert printed[0] == printed[1] != b""


@pytest.mark.slow
def test_the_warnings_of_relink_mode(gnu_units: Workshop) -> None:
    """Objects that move as one piece, and libraries of the build that do not move, are told in both modes."""
    gnu_units.write(filler__c=many_functions(8, prefix="pad"), old__c=many_functions(3, prefix="old"))
    commands = (
        "PATH=/usr/bin gcc -c old.c && $CC -fPIC -shared -o libu.so u0.c u1.c && "
        "$CC -o prog main.c filler.c old.o -L. -lu -Wl,-rpath,'$ORIGIN'"
    )
    relinked = gnu_units.build(commands, seeds=[1])
    rebuilt = gnu_units.build(commands, seeds=[1], build=REBUILD)
    cached = gnu_units.build(commands, seeds=[1], build=REBUILD)
    assert len(said(relinked.notes)) == 2
    assert "old.o" in said(relinked.notes)[0]
    assert "libu.so" in said(relinked.notes)[1]
    assert said(rebuilt.notes) == said(cached.notes) == said(relinked.notes)


@pytest.mark.slow
def test_links_that_are_no_artefacts(gnu_units: Workshop) -> None:
    """Configure trials, a tiny tool and a generator of source do what they did; only the artefact's link is repeated."""
    gnu_units.write_named(
        {
            "tool.c": '#include <stdio.h>\nint main(void) { puts("int generated(int x) { return x + 41; }"); return 0; }\n',
            "trial.c": "int main(void) { return 0; }\n",
        }
    )
    gnu_units.write(main__c=main_calling("u0_5", "u1_5", "generated"))
    commands = (
        "$CC -o conftest trial.c && $CC -o trial trial.c && ./trial && $CC -o tool tool.c && ./tool > generated.c && "
        "$CC -c main.c u0.c u1.c generated.c && $CC -o prog main.o u0.o u1.o generated.o && strip prog"
    )
    built = gnu_units.built(commands, seeds=[1, 2], build=REBUILD)
    built.assert_all_print_as_stock()
    assert built.result.capture.source["outputs"] == ["prog"]
    logs = [path.read_text() for path in (gnu_units.cache / "logs").glob("build-sys-layout-*")]
    assert logs
    assert not any("left as it was linked" in log for log in logs)  # nothing is put among what the build's tools say


@pytest.mark.slow
def test_an_output_with_another_name_each_time(gnu_units: Workshop) -> None:
    """A link under a temporary name is found by what it becomes."""
    built = gnu_units.built(
        COMPILE + "$CC -o out.$$ main.o u0.o u1.o && strip out.$$ && mv out.$$ prog", seeds=[1, 2], build=REBUILD
    )
    built.assert_all_print_as_stock()
    assert claims(built) == {LOADED}


def test_the_link_of_the_artefact_cannot_be_laid_out(gnu_units: Workshop) -> None:
    """The reason is that of relink mode, and no layout is handed out."""
    require("ld.gold", "binutils")
    result = gnu_units.build(f"{PLAIN} -fuse-ld=gold && strip prog", seeds=[1], build=REBUILD)
    assert {binary.layout for binary in result.binaries} == {STOCK}
    message = next(failure.error for failure in result.failures if failure.layout == IDENTITY)
    assert "its link was not laid out: prog was linked by /usr/bin/ld.gold, but toolchain 'gcc'" in message


def test_nothing_was_linked(gnu_units: Workshop) -> None:
    """A build round the wrappers is recognised in rebuild mode too."""
    message = next(
        failure.error
        for failure in gnu_units.build("PATH=/usr/bin:/bin; gcc -o prog *.c", seeds=[1], build=REBUILD).failures
        if failure.layout == 1
    )
    assert "no link of this build went through layoutrand's wrappers" in message


@pytest.mark.slow
def test_in_place(gnu_units: Workshop) -> None:
    """Built where the source is, one build after the other."""
    commands = "rm -f *.o prog && " + PLAIN + " && strip prog"
    built = gnu_units.built(commands, seeds=[1, 2], build={**REBUILD, "in_place": True, "exclude": ["*.o", "prog"]})
    built.assert_all_print_as_stock()


def test_relink_mode_proposes_rebuild_mode(gnu_units: Workshop) -> None:
    """A file changed or converted after its link is refused by relink mode with the way out."""
    stripped = gnu_units.build(PLAIN + " -Wl,--build-id=none && strip prog", seeds=[1])
    message = next(failure.error for failure in stripped.failures if failure.layout == 1)
    assert "--mode rebuild" in message
    packed = gnu_units.build(PLAIN + " && gzip -n prog", artefacts=["prog.gz"], seeds=[1])
    message = next(failure.error for failure in packed.failures if failure.layout == 1)
    assert "prog.gz is not an ELF file" in message
    assert "--mode rebuild" in message


CONFIG_TAIL = """
[[benchmarks]]
name = "count"
command = ["{artefact}"]
timeout_s = 30
"""


def layoutrand(shop: Workshop, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user would."""
    return startkit.layoutrand(*arguments, "-C", shop.project, env={**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)})


@pytest.mark.slow
def test_the_command_line(gnu_units: Workshop) -> None:
    """--mode wins over build.mode; run executes what it builds; results of the modes are never mixed; inspect works."""
    text = gnu_units.toml([PLAIN + " && [ -z ${STRIP-} ] || strip prog"], build={"mode": "rebuild"}) + CONFIG_TAIL
    (gnu_units.project / "layoutrand.toml").write_text(text)
    relinked = layoutrand(gnu_units, "run", "--seeds", "3", "--mode", "relink", "-q")
    assert relinked.returncode == 0, relinked.stderr
    assert "instrumented build" not in relinked.stderr
    rebuilt = layoutrand(gnu_units, "run", "--seeds", "4", "--json")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert json.loads(rebuilt.stdout)["executions"]
    analysed = layoutrand(gnu_units, "analyse", "--json")
    document = json.loads(analysed.stdout)
    assert {row["n_binaries"] for row in document["benchmarks"]} == {4}
    assert "other capture (" in analysed.stderr + analysed.stdout
    found = layoutrand(gnu_units, "inspect", "sys", "2", "--json")
    shown = json.loads(found.stdout)
    assert (shown["wrong_slots"], shown["post_processed"]) == (0, AS_LINKED)
    assert layoutrand(gnu_units, "build", "--mode", "relnk").returncode == 2


@pytest.mark.slow
def test_inspect_of_a_stripped_binary(gnu_units: Workshop) -> None:
    """The order is the one kept when the link was verified, equal to relink mode's, and that is said."""
    (gnu_units.project / "layoutrand.toml").write_text(gnu_units.toml([PLAIN + " && strip prog"]))
    found = layoutrand(gnu_units, "inspect", "sys", "2", "--mode", "rebuild", "--limit", "0")
    assert found.returncode == 0, found.stderr
    said = " ".join(found.stdout.split())
    assert "in exactly the order asked for" in said
    assert "read off the link inside the build; the file was changed after it: loaded contents as linked" in said
    shown = re.findall(r"^(u\d_\d) ", found.stdout, re.MULTILINE)
    plain = gnu_units.built(PLAIN, seeds=[2])
    assert shown == in_order(plain.path(2), NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("controls", first_fast(1, [True, False]))
def test_the_document(gnu_units: Workshop, controls: bool) -> None:
    """--json tells what is proved of each binary, and the capture that its results are kept under."""
    (gnu_units.project / "layoutrand.toml").write_text(gnu_units.toml([PLAIN + " && strip prog"]))
    extra = () if controls else ("--no-controls",)
    document = json.loads(layoutrand(gnu_units, "build", "--seeds", "2", "--mode", "rebuild", "--json", *extra).stdout)
    assert document["capture"]["source"]["mode"] == "rebuild"
    assert {b["seed"] for b in document["binaries"]} == ({"stock", "identity", 1, 2} if controls else {1, 2})
    assert {b["verified"]["post_processed"] for b in document["binaries"] if b["verified"]} == {LOADED}
    assert any("changed after its link" in warning for warning in document["warnings"])


def test_stock_alone(gnu_units: Workshop) -> None:
    """The plain build needs no capture."""
    result: SystemBuild = gnu_units.build(PLAIN + " && strip prog", layouts=[STOCK], build=REBUILD)
    assert [binary.layout for binary in result.binaries] == [STOCK]
    assert not whole(result).result.failures
    assert builds(gnu_units) == ["sys: stock build"]
    assert not list(Path(gnu_units.cache, "captures").iterdir())


# What BOLT does with --reorder-functions: other code, and marks at other addresses; here of all functions, of some, or of
# none, in one order for all layouts.
STEP = """
import struct, sys
data = bytearray(open("prog", "rb").read())
at, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
rows = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * k) for k in range(count)]
text = max((row for row in rows if row[2] & 4), key=lambda row: row[5])
data[text[4] + text[5] - 1] ^= 1
table = next(row for row in rows if row[1] == 2)
names, marks = rows[table[6]][4], []
for k in range(table[4], table[4] + table[5], 24):
    start = names + struct.unpack_from("<I", data, k)[0]
    name = bytes(data[start:data.index(0, start)])
    if name.startswith(b".lr."):
        marks.append((name, k, struct.unpack_from("<Q", data, k + 8)[0]))
begin = min((value for *_, value in marks), default=0) - len(marks)  # the stock build has none
for place, (_, k, _) in enumerate(sorted(marks)[:{"all": len(marks), "some": 5, "none": 0}[sys.argv[1]]]):
    struct.pack_into("<Q", data, k + 8, begin + place)
open("prog", "wb").write(data)
"""


def built_with(gnu_units: Workshop, step: str) -> SystemBuild:
    gnu_units.write_named({"step.py": STEP})
    return gnu_units.build(f"{PLAIN} && python3 step.py {step}", seeds=[1, 2, 3], build=REBUILD)


def test_a_step_that_orders_all_functions(gnu_units: Workshop) -> None:
    """Its layouts are other files, and what is executed has one order: they are none, now and when they are cached."""
    for _ in range(2):
        failures = built_with(gnu_units, "all").failures
        assert [failure.layout for failure in failures] == [1, 2, 3]
        assert all("orders all functions by itself" in failure.error for failure in failures)


@pytest.mark.parametrize("step", ["some", "none"])
def test_a_step_that_orders_some_functions(gnu_units: Workshop, step: str) -> None:
    """It is told, of cached layouts too; a step that keeps the order is not."""
    told = [
        [text for text in map(str, built_with(gnu_units, step).notes) if "orders functions by itself" in text]
        for _ in range(2)
    ]
    assert [len(texts) for texts in told] == [step == "some"] * 2, told
    assert all("in all 4 layouts, though their links parted them" in text for texts in told for text in texts)
