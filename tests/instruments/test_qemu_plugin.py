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
from layoutrand.instruments.qemu_plugin import instructions, plugin_for, words_for
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
    assert instructions(text) == count


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
        instructions(text)
    assert said in str(caught.value)


def test_commas_in_paths_part_no_words():
    assert words_for(Path("/a,b/x.so"), Path("/c,d")) == "/a,,b/x.so,out=/c,,d"


# --- which qemu ---------------------------------------------------------------------------------------------------


def pretended(monkeypatch, answers):
    """Plugins of these interfaces were tried; ``answers`` says what comes of each."""
    tried = []
    monkeypatch.setattr(qemu_plugin, "_compiled", lambda interface: b"%d" % interface)
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
    with pytest.raises(FeatureUnsupported, match=r"does not load the plugin .*: 'plugin interface not enabled"):
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
def emulated(request, tmp_path):
    """How a program is started under qemu, and the counts of it."""
    qemu = require(f"qemu-{request.param}", "qemu-user")
    compiler = require("gcc" if request.param == "x86_64" else f"{request.param}-linux-gnu-gcc", "gcc")
    (tmp_path / "a.c").write_text(LOOP)
    subprocess.run([compiler, "-O1", "-static", "-o", tmp_path / "prog", tmp_path / "a.c"], check=True)
    (tmp_path / "plugin,.so").write_bytes(plugin_for(qemu))

    def counted(*words):
        record = tmp_path / "record,"
        record.unlink(missing_ok=True)
        env = {**os.environ, "QEMU_PLUGIN": words_for(tmp_path / "plugin,.so", record)}
        subprocess.run([qemu, tmp_path / "prog", *words], env=env, check=False, capture_output=True)
        return instructions(record.read_text())

    return counted


def test_it_counts_the_same_every_time_and_what_is_more(emulated):
    few = emulated("1000")
    assert emulated("1000") == few
    more = emulated("2000") - few
    assert more % 1000 == 0, "as many in each turn"
    assert emulated("3000") - few == 2 * more


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
        counts.add(instructions(record.read_text()))
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
