"""Jars in the form of DaCapo's, JDKs that only look like it, and projects that use them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import startkit

CNF = """\
benchmark {name}
  class {package}.Harness
  thread-model single;

size small args "-o","${{SCRATCH}}"
  output stdout digest 0x62b19e1d55cae2648677cae7bf46afe20dc7c4d5;
size default args "-iterations","2",
                  "size large"
  output stdout digest 0x6c967227a8250d978e2935a681c89b79155d8b65;

description
  short "size matters";
"""
HARNESS = {"2006": "dacapo/TestHarness.class", "later": "org/dacapo/harness/TestHarness.class"}


def make_jar(path, *, manifest="", harness="later", names=("fop", "pmd"), cnf="cnf/", classes="", extra=None):
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\nMain-Class: Harness\r\n{manifest}\r\n")
        for name in names:
            jar.writestr(f"{cnf}{name}.cnf", CNF.format(name=name, package="org.dacapo"))
        if harness:
            jar.writestr(classes + HARNESS[harness], b"class")
        for name, content in (extra or {}).items():
            jar.writestr(name, content)
    return path


def make_jdk(home, script="exit 1", *, library="lib/server/libjvm.so"):
    """A directory in the form of a JDK's home, whose ``java`` is a shell script."""
    for name, content in (("bin/java", f"#!/bin/sh\n{script}\n"), (library, f"of {home.name}\n")):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)
    return home


def toml(value):
    """A value as TOML: strings, numbers, truth and arrays are written as in JSON."""
    return json.dumps(value)


def write_project(root: Path, suite: dict[str, Any], systems: dict[str, dict[str, str]], rest: str = "") -> Path:
    """A project with this ``[suite]`` and these systems."""
    root.mkdir(exist_ok=True)
    tables = ["[project]", 'name = "p"', "[suite]", 'kind = "dacapo"', *(f"{k} = {toml(v)}" for k, v in suite.items())]
    for name, keys in systems.items():
        tables += [f"[systems.{name}]", *(f"{key} = {toml(value)}" for key, value in keys.items())]
    (root / "layoutrand.toml").write_text("\n".join([*tables, rest, ""]))
    return root


def layoutrand(root, *arguments, env=None):
    """The command, as a user has it."""
    return startkit.layoutrand(*arguments, cwd=root, env=env)


def document(root, *arguments, status=0, env=None):
    """The JSON document that a command prints; it must end with this exit status."""
    done = layoutrand(root, *arguments, "--json", env=env)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)
