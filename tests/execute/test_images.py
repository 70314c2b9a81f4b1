"""Directories of which one file is the layout's: made once, linked for each execution, proved by what is loaded.

The launcher behaves as ``java`` does: it finds its home through /proc/self/exe, and the library below it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import startkit
from layoutrand.execute import images
from workshop import require

LAUNCHER = r"""
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char self[PATH_MAX] = "", library[PATH_MAX + 32], real[PATH_MAX], archive[PATH_MAX + 32];
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 10;
    char *home = dirname(dirname(self));
    snprintf(library, sizeof library, "%s/lib/libengine.so", home);
    snprintf(archive, sizeof archive, "%s/lib/archive", home);
    if (!realpath(library, real)) return 11;
    void *handle = dlopen(real, RTLD_NOW);
    if (!handle) { fprintf(stderr, "%s\n", dlerror()); return 12; }
    int (*work)(int) = (int (*)(int))dlsym(handle, "work");
    if (argc > 1 && !strcmp(argv[1], "--dump")) {
        FILE *file = fopen(archive, "w");
        return !file || fprintf(file, "%d\n", work(1)) < 0 || fclose(file);
    }
    if (argc > 1 && !strcmp(argv[1], "--version")) { puts("engine"); fflush(stdout); usleep(50000); return 0; }
    if (argc > 1 && !strcmp(argv[1], "--spoil")) { chmod(archive, 0644); FILE *f = fopen(archive, "a"); fputs("x", f); return fclose(f); }
    FILE *file = fopen(archive, "r");
    char line[64] = "none";
    if (file && !fgets(line, sizeof line, file)) return 13;
    printf("work %d, archive %s\n", work(2), line);
    return 0;
}
"""
ENGINE = "".join(f"int f{k}(int x) {{ return x * {k}; }}\n" for k in range(12))
ENGINE += "int work(int x) { return " + " + ".join(f"f{k}(x)" for k in range(12)) + "; }\n"
CONFIG = """\
[project]
name = "p"
[build]
source = "src"
commands = ["$CC -shared -fPIC -o libengine.so engine.c"]
artefacts = ["libengine.so"]
[build.image]
template = "the home"
path = "lib/libengine.so"
exclude = ["doc", "lib/*.old"]
setup = ["{home}/bin/launch", "--dump"]
check = ["{home}/bin/launch", "--version"]
[systems.a]
cflags = "-O1"
[[benchmarks]]
name = "b"
command = ["{home}/bin/launch"]
expect_stdout = "expected"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    require("gcc", "gcc")
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    for folder in ("src", "the home/bin", "the home/lib", "the home/doc", "elsewhere"):
        (root / folder).mkdir(parents=True)
    (root / "src/engine.c").write_text(ENGINE)
    (tmp_path / "launch.c").write_text(LAUNCHER)
    home = root / "the home"
    subprocess.run(["gcc", "-o", home / "bin/launch", tmp_path / "launch.c", "-ldl"], check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", home / "lib/libengine.so", root / "src/engine.c"], check=True)
    (home / "lib/settings.old").symlink_to("nowhere")
    (home / "doc/readme").write_text("not needed")
    (root / "elsewhere/settings").write_text("of the system")
    (home / "lib/settings").symlink_to(root / "elsewhere/settings")
    (root / "expected").write_text("work 132, archive 66\n\n")
    (root / "layoutrand.toml").write_text(CONFIG)
    return root


def layoutrand(root, *arguments):
    return startkit.layoutrand(*arguments, "--share-machine", cwd=root)


def run(root, *arguments):
    done = layoutrand(root, "run", "--seeds", "3", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def image_of(root):
    (folder,) = (path for path in (root / ".layoutrand/images").iterdir() if path.is_dir())
    return folder


@pytest.mark.slow
def test_every_layout_is_executed_in_an_image_of_its_own(project):
    summary = run(project)
    assert (summary["executions"], summary["failures"]) == (9, [])
    folder = image_of(project)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == ["bin/launch", "lib/archive", "lib/settings"], "neither the template's library nor what is excluded"
    assert not (folder / "lib/settings").is_symlink()
    assert (project / "the home/lib").exists() and not (project / "the home/lib/archive").exists()
    assert run(project)["already"] == 9


@pytest.mark.slow
def test_systems_that_differ_in_words_alone_share_an_image_and_its_set_up(project):
    text = CONFIG.replace('["{home}/bin/launch"]\nexpect', '["{home}/bin/launch", "{args}"]\nexpect')
    text = text.replace("[[benchmarks]]", '[systems.b]\ncflags = "-O1"\nargs = "--fast --slow"\n[[benchmarks]]')
    (project / "layoutrand.toml").write_text(text)
    summary = run(project)
    assert (summary["executions"], summary["failures"]) == (18, [])
    assert (image_of(project) / "lib/archive").exists()


@pytest.mark.slow
def test_another_template_is_another_experiment(project):
    run(project)
    (project / "elsewhere/settings").write_text("changed")
    assert run(project)["already"] == 0
    assert len([path for path in (project / ".layoutrand/images").iterdir() if path.is_dir()]) == 2


def test_a_template_that_leads_elsewhere_is_an_error(project):
    """A launcher whose home is found through a link to the template loads the template's library."""
    home = project / "the home"
    os.rename(home / "bin/launch", home / "bin/real")
    (home / "bin/launch").write_text(f'#!/bin/sh\nexec "{home}/bin/real" "$@"\n')
    (home / "bin/launch").chmod(0o755)
    (project / "layoutrand.toml").write_text(CONFIG.replace('setup = ["{home}/bin/launch", "--dump"]\n', ""))
    done = layoutrand(project, "run", "--seeds", "1")
    assert done.returncode == 1
    text = " ".join(done.stderr.split())
    assert f"loads {home}/lib/libengine.so, not the layout's own" in text
    assert "system a, layout" in text


def test_doubled_braces_are_braces_in_a_check_as_in_any_command():
    assert images.filled_in(["{home}/x", "{{home}}"], Path("/h")) == ["/h/x", "{home}"]


def test_a_check_that_loads_nothing_proves_nothing(project):
    (project / "layoutrand.toml").write_text(CONFIG.replace('["{home}/bin/launch", "--version"]', '["true"]'))
    done = layoutrand(project, "run", "--seeds", "1")
    assert done.returncode == 1
    assert "never had a file called libengine.so in its memory" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"--dump"', '"--none", "x"', None),
        ('["{home}/bin/launch", "--dump"]', '["false"]', "build.image.setup ended with status 1 (false)"),
        ('["{home}/bin/launch", "--version"]', '["false"]', "build.image.check (false) ended with status 1"),
        (
            '["{home}/bin/launch", "--version"]',
            '["/no/such"]',
            "build.image.check cannot be executed: No such file or directory (/no/such)",
        ),
        ('"the home"', '"nowhere"', "nowhere: no such directory; build.image.template must be one"),
        (
            '["{home}/bin',
            '["{artefact}/bin',
            "{artefact} in '{artefact}/bin/launch' is not a placeholder here; there is {home}",
        ),
        (
            'path = "lib/',
            'path = "../lib/',
            "build.image.path: '../lib/libengine.so' must be a file's path relative to the template",
        ),
        (
            'path = "lib',
            'artefact = "libengin.so"\npath = "lib',
            "build.image.artefact: 'libengin.so' is not in build.artefacts; did you mean 'libengine.so'?",
        ),
    ],
)
def test_wrong_settings_are_said(project, old, new, message):
    (project / "layoutrand.toml").write_text(CONFIG.replace(old, new))
    done = layoutrand(project, "run", "--seeds", "1")
    assert done.returncode != 0
    if message is not None:
        assert message in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_check_may_print_more_than_a_pipe_holds(project):
    check = """["sh", "-c", "head -c 300000 /dev/zero | tr '\\\\0' x; exec {home}/bin/launch --version"]"""
    (project / "layoutrand.toml").write_text(CONFIG.replace('["{home}/bin/launch", "--version"]', check))
    assert run(project)["failures"] == []


def test_a_template_with_a_link_into_itself_is_an_error(project):
    (project / "the home/lib/again").symlink_to("..")
    done = layoutrand(project, "run", "--seeds", "1")
    assert done.returncode != 0
    assert "of build.image.template: Too many levels of symbolic links" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_program_that_writes_into_its_home_is_found_out(project):
    run(project)
    (project / "layoutrand.toml").write_text(
        CONFIG.replace(
            'command = ["{home}/bin/launch"]\nexpect_stdout = "expected"', 'command = ["{home}/bin/launch", "--spoil"]'
        )
    )
    summary = json.loads(layoutrand(project, "run", "--seeds", "3", "--keep-going", "--json").stdout)
    assert len(summary["failures"]) == 9, "each has an image that the one before it has not spoilt"
    assert {(one["status"], "home/lib/archive (its size)" in one["reason"]) for one in summary["failures"]} == {
        ("altered", True)
    }
    (project / "layoutrand.toml").write_text(CONFIG)
    assert run(project, "--seeds", "4")["failures"] == [], "the image is made anew"
    folder = image_of(project)
    assert not any(path.stat().st_mode & 0o222 for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_an_image_that_was_changed_between_two_runs_is_not_executed(project):
    run(project)
    archive = image_of(project) / "lib/archive"
    archive.chmod(0o644)
    archive.write_text("67\n")
    done = layoutrand(project, "run", "--seeds", "4")
    assert done.returncode == 1
    assert "lib/archive was changed since the image was made" in " ".join(done.stderr.split())
