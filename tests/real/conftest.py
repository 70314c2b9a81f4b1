"""Programs that people use, built from their distribution's source packages."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from debian_sources import source_tree, unavailable
from workshop import not_installed

LINKERS = {"gcc": "GNU ld", "gcc-lld": "lld"}


@pytest.fixture(params=["gcc", pytest.param("gcc-lld", marks=pytest.mark.slow)], ids=LINKERS.values())
def toolchain(request):
    """Each toolchain in turn; one that is absent skips, or fails under CI."""
    names = ["ld.lld", *(f"ld.lld-{n}" for n in range(14, 22))]
    if request.param == "gcc-lld" and not any(map(shutil.which, names)):
        unavailable(not_installed("ld.lld", "lld"))
    return request.param


@pytest.fixture
def build_layouts(tmp_path):
    """Build layouts of a package through the command line; the JSON document."""

    def build(package, toolchain, *, commands, artefact, seeds, cflags="-O2"):
        tree = source_tree(package, tmp_path / "source")
        project = tmp_path / "project"
        project.mkdir()
        (project / "layoutrand.toml").write_text(
            f'[project]\nname = "real"\n[build]\nsource = "{tree}"\ncommands = {json.dumps(commands)}\n'
            f'artefacts = ["{artefact}"]\n[systems.A]\ntoolchain = "{toolchain}"\ncflags = "{cflags}"\n'
        )
        env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(seeds), "--json", "-q"]
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return build
