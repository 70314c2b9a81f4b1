"""`layoutrand bundle` and `layoutrand staging` as a user meets them: a capture on a disk, and a shared directory."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from startkit import layoutrand
from workshop import Workshop, hashes, main_calling, many_functions

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"


pytestmark = pytest.mark.slow


@pytest.fixture
def shop(gnu: Workshop) -> Workshop:
    """A small program in a project of its own."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    (gnu.project / "layoutrand.toml").write_text(gnu.toml([BUILD]))
    return gnu


def said(cache: Path, project: Path, *arguments: str, status: int = 0) -> str:
    """What a command prints, or what is wrong."""
    done = layoutrand(*arguments, cwd=project, env={**os.environ, "LAYOUTRAND_CACHE": str(cache)})
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def document(cache: Path, project: Path, *arguments: str) -> Any:
    """Its JSON."""
    return json.loads(said(cache, project, *arguments, "--json"))


@pytest.fixture
def elsewhere(shop: Workshop, tmp_path: Path) -> Path:
    """The same source on another machine, in another directory."""
    target = tmp_path / "another machine"
    shutil.copytree(shop.project, target)
    return target


def test_a_capture_carried_to_another_machine(shop: Workshop, elsewhere: Path, tmp_path: Path) -> None:
    """The build there finds it and compiles nothing; the binaries are the same."""
    here, there, disk = shop.cache, tmp_path / "there", tmp_path / "disk"
    built = document(here, shop.project, "build", "--seeds", "2", "--no-controls")
    system = built["binaries"][0]["system"]
    digest = said(here, shop.project, "bundle", "export", "-q", system, str(disk)).strip()
    arrived = document(there, elsewhere, "bundle", "import", str(disk), digest)
    assert (arrived["digest"], arrived["system"], arrived["capture"]) == (digest, system, built["capture"]["id"])
    assert arrived["files"] > 2
    assert arrived["size"] > arrived["moved"] > 0
    again = document(there, elsewhere, "build", "--seeds", "2", "--no-controls")
    assert again["capture"]["cached"]
    assert hashes(again) == hashes(built)
    repeated = document(there, elsewhere, "bundle", "import", str(disk))
    assert repeated == {**arrived, "files": 0, "moved": 0}


def test_what_is_carried_is_no_part_of_the_source_that_it_lies_in(shop: Workshop) -> None:
    """It was a change of the source: the next build captured anew, and the next export found no capture."""
    (system,) = shop.config([BUILD]).systems
    source = shop.project / "src"
    assert (source / "main.c").is_file()
    said(shop.cache, shop.project, "build", "--seeds", "1", "--no-controls")
    digest = said(shop.cache, shop.project, "bundle", "export", "-q", system, str(source / "carry"))
    assert document(shop.cache, shop.project, "build", "--seeds", "1", "--no-controls")["capture"]["cached"]
    assert said(shop.cache, shop.project, "bundle", "export", "-q", system, str(source / "carry")) == digest
    (source / "carry" / "of-my-own.c").write_text("int x;\n")
    assert not document(shop.cache, shop.project, "build", "--seeds", "1", "--no-controls")["capture"]["cached"]


def test_without_a_capture_there_is_nothing_to_export(shop: Workshop, tmp_path: Path) -> None:
    """Neither before the first build nor after a change of the source; the error says what to do."""
    (system,) = shop.config([BUILD]).systems
    export = ("bundle", "export", system, str(tmp_path / "disk"))
    words = f"layoutrand build --system {system} --seeds 1"
    assert words in said(shop.cache, shop.project, *export, status=1)
    said(shop.cache, shop.project, "build", "--seeds", "1")
    said(shop.cache, shop.project, *export)
    shop.write(u__c=many_functions(8, prefix="u"))
    assert words in said(shop.cache, shop.project, *export, status=1)
    (shop.project / "layoutrand.toml").write_text(shop.toml([BUILD], build={"mode": "rebuild"}))
    assert "there is no capture that could be carried" in said(shop.cache, shop.project, *export, status=2)


def test_which_of_several_and_none(shop: Workshop, tmp_path: Path) -> None:
    """A directory with two captures asks which; one with none, with a damaged one, and a wrong digest are refused."""
    cache, disk = shop.cache, tmp_path / "disk"
    (system,) = shop.config([BUILD]).systems
    assert "nothing was exported to" in said(cache, shop.project, "bundle", "import", str(disk), status=2)
    digests = []
    for count in (9, 8):
        shop.write(u__c=many_functions(count, prefix="u"))
        said(cache, shop.project, "build", "--seeds", "1", "--no-controls")
        digests.append(said(cache, shop.project, "bundle", "export", "-q", system, str(disk)).strip())
    asked = said(cache, shop.project, "bundle", "import", str(disk), status=2)
    assert all(f"{digest} ({system})" in asked for digest in digests)
    assert "is not a digest" in said(cache, shop.project, "bundle", "import", str(disk), "../x", status=2)
    path = disk / "carried" / f"{digests[0]}.json"
    path.write_text(path.read_text().replace(system, "another"))
    assert "is damaged" in said(cache, shop.project, "bundle", "import", str(disk), digests[0], status=1)


def test_a_shared_directory_is_listed_and_collected(shop: Workshop, tmp_path: Path) -> None:
    """What [cluster] names; nothing young goes, what is old does, and what would go is said before."""
    shared = tmp_path / "shared"
    (system,) = shop.config([BUILD]).systems
    assert "no [cluster]" in said(shop.cache, shop.project, "staging", "ls", status=2)
    said(shop.cache, shop.project, "build", "--seeds", "1", "--no-controls")
    said(shop.cache, shop.project, "bundle", "export", system, str(shared))
    table = f'[cluster]\nkind = "dask"\nscheduler = "tcp://127.0.0.1:1"\nshared = "{shared}"\n'
    with (shop.project / "layoutrand.toml").open("a") as file:
        file.write(table)
    listed = document(shop.cache, shop.project, "staging", "ls")
    assert {row["kind"] for row in listed["entries"]} == {"bundle", "carried"}
    assert listed["totals"]["content"]["number"] > 2
    assert "captures for other machines" in said(shop.cache, shop.project, "staging", "ls")
    assert document(shop.cache, shop.project, "staging", "gc", "--older-than", "0h")["deleted"] == []
    for path in shared.rglob("*"):
        os.utime(path, (0, 0))
    would = document(shop.cache, shop.project, "staging", "gc", "--dry-run")
    assert document(shop.cache, shop.project, "staging", "ls")["totals"] == listed["totals"]
    did = document(shop.cache, tmp_path, "staging", "gc", "--shared", "shared")
    assert did == {**would, "dry_run": False}
    assert did["freed"] == sum(total["size"] for total in listed["totals"].values())
    assert not [path for path in shared.rglob("*") if path.is_file()]
    assert "write an age such as 30d" in said(shop.cache, shop.project, "staging", "gc", "--older-than", "1y", status=2)
