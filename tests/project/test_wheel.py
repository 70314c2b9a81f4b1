"""A wheel works outside the tree: toolchains, templates and the example travel inside."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = target.glob("*.whl")
    return path


def test_a_wheel_holds_data_as_real_files(wheel):
    """The symbolic links of the source tree are files in the wheel, and nothing built slips in."""
    names = zipfile.ZipFile(wheel).namelist()

    assert {
        "layoutrand/toolchains/gcc.toml",
        "layoutrand/templates/cc.sh.j2",
        "layoutrand/templates/ld.sh.j2",
        "layoutrand/templates/report.html.j2",
        "layoutrand/templates/report.css",
        "layoutrand/templates/report.js",
        "layoutrand/schemas/layoutrand.schema.json",
    } <= set(names)
    assert "layoutrand/quickstart/layoutrand.toml" in names
    manual = {name.rsplit("/", 1)[1] for name in names if ".data/data/share/man/man1/" in name}
    assert {"layoutrand.1", "layoutrand-run.1"} <= manual
    assert [name for name in names if name.endswith((".o", ".a", ".pyc"))] == []


@pytest.mark.slow
def test_a_wheel_from_the_sdist_holds_the_same(wheel, tmp_path):
    """What the sdist lacked, who installs from source would lack: the example is reached in two ways."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")

    def content(file):
        with zipfile.ZipFile(file) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    assert content(path) == content(wheel)


@pytest.mark.slow
def test_a_wheel_builds_layouts_outside_the_tree(wheel, tmp_path):
    """Installed alone into a fresh environment, it captures and links a program."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    site = Path(
        subprocess.run(
            [environment / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    zipfile.ZipFile(wheel).extractall(site)
    # The dependencies come from the environment of the tests; only layoutrand itself is the wheel's.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "p.c").write_text(
        "int a(int x){return x+1;} int b(int x){return x*2;} int main(void){return a(b(0))-1;}\n"
    )
    (project / "layoutrand.toml").write_text(
        '[project]\nname = "p"\n[build]\ncommands = ["$CC -o p p.c"]\nartefacts = ["p"]\n[systems.A]\n'
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    python = [environment / "bin" / "python", "-m", "layoutrand"]

    where = subprocess.run(
        [environment / "bin" / "python", "-c", "import layoutrand; print(layoutrand.__file__)"],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    done = subprocess.run([*python, "build", "--seeds", "2..3"], cwd=project, env=env, capture_output=True, text=True)

    assert where.startswith(str(site))
    assert done.returncode == 0, done.stderr
