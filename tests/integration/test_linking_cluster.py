"""Layouts linked on nodes: the same bytes as without nodes, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from clusterkit import Processes
from layoutrand.build.build import SystemBuild, all_layouts, build
from layoutrand.build.build_document import build_document
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.linking import Linking
from layoutrand.cache.packing import keep_as_deltas
from layoutrand.cache.store import Cache
from layoutrand.cluster import linking_node as nodes
from layoutrand.cluster.linking_node import LinkingAnswer, LinkingTask, link_task
from layoutrand.cluster.linking_tasks import LinkingCluster, collect_linked
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.engines.engine import TaskExecutor
from layoutrand.engines.known.dask import Dask
from layoutrand.errors import BundleError, ClusterError
from layoutrand.model import IDENTITY, STOCK, LayoutName
from layoutrand.objects import elf
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.platform.process import Completed, SubprocessRunner
from speeds import first_fast
from workshop import Workshop, main_calling, many_functions, only_error, programs_of, whole

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"
LAYOUTS = all_layouts(list(range(1, 8)), controls=True)


@dataclass
class Submitter:
    """A project whose layouts are linked on nodes that share one cache beside it."""

    shop: Workshop
    shared: Path
    node: Path
    chunk: int = 2
    retries: int = 2
    cluster: LinkingCluster | None = None
    advanced: list[None] = field(default_factory=list)

    def build(
        self, executor: TaskExecutor, *, layouts: Sequence[LayoutName] = LAYOUTS, commands: str = BUILD, **changes: Any
    ) -> SystemBuild:
        """Build with this executor."""
        settings = Dask(
            kind="dask",
            scheduler="none",
            shared=str(self.shared),
            cache=str(self.node),
            chunk=self.chunk,
            retries=self.retries,
        )
        self.cluster = LinkingCluster(executor, SharedDirectory(self.shared), settings, self.shop.said.append)
        config = self.shop.config(commands, **changes)
        progress = BuildProgress(self.shop.said.append, lambda: self.advanced.append(None))
        setup = BuildSetup.of(config, self.shop.project, Cache(self.shop.cache), self.shop.runner, progress, jobs=2)
        (result,) = build(replace(setup, nodes=self.cluster), list(config.systems), layouts)
        return result

    def waiting(self) -> list[Path]:
        """Binaries that wait to be collected."""
        return [path for path in self.shared.glob("results/*/*") if path.is_file()]

    def told(self, words: str) -> list[str]:
        """What was said of this."""
        return [line for line in self.shop.said if words in line]


@pytest.fixture
def submitter(gnu: Workshop, tmp_path: Path) -> Iterator[Submitter]:
    """A small program, and nodes that have never heard of it."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    nodes._imported.cache_clear()
    yield Submitter(gnu, tmp_path / "shared", tmp_path / "the node's own" / "cache")
    nodes._imported.cache_clear()


class Nodes(TaskExecutor):
    """Nodes of this process; ``meddle`` is called with the number of the submission, the chunk and what links it."""

    def __init__(
        self, meddle: Callable[[int, LinkingTask, Callable[[LinkingTask], LinkingAnswer]], LinkingAnswer]
    ) -> None:
        self.tasks: list[LinkingTask] = []
        self._meddle = meddle
        self._pool = ThreadPoolExecutor(2)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Link in a thread, or do what the meddler does."""
        (chunk,) = args
        assert fn is link_task
        self.tasks.append(chunk)
        return self._pool.submit(self._meddle, len(self.tasks), chunk, link_task)


def honest(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
    """A node that does as it is told."""
    return link(chunk)


def digests(result: SystemBuild) -> dict[object, str]:
    """Whole-file hashes by layout."""
    return {binary.layout: binary.sha256 for binary in result.binaries}


def without_nodes(submitter: Submitter, tmp_path: Path, **changes: Any) -> dict[object, str]:
    """What this machine makes of it alone, in a cache of its own."""
    alone = Workshop(submitter.shop.project, tmp_path / "alone", submitter.shop.linker)
    return digests(alone.build(BUILD, layouts=LAYOUTS, **changes))


@pytest.mark.slow
def test_processes_of_their_own_make_the_same_binaries(submitter: Submitter, tmp_path: Path) -> None:
    """Linked elsewhere, under another path, from the bundle: every byte as without nodes, verified, and collected."""
    with Processes(2, mp_context=get_context("spawn")) as pool:
        result = submitter.build(pool)
    assert digests(result) == without_nodes(submitter, tmp_path)
    made = whole(result)
    made.assert_all_print_as_stock()
    assert {binary.cached for binary in result.binaries} == {False}
    assert all(binary.path.is_relative_to(submitter.shop.cache) for binary in result.binaries)
    assert len(submitter.advanced) == len(LAYOUTS)
    assert submitter.waiting() == []
    assert len(list((submitter.node / "captures").iterdir())) == 1
    seeded = {path.name for path in (submitter.node / "binaries").iterdir()}
    assert (
        len(seeded) == len(LAYOUTS) - 1
    )  # identity too, which every node repeats to prove its linker; stock is no link


def test_the_document_names_the_node_of_each_binary(submitter: Submitter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those that are in the cache already; what this machine linked has none."""
    monkeypatch.setenv("LAYOUTRAND_NODE", "rack3-n7")
    for _again in range(2):
        rows = build_document([submitter.build(Nodes(honest))])["binaries"]
        assert {row["seed"]: row["node"] for row in rows} == {
            layout: None if layout in {STOCK, IDENTITY} else "rack3-n7" for layout in LAYOUTS
        }


def test_what_nodes_link_is_kept_as_deltas_here(submitter: Submitter, tmp_path: Path) -> None:
    """Whatever is kept where they link it: the same layouts, against the identity that was linked here."""
    result = submitter.build(Nodes(honest), layout={"storage": "delta"})
    by_layout = whole(result).by_layout
    assert digests(result) == without_nodes(submitter, tmp_path)
    assert {layout: binary.base for layout, binary in by_layout.items()} == {
        layout: None if layout in {STOCK, IDENTITY} else by_layout[IDENTITY].path for layout in LAYOUTS
    }
    assert not list(submitter.node.glob("binaries/*/prog.zst"))
    assert len({binary.node for binary in result.binaries}) == 2
    # A node that has made deltas of what is in its cache sends what they stand for.
    shutil.rmtree(submitter.shop.cache / "binaries")
    keep_as_deltas(Cache(submitter.node))
    assert digests(submitter.build(Nodes(honest))) == digests(result)
    assert not list(submitter.shop.cache.glob("binaries/*/prog.zst"))


def test_a_second_build_asks_no_node(submitter: Submitter) -> None:
    """What is in this machine's cache is there; a new seed alone is given out."""
    first = submitter.build(Nodes(honest))
    again = Nodes(honest)
    assert digests(submitter.build(again)) == digests(first)
    assert again.tasks == []
    submitter.build(again, layouts=[*LAYOUTS, 99])
    assert [chunk.layouts for chunk in again.tasks] == [(99,)]


@pytest.mark.slow
def test_several_artefacts_factors_and_no_controls(submitter: Submitter, tmp_path: Path) -> None:
    """Without identity among the layouts the first seed is what nodes repeat; data moves as without nodes."""
    changes = {"layout": {"factors": ["module-order", "data-order", "padding"]}}
    result = submitter.build(Nodes(honest), layouts=[3, 4, 5], **changes)
    wanted = without_nodes(submitter, tmp_path, **changes)
    assert digests(result) == {layout: wanted[layout] for layout in (3, 4, 5)}


def test_what_is_lost_is_given_out_again(submitter: Submitter, tmp_path: Path) -> None:
    """Each first attempt is lost before anything happens."""

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        if number <= 4:
            raise OSError("the node burned down")
        return link(chunk)

    executor = Nodes(meddle)
    assert digests(submitter.build(executor)) == without_nodes(submitter, tmp_path)
    assert len(executor.tasks) == 8
    assert len(submitter.told("its task was lost: OSError: the node burned down; it is given out again")) == 4


def test_what_was_finished_before_the_node_was_lost_is_kept(submitter: Submitter, tmp_path: Path) -> None:
    """The answer never arrives, the binaries have: nothing is linked twice."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        link(chunk)
        raise OSError("the node burned down")

    executor = Nodes(meddle)
    assert digests(submitter.build(executor)) == without_nodes(submitter, tmp_path)
    assert len(executor.tasks) == 4


@pytest.mark.slow
def test_half_of_a_lost_chunk_is_kept(submitter: Submitter) -> None:
    """Only the layouts that did not arrive are given out again."""

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        if number == 1:
            link(replace(chunk, layouts=chunk.layouts[:1]))
            raise OSError("the node burned down")
        return link(chunk)

    executor = Nodes(meddle)
    assert not submitter.build(executor).failures
    assert [len(chunk.layouts) for chunk in executor.tasks] == [2, 2, 2, 1, 1]


@pytest.mark.slow
def test_a_task_done_twice_is_done_no_differently(submitter: Submitter, tmp_path: Path) -> None:
    """As when Slurm requeues a job whose node comes back."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        link(chunk)
        return link(chunk)

    result = submitter.build(Nodes(meddle))
    assert digests(result) == without_nodes(submitter, tmp_path)
    assert len(result.binaries) == len(LAYOUTS)
    assert len(submitter.advanced) == len(LAYOUTS)


def test_what_is_lost_too_often_is_recorded(submitter: Submitter) -> None:
    """With how often it was tried, what was said, and a log; the rest is not touched by it."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        if 3 in chunk.layouts:
            raise OSError("the node burned down")
        return link(chunk)

    executor = Nodes(meddle)
    result = submitter.build(executor)
    assert {failure.layout for failure in result.failures} == {3, 4}
    assert {binary.layout for binary in result.binaries} == {STOCK, IDENTITY, 1, 2, 5, 6, 7}
    assert len([chunk for chunk in executor.tasks if 3 in chunk.layouts]) == 3
    for failure in result.failures:
        assert "given out 3 times: its task was lost: OSError: the node burned down" in failure.error
        assert failure.log is not None
        assert "Traceback" in failure.log.read_text()
    assert len(submitter.advanced) == len(LAYOUTS)
    assert not submitter.build(Nodes(honest)).failures


def test_a_worker_killed_in_mid_task_ends_nothing_else(submitter: Submitter) -> None:
    """A pool of processes is broken by that and takes nothing more: recorded, and the next build goes on from there."""
    with Processes(1, mp_context=get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        threading.Thread(target=_kill_when_it_links, args=(next(iter(pool._processes)), submitter), daemon=True).start()
        result = submitter.build(pool)
    assert result.failures
    assert all("BrokenProcessPool" in failure.error for failure in result.failures)
    assert not submitter.build(Nodes(honest)).failures


def _kill_when_it_links(pid: int, submitter: Submitter) -> None:
    while not list(submitter.node.glob("captures/*/capture.json")):
        threading.Event().wait(0.005)
    os.kill(pid, signal.SIGKILL)


def changed(**values: Any) -> Callable[[int, LinkingTask, Callable[[LinkingTask], LinkingAnswer]], LinkingAnswer]:
    """A node that is not as it should be."""
    return lambda _number, chunk, link: link(replace(chunk, **values))


def test_a_node_with_another_linker_is_refused(submitter: Submitter) -> None:
    """By the linker's content; the message names the node and what to do."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        return link(replace(chunk, ld=replace(chunk.ld, sha256="0" * 64)))

    message = only_error(submitter.build(Nodes(meddle)))
    assert f"given out 3 times: node {nodes.node_name()} cannot link it: the linker /" in message
    assert "is another one there: install the same package on all nodes" in message


def test_a_node_without_the_linker_is_refused(submitter: Submitter) -> None:
    """Which one is missing is said."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        return link(replace(chunk, ld=replace(chunk.ld, path=Path("/nowhere/ld.none"))))

    assert "the linker /nowhere/ld.none (GNU ld" in only_error(submitter.build(Nodes(meddle)))


def test_a_node_that_links_other_bytes_is_refused(submitter: Submitter) -> None:
    """The same linker with other libraries, say: the layout that was linked here comes out differently."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        return link(replace(chunk, reference=replace(chunk.reference, sha256="1" * 64)))

    result = submitter.build(Nodes(meddle))
    assert f"layout identity linked on {nodes.node_name()} has SHA-256 " in only_error(result)
    assert {binary.layout for binary in result.binaries} == {STOCK, IDENTITY}
    assert submitter.waiting() == []


def test_another_layoutrand_is_refused(submitter: Submitter) -> None:
    """The submitting machine and nodes must have the same one."""
    assert f"layoutrand is {nodes.VERSION} there and 0.0.1/1 here" in only_error(
        submitter.build(Nodes(changed(version="0.0.1/1")))
    )


def test_a_node_whose_cache_cannot_be_used_is_left(submitter: Submitter, tmp_path: Path) -> None:
    """One node's disk is of no use, another does its work."""
    (tmp_path / "full").write_text("a file where a directory should be")

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        return link(replace(chunk, cache=str(tmp_path / "full")) if number <= 2 else chunk)

    result = submitter.build(Nodes(meddle))
    assert not result.failures
    assert len(submitter.told("cannot link it: cannot make the cache in")) == 2


def test_a_capture_that_a_node_lost_is_fetched_again(submitter: Submitter) -> None:
    """As when `cache gc` there evicted it between two tasks of one process."""

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        if number == 1:
            link(replace(chunk, layouts=()))
            for path in submitter.node.glob("captures/*/0/edited/_build/*.o"):
                path.unlink()
        return link(chunk)

    submitter.chunk = 100
    result = submitter.build(Nodes(meddle))
    assert not result.failures
    assert len(submitter.told("is damaged or gone; it is given out again")) == 1


@pytest.mark.slow
def test_a_damaged_arrival_is_linked_again(submitter: Submitter, tmp_path: Path) -> None:
    """Truncated on its way."""

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        answer = link(chunk)
        if number == 1:
            for path in submitter.waiting():
                path.write_bytes(path.read_bytes()[:-10])
        return answer

    submitter.chunk = 100
    assert digests(submitter.build(Nodes(meddle))) == without_nodes(submitter, tmp_path)
    assert submitter.told("is damaged: its content is not what its name says")


def exchanged(submitter: Submitter, change: Callable[[bytes], bytes]) -> None:
    """Give what waits another content, with a record and a seal that are right for that: as whoever may write can."""
    for path in submitter.waiting():
        _, head, packed = path.read_bytes().split(b"\n", 2)
        data = change(zlib.decompress(packed))
        meta = {**json.loads(head), "sha256": sha256_bytes(data), "size": len(data)}
        head = canonical_json(meta)
        path.write_bytes(sha256_bytes(head).encode() + b"\n" + head + b"\n" + zlib.compress(data))


def planted(data: bytes) -> bytes:
    """The program with another byte in the middle of its code."""
    binary = elf.read(data, name="prog")
    (text,) = [i for i, name in enumerate(binary.section_names) if name == ".text"]
    at = int(binary.sections["offset"][text]) + int(binary.sections["size"][text]) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("change", first_fast(1, [planted, lambda data: data + b"more", lambda _data: b"#!/bin/sh\n"]))
def test_a_binary_that_was_exchanged_on_its_way_is_linked_again(
    submitter: Submitter, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    """Its record and seal are right for what it is now; what the node's answer says of it is not."""

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        answer = link(chunk)
        if number == 1:
            exchanged(submitter, change)
        return answer

    submitter.chunk = 100
    executor = Nodes(meddle)
    assert digests(submitter.build(executor)) == without_nodes(submitter, tmp_path)
    assert len(executor.tasks) == 2
    assert len(submitter.told("is not what the node says that it put there, so it is linked again")) == 7


@pytest.mark.parametrize("change", first_fast(1, [planted, lambda data: data[:400], lambda _data: b"#!/bin/sh\n"]))
def test_what_no_answer_vouches_for_is_proved_here(
    submitter: Submitter, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    """The binaries of a task whose answer was lost are kept if they are what was asked for, and no other ones."""

    def meddle(number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        link(chunk)
        if number == 1:
            exchanged(submitter, change)
        raise OSError("the node burned down")

    submitter.chunk = 100
    executor = Nodes(meddle)
    assert digests(submitter.build(executor)) == without_nodes(submitter, tmp_path)
    assert len(executor.tasks) == 2
    assert len(submitter.told("came without an answer, and is not layout ")) == 7


@pytest.mark.parametrize(
    "head",
    [
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"key": 1}',
        b'{"key": "KEY", "sha256": "", "size": 1e999, "text_sha256": "", "link_s": 0, "verification": null}',
        b'{"key": "KEY", "sha256": "", "size": %d, "text_sha256": "", "link_s": 0, "verification": null}' % 2**70,
        b'{"key": "KEY", "sha256": "", "size": 1, "text_sha256": "", "link_s": NaN, "verification": null}',
        b'{"key": "KEY", "sha256": "", "size": 1, "text_sha256": "", "link_s": 0, "verification": []}',
    ],
)
def test_a_result_that_is_none_is_named(tmp_path: Path, head: bytes) -> None:
    """Sealed though it is."""
    shared = SharedDirectory(tmp_path)
    head = head.replace(b"KEY", b"ab")
    shared.result_path("ab").parent.mkdir(parents=True)
    shared.result_path("ab").write_bytes(sha256_bytes(head).encode() + b"\n" + head + b"\n" + zlib.compress(b"x"))
    for seal in (None, sha256_bytes(head)):
        with pytest.raises(BundleError, match="results/ab/ab is damaged: its content is not what its name says"):
            shared.result("ab", seal)


def test_a_result_that_somebody_else_may_have_written_is_not_taken(tmp_path: Path) -> None:
    """Though the seal is right, and nobody waits for a pipe."""
    shared = SharedDirectory(tmp_path)
    meta = {"sha256": sha256_bytes(b"x"), "text_sha256": "", "link_s": 0.1, "verification": None}
    seal = shared.put_result("ab", meta, b"x")
    found = shared.result("ab", seal)
    assert found is not None
    assert found[1] == b"x"
    shared.result_path("ab").chmod(0o664)
    with pytest.raises(BundleError, match=r"is not taken: its group may write to it. chmod go-w .*cluster.trust_group"):
        shared.result("ab", seal)
    assert SharedDirectory(tmp_path, trust_group=True).result("ab", seal) == found
    shared.drop_result("ab")
    os.mkfifo(shared.result_path("ab"))
    with pytest.raises(BundleError, match="is not taken: it is no regular file"):
        shared.result("ab", seal)


def test_what_a_killed_build_had_given_out_is_collected_by_the_next(submitter: Submitter, tmp_path: Path) -> None:
    """Nodes finish while nobody waits; a build that is started again finds their binaries."""
    tasks: list[LinkingTask] = []

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        tasks.append(chunk)
        assert submitter.cluster is not None
        submitter.cluster.stop()  # what an interrupt does
        raise OSError("nobody listens")

    with pytest.raises(ClusterError, match="interrupted"):
        submitter.build(Nodes(meddle))
    for chunk in tasks:
        assert link_task(chunk).refused == ""
    waiting = {layout for chunk in tasks for layout in chunk.layouts}
    assert len(submitter.waiting()) == len(waiting) > 0
    executor = Nodes(honest)
    assert digests(submitter.build(executor)) == without_nodes(submitter, tmp_path)
    assert waiting.isdisjoint(layout for chunk in executor.tasks for layout in chunk.layouts)
    assert submitter.waiting() == []


@pytest.mark.slow
def test_two_builds_at_once_share_what_arrives(submitter: Submitter, tmp_path: Path) -> None:
    """What the other one has taken into the cache that they share is there for both; nothing is given out again."""

    def meddle(_number: int, chunk: LinkingTask, link: Callable[[LinkingTask], LinkingAnswer]) -> LinkingAnswer:
        answer = link(chunk)
        capture = Cache(submitter.shop.cache).load_capture(next((submitter.shop.cache / "captures").iterdir()).name)
        assert capture is not None
        for layout in chunk.layouts:
            linking = Linking(Cache(submitter.shop.cache), submitter.shop.runner, 1, chunk.policy, chunk.ld, capture, 0)
            assert collect_linked(linking, SharedDirectory(submitter.shared), layout, None) is not None
        return answer

    executor = Nodes(meddle)
    assert digests(submitter.build(executor)) == without_nodes(submitter, tmp_path)
    assert len(executor.tasks) == 4
    assert submitter.told("given out again") == []


class FailsOnce(SubprocessRunner):
    """A linker that fails at one seed."""

    calls = 0

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """Fail at the third link."""
        FailsOnce.calls += 1
        if FailsOnce.calls == 3:
            return Completed(1, b"", b"the third link\nld: is not to my liking\n")
        return super().run(argv, cwd=cwd, env=env)


def test_a_link_that_fails_is_recorded_with_node_and_log(submitter: Submitter, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fail anywhere, so it is not tried elsewhere; the log comes back."""
    monkeypatch.setattr(nodes, "SubprocessRunner", FailsOnce)
    submitter.chunk = 100
    executor = Nodes(honest)
    (failure,) = submitter.build(executor).failures
    assert len(executor.tasks) == 1
    assert failure.error.startswith(f"on node {nodes.node_name()}: ")
    assert "exited with status 1: ld: is not to my liking" in failure.error
    assert failure.log is not None
    assert failure.log.is_relative_to(submitter.shop.cache)
    assert "the third link" in failure.log.read_text()


def test_a_shared_directory_that_cannot_be_written_is_said(submitter: Submitter) -> None:
    """Nothing is given out; what this machine linked itself is there."""
    submitter.shared.write_text("a file where a directory should be")
    executor = Nodes(honest)
    result = submitter.build(executor)
    assert "shared directory" in only_error(result)
    assert executor.tasks == []
    assert {binary.layout for binary in result.binaries} == {STOCK, IDENTITY}


def test_an_executor_that_takes_nothing_is_recorded(submitter: Submitter) -> None:
    """As one that was shut down."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    assert "the executor takes nothing any more: RuntimeError" in only_error(submitter.build(pool))


def test_a_program_with_one_layout_is_not_given_out(submitter: Submitter) -> None:
    """It fails for the reason it fails for without nodes."""
    submitter.shop.write(main__c="int main(void) { return 0; }\n", u__c="extern int x;\n")
    executor = Nodes(honest)
    result = submitter.build(executor)
    assert only_error(result) == (
        "prog has 1 placeable section: there is only one layout; factors such as "
        "text-offset and padding in layout.factors make more"
    )
    assert executor.tasks == []
    assert {binary.layout for binary in result.binaries} == {STOCK, IDENTITY}


KINDS: dict[str, dict[str, Any]] = {
    "gcc-lld": {},
    "gcc-gold": {},
    "gcc-mold": {"layout": {"factors": ["linker-shuffle"]}},
    "gcc-lto": {},
    "clang-lto": {},
    "clang-thinlto": {},
    "gcc": {"layout": {"factors": ["link-order"]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", list(KINDS))
def test_every_way_of_linking_travels(submitter: Submitter, tmp_path: Path, toolchain: str) -> None:
    """Plugins, bitcode and lines that are rearranged: the same bytes from the bundle alone, in other processes."""
    changes = KINDS[toolchain]
    programs_of(toolchain)
    submitter.shop.chosen = toolchain
    for number in range(5):
        submitter.shop.write_named({f"v{number}.c": many_functions(3, prefix=f"v{number}_")})
    commands = "$CC -O2 -c *.c && $CC -O2 -o prog main.o u.o v0.o v1.o v2.o v3.o v4.o"
    submitter.shop.write(main__c=main_calling("u8", *(f"v{number}_2" for number in range(5))))
    with Processes(1, mp_context=get_context("spawn")) as pool:
        result = submitter.build(pool, commands=commands, **changes)
    alone = Workshop(submitter.shop.project, tmp_path / "alone", submitter.shop.linker, chosen=toolchain)
    assert digests(result) == digests(alone.build(commands, layouts=LAYOUTS, **changes))
    assert not result.failures
    assert len(list((submitter.node / "binaries").iterdir())) == len(LAYOUTS) - 1
