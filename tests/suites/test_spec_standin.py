"""The stand-in for SPEC CPU itself: it behaves as suites of that protocol do, also where that is inconvenient."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from layoutrand.interop.spec import parse_csv, parse_rsf
from speckit import BENCHMARKS, make_spec_root

CONFIG = """\
label = l
ignore_errors = 1
output_format = csv
strict_rundir_verify = {strict}
verify_binaries = {verify}
default:
CC = gcc
CC_VERSION_OPTION = -v
OPTIMIZE = {flags}
default=base=l:
EXTRA_PORTABILITY = -DSPEC_LP64
"""


class Installed:
    """An installation with a config file, called through its shrc."""

    def __init__(self, folder: Path, version: int = 2017) -> None:
        self.root, self.out, self.path = make_spec_root(folder, version), folder / "out", folder / "a.cfg"
        self.tool = "runspec" if version == 2006 else "runcpu"
        self.write()

    def write(self, *, verify="yes", strict="yes", flags="-O1", extra="") -> None:
        hashes = self.path.read_text().partition("__HASH__")[1:] if self.path.exists() else ()
        text = CONFIG.format(verify=verify, strict=strict, flags=flags) + extra
        if self.tool == "runspec":
            text = text.replace("label =", "ext =").replace("CC_VERSION_OPTION = -v\n", "")
            text = text.replace("verify_binaries", "check_md5").replace("=base=l:", "=base=l=default:")
            text = f"output_root = {self.out}\n{text}"
        self.path.write_text(text + "".join(hashes))

    def call(self, *arguments: str, shrc: bool = True, **env: str) -> tuple[int, str]:
        root = "" if self.tool == "runspec" else f"--output_root={self.out}"
        words = " ".join(
            [self.tool, f"--config={self.path}", root, "--size=test", "--iterations=1", "--noreportable", *arguments]
        )
        begin = ". ./shrc && " if shrc else f"PATH={self.root}/bin:$PATH; "
        done = subprocess.run(
            ["sh", "-c", begin + words], cwd=self.root, env={**os.environ, **env}, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    def results(self, suffix: str) -> list[Path]:
        return sorted((self.out / "result").glob(f"*.{suffix}"))


@pytest.mark.parametrize("version", [2006, 2017, 2026])
def test_a_whole_run_builds_executes_and_reports(tmp_path, version):
    """Raw results and CSV agree, and are in the form that the importers know from real ones."""
    spec = Installed(tmp_path, version)
    names = list(BENCHMARKS[version])[:2]

    status, output = spec.call(*names)

    assert (status, f"Success: 1x{names[0]} 1x{names[1]}" in output) == (0, True)
    (rsf,), (csv,) = spec.results("rsf"), spec.results("csv")
    raw, table = parse_rsf(rsf.read_text(), "x"), parse_csv(csv.read_text(), "x")
    assert [row.benchmark for row in raw.rows] == names
    assert [(row.benchmark, row.value) for row in raw.rows] == [(row.benchmark, row.value) for row in table.rows]
    assert all(len(row.fingerprint) == 64 for row in raw.rows) == (version != 2006)
    assert f"The log for this run is in {spec.results('log')[0]}" in output


def test_a_binary_is_kept_as_long_as_its_hashes_fit(tmp_path):
    """Up to date, then other options: the trap that layoutrand must not step into."""
    spec = Installed(tmp_path)
    spec.call("--action=build", "505.mcf_r")
    exe = next(spec.out.glob("benchspec/CPU/505.mcf_r/exe/*"))
    first = exe.read_bytes()

    assert "  Up to date 505.mcf_r base l" in spec.call("--action=build", "505.mcf_r")[1]
    spec.write(flags="-O2")
    assert "Checksum mismatch for options" in spec.call("--action=build", "505.mcf_r")[1]
    assert exe.read_bytes() != first
    exe.write_bytes(first)
    assert "Checksum mismatch for executable" in spec.call("--action=build", "505.mcf_r")[1]
    exe.write_bytes(first)
    spec.write(verify="no")
    assert "  Up to date" in spec.call("--action=build", "505.mcf_r")[1]
    assert exe.read_bytes() == first


def test_a_run_directory_is_used_again_with_its_old_executable(tmp_path):
    """Unless strict_rundir_verify is on: why every execution has an output root of its own."""
    spec = Installed(tmp_path)
    spec.write(verify="no", strict="no")
    spec.call("505.mcf_r")
    exe = next(spec.out.glob("benchspec/CPU/505.mcf_r/exe/*"))
    copy = spec.out / "benchspec/CPU/505.mcf_r/run/run_base_test_l.0000" / exe.name
    exe.unlink()
    exe.write_bytes(b"another")

    assert "existing (run_base_test_l.0000)" in spec.call("--nobuild", "505.mcf_r")[1]
    assert copy.read_bytes() != b"another"


@pytest.mark.parametrize(
    ("extra", "arguments", "words"),
    [
        ("", ["--label=x"], "ERROR: The label 'x' defines no settings in the config file!"),
        ("default:\nLD = gcc\n", [], "ERROR: LD may not be set"),
        ("default:\nX = %{none}\n", [], "ERROR: Undefined macro 'none'"),
        ("%error no\n", [], "ERROR: no"),
        ("", ["505.gcc_r"], "Can't find benchmark '505.gcc_r'"),
        ("", ["--action=walk"], "Invalid action: 'walk'"),
        ("", ["--unknown"], "Unknown option: unknown"),
    ],
)
def test_what_stops_it(tmp_path, extra, arguments, words):
    """Before anything is built, with status 1."""
    spec = Installed(tmp_path)
    spec.write(extra=extra)

    status, output = spec.call(*arguments, *(["505.mcf_r"] if "505.gcc_r" not in arguments else []))

    assert (status, words in output) == (1, True)
    assert not list(spec.out.glob("benchspec/CPU/*/exe/*"))


def test_it_needs_its_environment(tmp_path):
    """shrc sets it."""
    env = {name: "" for name in ("SPEC",)}
    assert "SPEC environment variable is not set" in Installed(tmp_path).call("505.mcf_r", shrc=False, **env)[1]


def test_without_a_build_there_is_nothing_to_run(tmp_path):
    """--nobuild means it."""
    status, output = Installed(tmp_path).call("--nobuild", "505.mcf_r")

    assert (status, "NOTICE: Nothing to run!  No results will be generated." in output) == (0, True)
