"""Instructions counted by a plugin of qemu: what it writes, and that it counts what is executed."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from executekit import Project
from fakes import FakeExecutor, make_binary, make_config
from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.execute.measure import measure
from layoutrand.instruments import qemu_plugin
from layoutrand.instruments.known.cachegrind import command_prefix, parse_counts
from layoutrand.instruments.qemu_plugin import CACHES, INSTRUCTIONS, counted, plugin_for, words_for
from layoutrand.platform.disk import sha256_file
from workshop import require

LOOP = """\
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **v) {
  if (n > 2 && *v[2] == 'f') {
    if (!fork()) { for (volatile long i = 0; i < 50000; i++); _exit(0); }
    wait(0);
  }
  for (volatile long i = 0; i < atol(v[1]); i++);
  if (n > 3) execl(v[3], v[3], "0", (char *)0);
  if (n > 2 && *v[2] == 'k') kill(getpid(), 9);
  return 0;
}
"""


# --- what is written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("begin 7 0\nend 7 1000\n", 1000),
        ("begin 7 0\nbegin 8 0\nend 8 20\nend 7 1000\n", 1020),
        ("begin 7 0\nexec 7 100\nfailed 7 105\nend 7 1000\n", 1000),
        ("begin 7 0\nexec 7 100\nbegin 7 0\nend 7 30\n", 130),
        ("begin 7 0\nexec 7 100\nbegin 7 0\nexec 7 5\nbegin 7 0\nend 7 30\n", 135),
        ("begin 7 0\nend 7 1\nbegin 7 0\nend 7 2\n", 3),  # the number of a process is given again
    ],
)
def test_the_processes_are_summed(text, count):
    assert counted(text) == {"instructions": count}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "qemu executed nothing"),
        ("begin 7 0\n", "process 7 was ended before it could say"),
        ("begin 7 0\nbegin 8 0\nend 7 5\n", "process 8 was ended before it could say"),
        ("begin 7 0\nexec 7 100\n", "process 7 executed a program that qemu does not emulate"),
        ("end 7 100\n", "a process that it had not seen begin: 'end 7 100'"),
        ("begin 7 0\nexec 7 5\nend 7 100\n", "a process that it had not seen begin"),
        ("begin 7 0\nend 7 5\nend 7 5\n", "a process that it had not seen begin"),
        ("begin 7 0\nend 7\n", "a line that cannot be read: 'end 7'"),
        ("begin 7 0\nend 7 -5\n", "a line that cannot be read"),
        ("begin 7 0\nends 7 5\n", "a line that cannot be read"),
        (f"begin 7 0\nend 7 {10**30}\n", "a line that cannot be read"),
    ],
)
def test_what_is_no_count(text, said):
    with pytest.raises(NoMeasurement) as caught:
        counted(text)
    assert said in str(caught.value)


def test_commas_in_paths_part_no_words():
    assert words_for(Path("/a,b/x.so"), Path("/c,d")) == "/a,,b/x.so,out=/c,,d"


# --- which qemu ---------------------------------------------------------------------------------------------------


def pretended(monkeypatch, answers):
    """Plugins of these interfaces were tried; ``answers`` says what comes of each."""
    tried = []
    monkeypatch.setattr(qemu_plugin, "_compiled", lambda interface, _counts: b"%d" % interface)
    monkeypatch.setattr(qemu_plugin, "_tried", lambda _qemu, made: tried.append(int(made)) or answers[int(made)])
    return tried


def test_a_newer_qemu_gets_the_interface_that_it_begins_with(monkeypatch, tmp_path):
    said = (
        "Could not load plugin x.so: plugin requires API version 1, but this QEMU supports only a minimum version of 2"
    )
    tried = pretended(monkeypatch, {1: (said, False), 2: ("", True)})
    assert plugin_for(str(tmp_path / "newer")) == b"2"
    assert tried == [1, 2]


def test_one_that_loads_none_is_told(monkeypatch, tmp_path):
    pretended(monkeypatch, {1: ("plugin interface not enabled in this build", False)})
    with pytest.raises(FeatureUnsupported, match=r"does not load layoutrand's plugin.*: 'plugin interface not enabled"):
        plugin_for(str(tmp_path / "static"))


def test_without_qemu_it_is_told_what_to_write(tmp_path):
    project, executor = Project(tmp_path), FakeExecutor()
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = {instruments = ["qemu"]}\n', systems=("a",)
    )
    with pytest.raises(FeatureUnsupported, match=r'and no qemu executes the program: run.launcher = \["qemu-x86_64"\]'):
        project.run(config, project.binaries(layouts=(1,)), executor)
    assert executor.commands == []


# --- for real -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["x86_64", "aarch64", "riscv64"])
def processor(request, tmp_path):
    """A qemu, and how a program is compiled for it."""
    qemu = require(f"qemu-{request.param}", "qemu-user")
    compiler = require("gcc" if request.param == "x86_64" else f"{request.param}-linux-gnu-gcc", "gcc")

    def compiled(text, *flags):
        (tmp_path / "a.c").write_text(text)
        subprocess.run([compiler, "-O1", "-static", *flags, "-o", tmp_path / "prog", tmp_path / "a.c"], check=True)
        return tmp_path / "prog"

    return qemu, compiled


@pytest.fixture(params=[INSTRUCTIONS, CACHES], ids=["instructions", "caches"])
def emulated(request, processor, tmp_path):
    """How a program is started under qemu, and the instructions that each of the plugins counts of it."""
    qemu, compiled = processor
    counts = request.param
    compiled(LOOP)
    (tmp_path / "plugin,.so").write_bytes(plugin_for(qemu, counts))

    def counts_of(*words):
        record = tmp_path / "record,"
        record.unlink(missing_ok=True)
        env = {**os.environ, "QEMU_PLUGIN": words_for(tmp_path / "plugin,.so", record)}
        subprocess.run([qemu, tmp_path / "prog", *words], env=env, check=False, capture_output=True)
        return counted(record.read_text(), counts)["instructions"]

    return counts_of


def test_it_counts_the_same_every_time_and_what_is_more(emulated):
    few = emulated("1000")
    assert emulated("1000") == few
    more = emulated("2000") - few
    assert more % 1000 == 0, "as many in each turn"
    assert emulated("3000") - few == 2 * more


WALK = """\
#include <stdlib.h>
static volatile char data[1 << 20];
int main(int n, char **v) {
  int size = atoi(v[1]);
  for (int turn = 0; turn < 100; turn++)
    for (int at = 0; at < size; at += 64) data[at] = 1;
  return 0;
}
"""
FUNCTIONS = "".join(
    f"__attribute__((noinline, aligned(64))) int f{k}(int x) {{ return x * {k} + 1; }}" for k in range(2000)
)
CALLED = f"""
#include <stdlib.h>
{FUNCTIONS}
static int (*volatile all[])(int) = {{ {", ".join(f"f{k}" for k in range(2000))} }};
int main(int n, char **v) {{
  int sum = 0, count = atoi(v[1]);
  for (int turn = 0; turn < 100; turn++)
    for (int k = 0; k < count; k++) sum += all[k](turn);
  return sum & 1;
}}
"""


@pytest.fixture
def cached(processor, tmp_path):
    """The counts of a program with simulated caches."""
    qemu, compiled = processor
    (tmp_path / "plugin.so").write_bytes(plugin_for(qemu, CACHES))

    def counts_of(text, *words):
        program, record = compiled(text), tmp_path / "record"
        record.unlink(missing_ok=True)
        env = {**os.environ, "QEMU_PLUGIN": words_for(tmp_path / "plugin.so", record)}
        subprocess.run([qemu, program, *words], env=env, check=False, capture_output=True)
        return counted(record.read_text(), CACHES)

    return counts_of


def test_data_that_a_cache_holds_misses_once(cached):
    """Twice what the first level holds misses in each turn, and in the last level once."""
    few, some, many = (cached(WALK, str(size)) for size in (64, 16 << 10, 64 << 10))
    assert 250 <= some["d1_misses"] - few["d1_misses"] <= 350
    assert 99_000 <= many["d1_misses"] - some["d1_misses"] <= 104_000
    assert many["ll_d_misses"] - few["ll_d_misses"] == pytest.approx(1024, abs=90)
    assert many["data_writes"] - few["data_writes"] == 100 * 1023
    assert many == cached(WALK, str(64 << 10)), "the same every time"


@pytest.mark.slow
def test_code_that_a_cache_holds_misses_once(cached):
    """Functions in lines of their own."""
    few, some, many = (cached(CALLED, str(count)) for count in (1, 250, 2000))
    assert 245 <= some["i1_misses"] - few["i1_misses"] <= 350
    assert 170_000 <= many["i1_misses"] - some["i1_misses"] <= 201_000
    assert many["ll_i_misses"] - few["ll_i_misses"] == pytest.approx(1999, abs=60)


def test_counts_are_about_those_of_valgrind(tmp_path, valgrind):
    """Of the same program on this processor; they begin elsewhere, and read and write as one or as two."""
    qemu = require("qemu-x86_64", "qemu-user")
    (tmp_path / "a.c").write_text(CALLED)
    subprocess.run(["gcc", "-O1", "-static", "-o", tmp_path / "prog", tmp_path / "a.c"], check=True)
    (tmp_path / "plugin.so").write_bytes(plugin_for(qemu, CACHES))
    env = {**os.environ, "QEMU_PLUGIN": words_for(tmp_path / "plugin.so", tmp_path / "record")}
    subprocess.run([qemu, tmp_path / "prog", "2000"], env=env, check=False)
    ours = counted((tmp_path / "record").read_text(), CACHES)
    subprocess.run(
        [*command_prefix("valgrind", str(tmp_path / "out"), str(tmp_path / "log")), tmp_path / "prog", "2000"],
        check=False,
    )
    (profile,) = tmp_path.glob("out.*")
    theirs = parse_counts(profile.read_text())
    for metric in ("instructions", "i1_misses", "data_reads", "data_writes"):
        assert ours[metric] == pytest.approx(theirs[metric], rel=0.05), metric


SOMEWHERE = """\
.globl _start
_start: mov $1000, %ecx
        jmp again
        .skip {room}
again:  add $1000000, %rdx
        movabs $0x1122334455667788, %rax
        sub $1, %ecx
        jnz again
        mov $60, %eax
        xor %edi, %edi
        syscall
"""


def test_where_code_lies_makes_no_difference(tmp_path):
    """An instruction that lies on two pages is one, whichever block lists it."""
    qemu = require("qemu-x86_64", "qemu-user")
    (tmp_path / "plugin.so").write_bytes(plugin_for(qemu))
    counts = set()
    for room in range(4050, 4096, 3):
        (tmp_path / "a.s").write_text(SOMEWHERE.format(room=room))
        subprocess.run(["gcc", "-nostdlib", "-static", "-o", tmp_path / "a", tmp_path / "a.s"], check=True)
        record = tmp_path / f"record{room}"
        env = {**os.environ, "QEMU_PLUGIN": words_for(tmp_path / "plugin.so", record)}
        subprocess.run([qemu, tmp_path / "a"], env=env, check=True)
        counts.add(counted(record.read_text())["instructions"])
    assert counts == {4 * 1000 + 5}


def test_a_process_that_it_starts_counts_too(emulated):
    assert emulated("1000", "f") > emulated("1000", "-") + 100_000


def test_a_program_that_is_not_emulated_is_told(emulated):
    with pytest.raises(NoMeasurement, match="executed a program that qemu does not emulate"):
        emulated("10", "-", "/bin/true")


def test_one_that_cannot_be_executed_changes_nothing(emulated):
    assert emulated("1000", "-", "/no/such") > 0


def test_one_that_is_killed_is_told(emulated):
    with pytest.raises(NoMeasurement, match="was ended before it could say"):
        emulated("10", "k")


def test_from_layoutrand_toml_to_the_results(tmp_path):
    require("qemu-x86_64", "qemu-user")
    project = Project(tmp_path)
    (tmp_path / "a.c").write_text(LOOP)
    binaries = []
    for layout in (1, 2):
        binary = make_binary(tmp_path / "cache", "a", layout, "")
        subprocess.run(["gcc", "-O1", "-static", "-o", binary.path, tmp_path / "a.c"], check=True)
        binaries.append(dataclasses.replace(binary, sha256=sha256_file(binary.path)))
    benchmark = '[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "{launcher} {artefact} 1000"]\n'
    config = make_config(
        benchmark + 'metric = {instruments = ["qemu"]}\n',
        systems=("a",),
        run='launcher = ["qemu-x86_64"]\nrandomise = ["env-size"]',
    )
    assert project.run(config, binaries, measure).failures == ()
    found = project.executions(config)
    assert {each.instrument for each in found} == {"qemu"}
    (counts,) = {tuple((m.metric, m.value) for m in each.measurements) for each in found}
    assert counts[0][0] == "instructions"
    assert counts[0][1] > 3000
