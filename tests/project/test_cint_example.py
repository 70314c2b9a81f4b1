"""examples/cint without its programs: the inputs are the same everywhere, and what stands in the way is said."""

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from startkit import layoutrand

CINT = Path(__file__).resolve().parents[2] / "examples" / "cint"


def prepare(*arguments, env=None):
    """What `prepare` says, and its exit status."""
    command = [sys.executable, CINT / "prepare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})


@pytest.fixture(scope="module")
def workloads():
    """The module of that name in examples/cint/preparation."""
    sys.path.insert(0, str(CINT))
    try:
        from preparation import workloads
    finally:
        sys.path.remove(str(CINT))
    return workloads


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("tiny", "a3d8301e82badb603e590da0df94b8407499a29ee02e8272adb66651de2ceaa9"),
        ("small", "06e81dfcf1d66316e736d9e3388df7ce92a367e3db149b82cdfa326bc545b259"),
    ],
)
def test_inputs_are_the_same_bytes_everywhere(workloads, size, expected):
    """The reference outputs that are checked in belong to these inputs."""
    digest = hashlib.sha256()
    for name, workload in sorted(workloads.WORKLOADS.items()):
        for path, content in sorted(workload(size).written.items()):
            digest.update(f"{name} {path} {len(content)}\n".encode())
            digest.update(content)
    assert digest.hexdigest() == expected


def test_every_program_has_a_workload_and_a_reference_in_each_size(workloads):
    for size in ("tiny", "small", "test", "train", "ref"):
        kept = {path.stem for path in (CINT / "reference" / size).glob("*.out")}
        assert kept | {"bzip2"} == set(workloads.WORKLOADS), size  # Python's own bz2 knows what bzip2 must answer


@pytest.mark.skipif(shutil.which("apt-cache") is None, reason="there is no apt")
def test_a_machine_without_source_packages_is_told_how_to_enable_them(tmp_path):
    """An apt that knows no archive at all: nothing can be fetched, and nothing is made up."""
    settings = tmp_path / "apt.conf"
    settings.write_text(
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "/dev/null";\nDir::State::Lists "{tmp_path}";\n'
        f'Dir::Cache "{tmp_path}";\n'
    )
    done = prepare(
        "--programs", "lua", "--archives", tmp_path / "kept", tmp_path / "p", env={"APT_CONFIG": str(settings)}
    )
    assert done.returncode == 1
    assert "deb-src" in done.stderr
    assert "--private-lists" in done.stderr
    assert not (tmp_path / "p" / "layoutrand.toml").exists()


def test_an_archive_that_is_not_the_pinned_one_is_refused(tmp_path):
    kept = tmp_path / "kept" / "lua5.4"
    kept.mkdir(parents=True)
    (kept / "lua5.4_5.4.4.orig.tar.gz").write_bytes(b"something else")
    done = prepare("--programs", "lua", "--archives", tmp_path / "kept", tmp_path / "p")
    assert done.returncode == 1
    assert "is not the archive that this suite was made with" in done.stderr


def test_a_directory_that_is_in_use_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("")
    done = prepare("--programs", "lua", tmp_path)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_program_is_named_beside_those_there_are(tmp_path):
    done = prepare("--programs", "lua,perl", tmp_path / "p")
    assert done.returncode == 2
    assert "no 'perl'; there are bzip2, chess," in done.stderr


def test_results_become_tables(tmp_path):
    """What analyse and compare print of measurements, as the tables of RESULTS.md, put where they belong there."""
    with (tmp_path / "data.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["benchmark", "system", "seed", "execution", "iteration", "value", "unit"])
        for system, base in (("O2", 2.0), ("O3", 1.0)):
            for seed in range(1, 7):
                rows.writerow(["tree", system, seed, 1, 1, base + seed % 3 / 100, "s"])
    documents = []
    for name, words in (("analyse", ["analyse"]), ("compare", ["compare", "O2", "O3"])):
        done = layoutrand(*words, "--import", tmp_path / "data.csv", "--json", "-q", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        documents.append(tmp_path / f"{name}.json")
        documents[-1].write_text(done.stdout)
    page = tmp_path / "RESULTS.md"
    page.write_text("before\n<!-- tables:begin -->\nold\n<!-- tables:end -->\nafter\n")
    subprocess.run([sys.executable, CINT / "results", *documents, "--write", page], check=True)
    text = page.read_text()

    assert text.startswith("before\n<!-- tables:begin -->\n| system |")
    assert text.endswith("<!-- tables:end -->\nafter\n")
    assert "old" not in text
    ratio = json.loads(documents[1].read_text())["benchmarks"][0]["ratio"]
    assert f"| tree | {ratio:.4f} [" in text
    assert "| O2 | tree | 6 | 2.01 s | 0.44 % |" in text  # values 2.00, 2.01, 2.02, twice each: sd 0.00894


def test_other_documents_are_no_results(tmp_path):
    (tmp_path / "other.json").write_text('{"schema": "layoutrand/run/1"}')
    done = subprocess.run([sys.executable, CINT / "results", tmp_path / "other.json"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "layoutrand/run/1" in done.stderr


def explained(system, mechanism, recommended):
    """A benchmark of a document of `layoutrand explain --remedy`."""
    sd = {"answer": "yes", "relative_sd": 0.08, "interval": [0.0, None], "upper": None}
    after = {"answer": "no", "relative_sd": 0.0, "interval": [0.0, 0.08], "upper": 0.08}
    tried = [
        {
            "system": "O2+file",
            "flags": "-falign-functions=64",
            "files": ["gates.c"],
            "layout_sd": after,
            "ratio": 0.9,
            "interval": [0.86, 0.95],
        },
        {"system": "O2+order", "flags": "", "files": [], "layout_sd": after, "ratio": 1.0, "interval": [0.9, 1.1]},
    ]
    suspect = {
        "feature": "lines under f",
        "ratio": 1.27,
        "interval": [1.23, 1.31],
        "cause": {"mechanism": mechanism},
    }
    return {
        "system": system,
        "benchmark": "b",
        "suspects": [suspect],
        "remedies": {"recommended": recommended, "layout_sd": sd, "tried": tried},
    }


def test_causes_and_cures_become_a_table(tmp_path):
    nothing = {"system": "O3", "benchmark": "c", "suspects": [], "remedies": None}
    document = tmp_path / "explain.json"
    document.write_text(
        json.dumps(
            {
                "schema": "layoutrand/explain/1",
                "benchmarks": [
                    explained("O2", "line", "O2+file"),
                    explained("lto", None, "O2+order"),
                    explained("O3", None, None),
                    nothing,
                ],
            }
        )
    )
    text = subprocess.run(
        [sys.executable, CINT / "results", document], check=True, capture_output=True, text=True
    ).stdout
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    assert rows[1] == [
        "O2",
        "b",
        "1",
        "lines under f",
        "1.270 [1.2300, 1.3100]",
        "line",
        "`-falign-functions=64` for gates.c",
        "8.0 % [0.0, inf]",
        "0.0 % [0.0, 8.0]",
        "0.900 [0.8600, 0.9500]",
    ]
    assert rows[2][5:7] == ["cannot tell", "a linker order"]
    assert rows[3][6:] == ["nothing", "8.0 % [0.0, inf]", "", ""]
    assert "Nothing was found in 1 of 4: c O3." in text
