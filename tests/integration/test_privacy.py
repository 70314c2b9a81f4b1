"""What `run.redact` names is used everywhere, and stands in no record, log or answer; nor do credentials."""

from __future__ import annotations

import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterkit import ClusterProject, Machines
from gitkit import make
from layoutrand.build.build import all_layouts
from layoutrand.config.config import Config, parse
from layoutrand.execute.execute import execute
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import RunChoices
from layoutrand.execute.run_request import make_request
from layoutrand.results.file import open_for_reading, open_for_writing, results_path
from workshop import Workshop, main_calling, many_functions

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int u3(int);
int main(int argc, char **argv) {
  const char *token = getenv("TOKEN");
  printf("%s %s %d\n", token, argv[1], u3(1));
  fprintf(stderr, "the server does not take %s\n", token);
  return strlen(token) != 12 || token[5] != '-' || strlen(argv[1]) != 18 || argv[1][6] != 's' ? 2 : argc > 2;
}
"""
BENCHMARKS = """
[[benchmarks]]
name = "works"
command = ["{artefact}", "--key=shell-s3cret"]
env = { TOKEN = "bench-s3cret" }
[[benchmarks]]
name = "fails"
command = ["{artefact}", "--key=shell-s3cret", "more"]
env = { TOKEN = "bench-s3cret" }
[run]
redact = ["FETCH", "TOKEN", "KEY"]
"""
SECRETS = (b"bench-s3cret", b"shell-s3cret", b"build-s3cret")
BUILD = ['echo "fetching with $FETCH"', "$CC -c *.c && $CC -o prog main.o u.o"]


def holding(folder: Path) -> list[Path]:
    """Files below that hold a secret, packed or not."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if any(secret in text for text in (data, unpacked(data)) for secret in SECRETS):
                found.append(path)
    return found


def unpacked(data: bytes) -> bytes:
    """What zlib packed there, behind lines of text or at once."""
    for part in (data, data.partition(b"\n")[2]):
        try:
            return zlib.decompress(part)
        except zlib.error:
            continue
    return b""


@pytest.fixture
def shop(gnu: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A program that tells its secrets."""
    gnu.write(main__c=MAIN, u__c=many_functions(9, prefix="u"))
    monkeypatch.setenv("KEY", "shell-s3cret")
    return gnu


def config_of(shop: Workshop, more: str = "") -> Config:
    """With secrets of the build, of benchmarks and of the shell."""
    text = shop.toml(BUILD, build={"env": {"FETCH": "build-s3cret"}})
    return parse(text + BENCHMARKS + more, path="layoutrand.toml")


def test_nothing_of_it_is_recorded_here(shop: Workshop) -> None:
    """Neither in results nor logs nor the cache; and the program was given it."""
    config = config_of(shop)
    request = make_request(
        config, shop.project, shop.build_all(config, layouts=all_layouts([1], controls=True)), RunChoices(seeds=[1])
    )
    with open_for_writing(results_path(shop.project)) as store:
        execute(request, store=store, executor=measure, progress=lambda _: None, say=lambda _: None)
    with open_for_reading(results_path(shop.project)) as store:
        ((experiment, _),) = store.experiments()
        executions = store.executions(experiment)
        (context,) = store.contexts(experiment)
    assert {(e.benchmark, e.status) for e in executions} == {("works", "ok"), ("fails", "exit")}
    assert {e.argv[1] for e in executions} == {"--key=<redacted KEY>"}
    failed = next(e for e in executions if e.status != "ok")
    assert failed.reason.endswith("the server does not take <redacted TOKEN>")
    log = shop.project / failed.log
    assert (log / "stdout").read_text().startswith("<redacted TOKEN> --key=<redacted KEY> ")
    assert context.config["benchmarks"][0]["env"] == {"TOKEN": "<redacted TOKEN>"}
    assert context.config["build"]["env"] == {"FETCH": "<redacted FETCH>"}
    assert "<redacted FETCH>" in str(context.built)
    assert "SHA-256" not in str(context.built)
    (build_log,) = shop.cache.glob("captures/*/build.log")
    assert "fetching with <redacted FETCH>" in build_log.read_text()
    assert holding(shop.project / ".layoutrand") == []
    assert holding(shop.cache) == []


def test_a_build_that_fails_does_not_tell_it(shop: Workshop) -> None:
    """Neither in its message nor in the log that this names."""
    text = shop.toml([*BUILD, 'echo "error: $FETCH is refused" >&2; exit 1'], build={"env": {"FETCH": "build-s3cret"}})
    (result,) = shop.build_all(parse(text + BENCHMARKS, path="layoutrand.toml"), layouts=[1])
    failure = result.failures[0]
    assert failure.log is not None
    assert "error: <redacted FETCH> is refused" in failure.log.read_text()
    assert "s3cret" not in failure.error
    assert "fetching with <redacted FETCH>" in failure.log.read_text()
    assert holding(shop.cache) == []


def test_another_value_is_another_build(shop: Workshop) -> None:
    """What is masked in the key's facts is told apart."""
    shop.build_all(config_of(shop), layouts=[1])
    shop.build_all(config_of(shop), layouts=[1])
    assert sum("sys: instrumented build" in line for line in shop.said) == 1
    text = shop.toml(BUILD, build={"env": {"FETCH": "build-other-s3cret"}})
    shop.build_all(parse(text + BENCHMARKS, path="layoutrand.toml"), layouts=[1])
    assert sum("sys: instrumented build" in line for line in shop.said) == 2


@pytest.mark.slow
def test_nodes_use_it_and_return_records_without_it(shop: Workshop, tmp_path: Path) -> None:
    """The description of the run, which has it, is for this user's eyes alone."""
    site = ClusterProject(shop, tmp_path / "site")
    described, returned = [], []

    def meddle(_node: str, payload: Any, work: Callable[[Any], Any]) -> Any:
        answer = work(payload)
        described.extend(holding(site.shared))
        returned.extend(site.waiting())
        return answer

    table = (
        f'[cluster]\nkind = "dask"\nscheduler = "none"\nshared = "{site.shared}"\ncache = "{site.folder}/node cache"\n'
    )
    with Machines(site.folder, meddle=meddle) as nodes:
        request = site.request(config_of(shop, table), [1, 2])
        site.execute(nodes, request)
    executions = site.executions()
    assert {(e.benchmark, e.status) for e in executions} == {("works", "ok"), ("fails", "exit")}
    assert {e.argv[1] for e in executions} == {"--key=<redacted KEY>"}
    assert returned
    assert {path.parent.parent.name for path in described} == {"objects"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in described} == {0o600}
    assert holding(shop.project / ".layoutrand") == []
    assert holding(site.folder / "node cache") == []
    assert not [line for line in site.said if any(secret.decode() in line for secret in SECRETS)]


def test_credentials_of_a_repository_are_in_no_record(
    gnu: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are used to fetch, and that is all."""
    files = {"main.c": main_calling("u3"), "u.c": many_functions(9, prefix="u")}
    folder = make(tmp_path / "origin" / "prog", files)
    (tmp_path / "config").write_text(f'[url "{folder.parent}/"]\ninsteadOf = https://me:shell-s3cret@h.invalid/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    repo = "https://me:shell-s3cret@h.invalid/prog"
    text = gnu.toml(BUILD[1:], build={"repo": repo}).replace('source = "src"\n', "")
    config = parse(text + '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', path="layoutrand.toml")
    results = gnu.build_all(config, layouts=all_layouts([1], controls=True))
    assert [failure.error for failure in results[0].failures] == []
    request = make_request(config, gnu.project, results, RunChoices(seeds=[1]))
    with open_for_writing(results_path(gnu.project)) as store:
        execute(request, store=store, executor=measure, progress=lambda _: None, say=lambda _: None)
    assert holding(gnu.cache) == []
    assert holding(gnu.project / ".layoutrand") == []
    assert not [line for line in gnu.said if "s3cret" in line]
