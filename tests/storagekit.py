"""Programs whose layouts the cache keeps in one way or another, at the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from layoutrand.model import STOCK
from workshop import Workshop, main_calling, many_functions

BUILD = "$CC -g -c *.c && $CC -o prog main.o u.o"
BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nexpect_stdout = "said"\n'


def sources(shop: Workshop) -> None:
    shop.write(main__c=main_calling("u39"), u__c=many_functions(40, prefix="u"))


def at_the_command_line(shop: Workshop, layout: dict[str, Any] | None = None) -> None:
    """The project's file, for commands."""
    (shop.project / "layoutrand.toml").write_text(shop.toml([BUILD], layout=layout) + BENCHMARK)
    (shop.project / "said").touch()
    stock = binaries(shop)[STOCK]["path"]
    (shop.project / "said").write_bytes(subprocess.run([stock], capture_output=True, check=True).stdout)


def command(shop: Workshop, *words: str, status: int = 0) -> str:
    """What a command prints, of which it must be the exit status."""
    env = {**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)}
    words = (sys.executable, "-m", "layoutrand", *words)
    done = subprocess.run(words, cwd=shop.project, env=env, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def binaries(shop: Workshop, *words: str) -> dict[Any, dict[str, Any]]:
    """What `build` says of each, by layout."""
    document = json.loads(command(shop, "build", "--seeds", "1..4", "--json", *words))
    assert not document["failures"]
    return {each["seed"]: each for each in document["binaries"]}
