"""Programs for other processors, built by cross compilers, placed, verified, and executed under qemu.

On such a machine itself they are executed as they are, with the compilers that are there.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

import zoo
from layoutrand.build.first_build import machine_asked_for
from layoutrand.capture.identity import same_but_for_numbers
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.known import linker
from layoutrand.model import IDENTITY, STOCK
from layoutrand.objects import elf
from layoutrand.objects.elf import words_of
from startkit import layoutrand
from workshop import FILLER, Workshop, in_order, programs_of, require, symbols, whole

TOOLCHAINS = ("gcc-aarch64", "clang-aarch64", "gcc-riscv64", "clang-riscv64")
MACHINES = {"aarch64": "EM_AARCH64", "riscv64": "EM_RISCV"}
FACTORS = {
    "order": ["function-order", "data-order"],
    "gaps": ["function-order", "padding", "text-offset"],
    "modules": ["module-order"],
}
MODES = {"pie": ("-fPIE", "-pie"), "no-pie": ("-fno-pie", "-no-pie"), "static": ("-fno-pie", "-no-pie -static")}
CASES = [
    *((toolchain, "pie", "order") for toolchain in TOOLCHAINS),
    *(
        pytest.param(toolchain, mode, factors, marks=pytest.mark.slow)
        for toolchain in TOOLCHAINS
        for mode in MODES
        for factors in FACTORS
        if (mode, factors) != ("pie", "order")
    ),
]


def machine_of(toolchain: str) -> str:
    return toolchain.rpartition("-")[2]


def needed(toolchain: str) -> None:
    """Skip where the toolchain's programs, or what executes its programs, are not there."""
    machine = machine_of(toolchain)
    require(f"{machine}-linux-gnu-g++", f"g++-{machine}-linux-gnu")  # clang takes its headers and libraries
    programs_of(toolchain)
    if os.uname().machine != machine:
        require(f"qemu-{machine}", "qemu-user")


def answer(toolchain: str, program: Path, *args: str) -> bytes:
    """What a program prints, which must succeed."""
    machine = machine_of(toolchain)
    emulated = [] if os.uname().machine == machine else [f"qemu-{machine}", "-L", f"/usr/{machine}-linux-gnu"]
    done = subprocess.run([*emulated, str(program), *args], capture_output=True, timeout=60)
    assert done.returncode == 0, f"{program}: {done.returncode}: {done.stderr!r}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("toolchain", "mode", "factors"), CASES)
def test_one_of_everything_is_placed_verified_and_executed(
    tmp_path: Path, toolchain: str, mode: str, factors: str
) -> None:
    """All layouts answer as stock does, and no two seeds have one order."""
    needed(toolchain)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named(zoo.sources())
    flags, link = MODES[mode]
    config = shop.config(
        zoo.commands(flags, link), system={"toolchain": toolchain}, layout={"factors": FACTORS[factors]}
    )
    built = whole(shop.build(config, seeds=[1, 2, 3]))
    answers = {name: answer(toolchain, binary.path) for name, binary in built.by_layout.items()}
    assert len(answers[STOCK]) > 100
    assert answers == dict.fromkeys(answers, answers[STOCK])
    machines = {elf.read(each.path.read_bytes(), name="").machine for each in built.by_layout.values()}
    assert machines == {MACHINES[machine_of(toolchain)]}
    orders = {tuple(in_order(built.path(name), zoo.FUNCTIONS)) for name in (IDENTITY, 1, 2, 3)}
    assert len(orders) > 2


def test_tools_that_a_build_executes_are_the_hosts(tmp_path: Path) -> None:
    """A generator compiled with plain gcc runs here, and its link is no layout's."""
    needed("gcc-aarch64")
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write(
        tool__c='#include <stdio.h>\nint main(void) { puts("int made(void) { return 42; }"); return 0; }\n',
        main__c="#include <stdio.h>\nint made(void); int twice(int x) { return 2 * x; }\n"
        'int main(void) { printf("%d\\n", twice(made())); return 0; }\n' + FILLER,
    )
    built = whole(
        shop.build(
            "gcc -o tool tool.c && ./tool > made.c && $CC -o prog main.c made.c",
            seeds=[1],
            system={"toolchain": "gcc-aarch64"},
        )
    )
    assert answer("gcc-aarch64", built.path(1)) == b"84\n"


# ADRP at the end of a page, wherever that is, and two loads, in which Cortex-A53 errs: where ADR does not reach, the linker makes copies.
ERRATUM = (
    '.section .data.v,"aw"\n.balign 16\n.skip 2 << 20\nv: .xword 42, 2\n.section .text.read,"ax"\n.globl read_it\n.type read_it,%function\n'
    "read_it: mov x2, x0\n.rept 1100\nadrp x0, v\nldr x1, [x2]\nldr x3, [x0, :lo12:v]\n.endr\nadd x0, x3, x1\nret\n"
    ".size read_it,.-read_it\n"
)


@pytest.mark.parametrize("options", ["", "-fno-use-linker-plugin"])
def test_names_of_copies_may_count_sections_differently(tmp_path: Path, options: str) -> None:
    """GNU ld numbers the copies of instructions by what it has read, where gcc's plugin, which no replay has, counts, too."""
    needed("gcc-aarch64")
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"reads.s": ERRATUM})
    shop.write(
        main__c="#include <stdio.h>\nlong read_it(long *);\n"
        'int main(void) { long one = 1; printf("%ld\\n", read_it(&one)); return 0; }\n' + FILLER
    )
    command = f"$CC {options} -mfix-cortex-a53-843419 -o prog main.c reads.s"
    built = whole(shop.build(command, seeds=[1, 2], system={"toolchain": "gcc-aarch64"}))
    for binary in built.by_layout.values():
        assert any(name.startswith("e843419@") for name in symbols(binary.path))
        assert answer("gcc-aarch64", binary.path) == b"43\n"
    data = built.path(STOCK).read_bytes()
    number = data.index(b"\0e843419@") + len(b"\0e843419@")
    for place, same in ((number, True), (number + 12, True), (number - 2, False), (number + 14, False), (100, False)):
        other = data[:place] + (b"5" if data[place] != b"5"[0] else b"6") + data[place + 1 :]
        assert same_but_for_numbers(data, other, linker("gnu").numbered) is same
    assert same_but_for_numbers(data, data, None) and not same_but_for_numbers(data, data + b"0", None)


@pytest.mark.parametrize("toolchain", ["gcc-aarch64", "clang-aarch64"])
def test_copies_for_an_erratum_where_objects_move(tmp_path: Path, toolchain: str) -> None:
    """Other copies are made in each order; the instructions are their objects' all the same."""
    needed(toolchain)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    for unit in "abc":
        shop.write_named({f"{unit}.s": ERRATUM.replace("read_it", unit)})
    shop.write(
        main__c="#include <stdio.h>\nlong a(long *), b(long *), c(long *);\n"
        'int main(void) { long one = 1; printf("%ld\\n", a(&one) + b(&one) + c(&one)); return 0; }\n' + FILLER
    )
    command = "$CC -c main.c a.s b.s c.s; $CC -Wl,--fix-cortex-a53-843419 -o prog main.o a.o b.o c.o"
    layout = {"factors": ["link-order"]}
    built = whole(shop.build(command, seeds=[1, 2, 3], system={"toolchain": toolchain}, layout=layout))
    for binary in built.by_layout.values():
        assert any("843419" in name for name in symbols(binary.path))
        assert answer(toolchain, binary.path) == b"129\n"


def test_a_program_of_the_host_is_not_what_a_cross_compiler_was_asked_for(tmp_path: Path) -> None:
    needed("gcc-riscv64")
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write(main__c="int main(void) { return 0; }\n")
    result = shop.build("gcc -o prog main.c", seeds=[1], system={"toolchain": "gcc-riscv64"})
    (error,) = {failure.error for failure in result.failures}
    assert "prog is for x86-64, and toolchain 'gcc-riscv64' builds for RISC-V (64 bits): does the build use" in error
    assert "there are toolchains gcc, clang" in error


MAKEFILE = """\
prog: main.c made.c
	aarch64-linux-gnu-gcc -O2 -o prog main.c made.c
made.c: tool
	./tool > made.c
tool: tool.c
	%s
"""
OF_THE_HOST = {
    "linked where it is seen": "gcc -o tool tool.c",
    "no program": "echo '#!/bin/sh' > tool; echo 'echo \"int made(void) { return 42; }\"' >> tool; chmod +x tool",
}


@pytest.mark.slow
@pytest.mark.parametrize("makes", list(OF_THE_HOST))
def test_a_new_project_is_for_the_machine_that_its_build_is_for(tmp_path: Path, makes: str) -> None:
    """The build calls a cross compiler by its name, perhaps beside the host's; its file executes as it is written."""
    needed("gcc-aarch64")
    (tmp_path / "Makefile").write_text(MAKEFILE % OF_THE_HOST[makes])
    (tmp_path / "tool.c").write_text(
        '#include <stdio.h>\nint main(void) { puts("int made(void) { return 42; }"); return 0; }\n'
    )
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\nint made(void); int twice(int x) { return 2 * x; }\n"
        'int main(void) { printf("%d\\n", twice(made())); return 0; }\n' + FILLER
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path.parent / "cache")}
    made = layoutrand("init", "--", "make", "--", "./prog", cwd=tmp_path, env=env)
    assert made.returncode == 0, made.stderr
    assert "the build is for AArch64 (arm64): it is made again for toolchain gcc-aarch64" in made.stderr
    table = tomllib.loads((tmp_path / "layoutrand.toml").read_text())
    assert (table["build"]["artefacts"], table["systems"]["O2"]["toolchain"]) == (["prog"], "gcc-aarch64")
    is_foreign = os.uname().machine != "aarch64"
    launcher = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] if is_foreign else None
    assert table["run"].get("launcher") == launcher
    executed = layoutrand("run", "--seeds", "2", "--system", "O2", "--json", cwd=tmp_path, env=env)
    assert executed.returncode == 0, executed.stderr
    told = json.loads(executed.stdout)
    assert (told["executed"], told["failures"], told["build_failures"]) == (told["executions"], [], [])
    assert told["executed"] >= 4


CONFIGURE = """\
#!/bin/sh
# As autoconf's: what $CC says is taken for the compiler of the host that is asked for.
host=${1#--host=}
echo "prog: main.c" > Makefile
echo "	${CC:-$host-gcc} -O2 -DFOR_${host%%-*} -o prog main.c" >> Makefile
"""


@pytest.mark.slow
def test_a_build_that_says_its_host_gets_the_compiler_of_that(tmp_path: Path) -> None:
    """Not first that of this machine, with which a configured build fails for reasons of its own."""
    needed("gcc-riscv64")
    (tmp_path / "configure").write_text(CONFIGURE)
    (tmp_path / "configure").chmod(0o755)
    (tmp_path / "main.c").write_text(
        "#if defined FOR_riscv64 && !defined __riscv\n#error of another host\n#endif\n"
        "int twice(int x) { return 2 * x; }\nint main(int argc, char **argv) { return twice(argc) - 2; }\n" + FILLER
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path.parent / "cache")}
    made = layoutrand(
        "init", "--", "./configure --host=riscv64-linux-gnu && make", "--", "./prog", cwd=tmp_path, env=env
    )
    assert made.returncode == 0, made.stderr
    assert "the build asks for RISC-V (64 bits): it is made with toolchain gcc-riscv64" in made.stderr
    table = tomllib.loads((tmp_path / "layoutrand.toml").read_text())
    assert {each["toolchain"] for each in table["systems"].values()} == {"gcc-riscv64"}


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("./configure -q --host=aarch64-linux-gnu --disable-shared", "AArch64 (arm64)"),
        ("./configure --host riscv64-unknown-linux-gnu", "RISC-V (64 bits)"),
        ("make -j2 CROSS_COMPILE=/opt/bin/aarch64-none-linux-gnu- ARCH=arm64", "AArch64 (arm64)"),
        ("CROSS_COMPILE='riscv64-linux-gnu-' make", "RISC-V (64 bits)"),
        ("./configure --hostname=aarch64-box && make", ""),
        (f"./configure --host={os.uname().machine}-linux-gnu", ""),
        ("make CROSS_COMPILE=", ""),
    ],
)
def test_machines_that_commands_say(command: str, asked: str) -> None:
    assert machine_asked_for(["true", command]) == (asked if asked != words_of(os.uname().machine) else "")


def test_a_toolchain_that_somebody_chose_is_not_exchanged(tmp_path: Path) -> None:
    needed("gcc-aarch64")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path.parent / "cache")}
    words = ["init", "--toolchain", "gcc", "--", "aarch64-linux-gnu-gcc", "-o", "prog", "main.c"]
    made = layoutrand(*words, cwd=tmp_path, env=env)
    assert made.returncode == 1
    assert "prog is for AArch64 (arm64), and toolchain 'gcc' builds for" in made.stderr
    assert not (tmp_path / "layoutrand.toml").exists()


def test_a_program_for_another_machine_that_is_not_laid_out_is_told(tmp_path: Path) -> None:
    """Beside one of this machine, where somebody chose the toolchain."""
    needed("gcc-aarch64")
    (tmp_path / "Makefile").write_text(MAKEFILE % OF_THE_HOST["linked where it is seen"])
    (tmp_path / "tool.c").write_text(
        '#include <stdio.h>\nint main(void) { puts("int made(void) { return 42; }"); return 0; }\n'
    )
    (tmp_path / "main.c").write_text("int made(void); int main(void) { return made(); }\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path.parent / "cache")}
    made = layoutrand("init", "--toolchain", "gcc", cwd=tmp_path, env=env)
    assert made.returncode == 0, made.stderr
    assert "prog is for AArch64 (arm64), and toolchain 'gcc' builds for" in made.stderr
    assert tomllib.loads((tmp_path / "layoutrand.toml").read_text())["build"]["artefacts"] == ["tool"]


def test_assembled_code_is_for_the_same_processor(tmp_path: Path) -> None:
    """clang assembles for the machine that it is told, which the build's own words do not say."""
    needed("clang-aarch64")
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named(
        {
            "half.s": '.section .text.half,"ax"\n.globl half\n.type half,%function\nhalf: lsr w0, w0, #1\nret\n'
            '.size half,.-half\n.section .note.GNU-stack,"",%progbits\n',
            "main.c": "#include <stdio.h>\nint half(int); int more(int x) { return half(x) + 1; }\n"
            'int main(void) { printf("%d\\n", more(80)); return 0; }\n',
        }
    )
    built = whole(
        shop.build("$CC -c half.s && $CC -o prog main.c half.o", seeds=[1], system={"toolchain": "clang-aarch64"})
    )
    assert answer("clang-aarch64", built.path(1)) == b"41\n"


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_toolchain_files_say_their_machine(name: str) -> None:
    found = toolboxes.declared(name, Path())
    assert found.machine == machine_of(name)
    assert toolboxes.builds_for(found) == found.machine
    assert toolboxes.builds_for(toolboxes.declared("gcc", Path())) == os.uname().machine
