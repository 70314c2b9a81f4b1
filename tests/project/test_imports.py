"""Every module can be the first of layoutrand that a program imports: tests that fork a template would not notice."""

import pkgutil
import subprocess
import sys

import pytest

import layoutrand

ALONE = """
import importlib, os, sys
import numpy, pydantic, jinja2, rich.console, scipy.special, typer.main
for name in sys.argv[1:]:
    if os.fork() == 0:
        importlib.import_module(name)
        os._exit(0)
    if os.wait()[1]:
        print(name)
"""


@pytest.mark.hour
def test_every_module_is_imported_alone():
    found = pkgutil.walk_packages(layoutrand.__path__, "layoutrand.")
    names = [each.name for each in found if not each.name.endswith("__main__")]
    done = subprocess.run([sys.executable, "-c", ALONE, *names], capture_output=True, text=True)

    assert len(names) > 300
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
