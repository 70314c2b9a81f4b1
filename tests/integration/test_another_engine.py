"""An engine that layoutrand does not come with: one module, and nothing else is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterkit import BENCHMARK, BUILD
from workshop import Workshop, hashes, main_calling, many_functions

MODULE = '''
"""Threads of this process, which executes what it is given itself."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal

from layoutrand.engines.engine import Count, Engine, Remote, TaskExecutor


class Threads(Remote):
    kind: Literal["threads"]
    threads: Count = 1


class Pool(TaskExecutor, ThreadPoolExecutor):
    pass


class ThreadsEngine(Engine):
    name = "threads"
    title = "Threads"
    table = Threads
    node_variable = "NAME_OF_THE_RACK"

    @contextmanager
    def open(self, settings, opening):
        opening.say(f"{settings.threads} threads to {opening.purpose}")
        with Pool(settings.threads) as pool:
            yield pool


ENGINE = ThreadsEngine()
'''


@pytest.fixture
def shop(gnu: Workshop, tmp_path: Path) -> Workshop:
    """A small program, and [cluster] for the engine, whose module lies in a directory of its own."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    table = f'[cluster]\nkind = "threads"\nthreads = 2\nshared = "{tmp_path}/shared"\ncache = "{tmp_path}/node"\n'
    (gnu.project / "layoutrand.toml").write_text(gnu.toml([BUILD]) + BENCHMARK + table)
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "threads.py").write_text(MODULE)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        f"from layoutrand.engines import known\nknown.__path__.append({str(tmp_path / 'engines')!r})\n"
    )
    return gnu


def layoutrand(shop: Workshop, tmp_path: Path, *arguments: str, cache: Path | None = None) -> tuple[dict, str]:
    """What a command prints as JSON, and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "layoutrand", arguments[0], "--json", "-C", str(shop.project), *arguments[1:]],
        env={
            **os.environ,
            "LAYOUTRAND_CACHE": str(cache or shop.cache),
            "PYTHONPATH": str(tmp_path / "site"),
            "NAME_OF_THE_RACK": "rack3",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_an_engine_is_added_by_a_module(shop: Workshop, tmp_path: Path) -> None:
    """It links and executes like those that come with it."""
    alone, _ = layoutrand(shop, tmp_path, "build", "--seeds", "2", "--executor", "local", cache=tmp_path / "alone")

    built, said = layoutrand(shop, tmp_path, "build", "--seeds", "2")
    ran, _ = layoutrand(shop, tmp_path, "run", "--seeds", "2")

    assert "2 threads to link" in said
    assert hashes(built) == hashes(alone)
    assert {row["seed"]: row["node"] for row in built["binaries"] if row["seed"] in (1, 2)} == {1: "rack3", 2: "rack3"}
    assert (ran["executed"], ran["nodes"]) == (6, ["rack3"])
