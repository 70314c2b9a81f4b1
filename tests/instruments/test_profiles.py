"""What profilers write, read back: callgrind's out-files and perf's samples; recorded text, and the real programs."""

from __future__ import annotations

import re
import subprocess

import pytest

from buildkit import compiled
from layoutrand.errors import NoMeasurement, ToolNotFound
from layoutrand.explain.hotness import segments
from layoutrand.instruments import perf_script
from layoutrand.instruments.known import callgrind
from layoutrand.instruments.profile import Segment
from layoutrand.instruments.profilers import choose_profiler
from layoutrand.objects import elf
from layoutrand.platform.packages import install

PROG = "/p/x/bin/prog"
OUT = f"""\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 16137
cmd:  {PROG}
part: 1

positions: instr
events: Ir
summary: 1234

ob=/lib/libc.so.6
fl=???
fn=(below main)
0x271d0 1
0x271d7 2
cob={PROG}
cfn=main
calls=1 0x1188
0x27248 1000

ob={PROG}
fl=???
fn=main
0x1188 1
0x118a 10
cfn=work
calls=10 0x1139
0x118f 900
0x1194 10
cob=/lib/libc.so.6
cfn=puts
calls=3 0x76b0
0x1199 80
0x119e 5

fn=work
0x1139 100
0x113b 800

totals: 929
"""

SCRIPT = """\
17149 PERF_RECORD_MMAP2 17149/17149: [0x55eacd472000(0x1000) @ 0x1000 fe:00 1714742 572444611]: r-xp /p/x/bin/prog
17149 PERF_RECORD_MMAP2 17149/17149: [0x7f4bf643b000(0x26000) @ 0x1000 fe:00 338944 0]: r-xp /usr/lib/ld-linux.so.2
17149 PERF_RECORD_MMAP2 17149/17149: [0x7f4bf6438000(0x2000) @ 0 00:00 0 0]: r-xp [vdso]
17149      7f4bf644e62a
17149 PERF_RECORD_MMAP2 17149/17149: [0x7f4bf626a000(0x156000) @ 0x26000 fe:00 339380 0]: r-xp /usr/lib/libc.so.6
17149      55eacd47214e
17149      55eacd47214e
17149      55eacd472161
17150      55eacd47214e
17149  ffffffff8100b000
"""


def test_costs_and_calls_of_a_callgrind_profile():
    found = callgrind.parse_profile(OUT, [PROG])

    assert found.total == 929  # what callees cost stands in their own lines
    assert found.cost == {0x1188: 1, 0x118A: 10, 0x1194: 10, 0x119E: 5, 0x1139: 100, 0x113B: 800}
    assert found.calls == {(0x118F, 0x1139): 10}  # calls into and out of libraries are none of the artefact's


def test_two_processes_together():
    one = callgrind.parse_profile(OUT, [PROG])
    both = one.plus(one)

    assert both.total == 2 * one.total
    assert both.cost[0x113B] == 1600
    assert both.calls == {(0x118F, 0x1139): 20}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no profile of ours"),
        (OUT.replace("positions: instr", "positions: line"), "no profile of ours"),
        (OUT[: OUT.index("totals")], "truncated"),
        (OUT[:-1], "truncated"),
        (OUT.replace("0x271d7 2", f"0x271d7 {'9' * 5000}"), "garbled: line 16 has a number that is none of 64 bits"),
        (OUT.replace("0x271d7 2", f"0x{'f' * 17} 2"), "garbled: line 16"),
        (OUT.replace("calls=1 0x1188", f"calls={'9' * 400} 0x1188"), "garbled: line 19"),
        (OUT.replace("calls=1 0x1188", f"calls=1 0x{'1' * 300}"), "garbled: line 19"),
    ],
)
def test_what_is_no_profile(text, message):
    with pytest.raises(NoMeasurement, match=message):
        callgrind.parse_profile(text, [PROG])


def test_percent_in_a_path_is_no_escape_of_callgrind():
    words = callgrind.command_prefix("/usr/bin/valgrind", "/100%p/out", "/100%/log")

    assert "--callgrind-out-file=/100%%p/out.%p" in words
    assert "--log-file=/100%%/log.%p" in words


def test_samples_become_addresses_of_the_file():
    found = perf_script.parse_samples(SCRIPT, [PROG], [Segment(0x1000, 0x401000, 0x1D5)])

    assert found.total == 6  # those of other processes and of the kernel, too
    assert found.cost == {0x40114E: 2, 0x401161: 1}
    assert found.calls == {}


@pytest.mark.parametrize("digits", ["9" * 5000, "f" * 17])
def test_an_address_of_more_than_64_bits_is_no_sample(digits):
    with pytest.raises(NoMeasurement, match="an address of more than 64 bits in line 1"):
        perf_script.parse_samples(f" 12 {digits}\n", [PROG], [])


def test_a_process_may_have_any_number():
    assert perf_script.parse_samples(f" {'9' * 5000} 40\n", [PROG], []).total == 1


def test_no_samples_are_no_profile():
    with pytest.raises(NoMeasurement, match="no samples"):
        perf_script.parse_samples("\n".join(SCRIPT.splitlines()[:3]), [PROG], [])


WORK = """
#include <stdio.h>
static volatile unsigned sink;
__attribute__((noinline)) void hot(void) { for (int k = 0; k < 1000; k++) sink += k; }
__attribute__((noinline)) void cold(void) { sink++; }
int main(int argc, char **argv) { for (int k = 0; k < LOOPS; k++) hot(); cold(); return argc > 5; }
"""


def program(folder, loops):
    objects = compiled(folder, "prog.c", WORK, f"-DLOOPS={loops}")
    path = folder / "prog"
    subprocess.run(["gcc", objects, "-o", path], check=True)
    file = elf.read(path.read_bytes(), name="prog")
    names = file.symbol_names(range(len(file.symbols)))
    return path, file, {name: int(row["value"]) for name, row in zip(names, file.symbols, strict=True)}


@pytest.mark.usefixtures("valgrind")
def test_callgrind_itself(tmp_path):
    """Addresses are those of the file although it is loaded elsewhere, and counts are exact."""
    path, _, at = program(tmp_path, 20)
    profiler = choose_profiler("callgrind")
    prefix = callgrind.command_prefix(profiler.program, str(tmp_path / "out"), str(tmp_path / "log"))
    subprocess.run([*prefix, path], check=True, capture_output=True)
    (out,) = tmp_path.glob("out.*")
    found = callgrind.parse_profile(out.read_text(), [str(path)])

    inside = [address for (_, address), count in found.calls.items() if count == 20]
    assert inside == [at["hot"]]
    assert found.cost[at["hot"]] == 20
    assert found.cost[at["cold"]] == 1
    assert profiler.words == "instructions counted by callgrind"


def test_perf_itself(tmp_path):
    """Where perf can sample at all: nearly all samples lie in the one function that does anything."""
    path, file, at = program(tmp_path, 100_000)
    try:
        profiler = choose_profiler("perf")
    except ToolNotFound as error:
        pytest.skip(str(error))
    words = [*perf_script.command_prefix(profiler.program, profiler.event, str(tmp_path / "data")), str(path)]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("perf cannot sample here")
    printed = subprocess.run(
        perf_script.script_command(profiler.program, str(tmp_path / "data")), capture_output=True, text=True, check=True
    )
    found = perf_script.parse_samples(printed.stdout, [str(path)], segments(file))

    assert sum(value for address, value in found.cost.items() if at["hot"] <= address < at["hot"] + 64) > (
        0.8 * found.total
    )


def test_a_machine_without_profilers_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFound, match=re.escape(install(["valgrind"]))):
        choose_profiler("auto")
    with pytest.raises(ToolNotFound, match="--profiler perf: there is no perf"):
        choose_profiler("perf")


def test_perf_without_counters_is_not_chosen_by_itself(monkeypatch, tmp_path):
    for name, text in (("perf", "#!/bin/sh\nexit 1\n"), ("valgrind", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert choose_profiler("auto").kind.option == "callgrind"
    assert choose_profiler("perf").event == "cpu-clock:u"
