"""The user's own build is no obstacle to layouts, and is not made for nothing."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace

import pytest

from layoutrand.build.build import all_layouts, build
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.two_builds import captured_system
from layoutrand.cache.store import Cache
from layoutrand.model import IDENTITY, STOCK
from layoutrand.platform.process import SubprocessRunner
from workshop import FILLER, Workshop, main_calling, whole

BUILD = "$CC $CFLAGS -o prog a.c pad.c"


@pytest.fixture
def shop(tmp_path):
    made = Workshop(tmp_path / "project", tmp_path / "cache")
    made.write(a__c=main_calling("pad7"), pad__c=FILLER)
    return made


def setup_of(shop, config, runner=None, *, jobs, advance=lambda: None, **progress):
    told = BuildProgress(shop.said.append, advance, **progress)
    return BuildSetup.of(config, shop.project, Cache(shop.cache), runner or shop.runner, told, jobs=jobs)


def test_one_thing_at_a_time_layouts_come_before_stock(shop):
    """Who interrupts the stock build has all layouts."""
    config = shop.config(BUILD)
    begun = []
    setup = setup_of(
        shop, config, jobs=1, advance=lambda: shop.said.append("one more"), stock_begins=lambda: begun.append(1)
    )
    [result] = build(setup, ["sys"], all_layouts([1, 2, 3], controls=True))
    whole(result).assert_all_print_as_stock()
    assert [line.partition(" (")[0] for line in shop.said if "capturing" not in line] == [
        *("sys: instrumented build", *["one more"] * 4, "sys: stock build", "one more")
    ]
    assert [each.layout for each in result.binaries] == [STOCK, IDENTITY, 1, 2, 3]
    assert begun == [1]


class Waits(SubprocessRunner):
    """Holds every stock build until so many programs were executed by `run` since, which links are among."""

    def __init__(self, links):
        super().__init__()
        self.links, self.linked, self.held = links, 0, 0
        self.enough = threading.Event()

    def run(self, argv, *, cwd, env):
        if argv[0].endswith(("ld", "ld.bfd")) and self.held:
            self.linked += 1
            if self.linked >= self.links:
                self.enough.set()
        return super().run(argv, cwd=cwd, env=env)

    def run_logged(self, argv, *, cwd, env, log, timeout_s):
        if "-stock-" in log.name:
            self.held += 1
            assert self.enough.wait(120), "no layout is linked while a stock build lasts"
        return super().run_logged(argv, cwd=cwd, env=env, log=log, timeout_s=timeout_s)


@pytest.mark.parametrize("coupled", [False, True], ids=["alone", "reconciled"])
def test_layouts_are_linked_while_stock_is_built(shop, coupled):
    layout = {"couple": "address"} if coupled else {}
    config = shop.config(BUILD, systems={"a": {"cflags": "-O1"}, "b": {"cflags": "-O2"}}, layout=layout)
    runner = Waits(links=6)
    results = build(setup_of(shop, config, runner, jobs=4), ["a", "b"], [STOCK, 1, 2, 3])
    assert runner.held == 2
    for result in results:
        whole(result).assert_all_print_as_stock()


class Counts(SubprocessRunner):
    """How many builds and linkers there are at most at a time, builds by their -j."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
        self.now = self.most = 0

    def _while(self, weight, action):
        with self.lock:
            self.now += weight
            self.most = max(self.most, self.now)
        try:
            return action()
        finally:
            with self.lock:
                self.now -= weight

    def run(self, argv, *, cwd, env):
        links = argv[0].endswith(("ld", "ld.bfd")) and "-o" in argv
        return self._while(int(links), lambda: super(Counts, self).run(argv, cwd=cwd, env=env))

    def run_logged(self, argv, *, cwd, env, log, timeout_s):
        jobs = int(argv[-1].rpartition("-j ")[2].split()[0])
        return self._while(
            jobs, lambda: super(Counts, self).run_logged(argv, cwd=cwd, env=env, log=log, timeout_s=timeout_s)
        )


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_builds_and_linkers_together_are_as_many_as_jobs(shop, jobs):
    config = shop.config([BUILD, "sleep 0.2", "true -j {jobs}"])
    runner = Counts()
    [result] = build(setup_of(shop, config, runner, jobs=jobs), ["sys"], [STOCK, *range(1, 9)])
    whole(result)
    assert runner.most <= jobs
    assert runner.most >= min(jobs, 2)


class Jobs(SubprocessRunner):
    """Which builds were made, with how many jobs, in order, and how many layouts there were then."""

    def __init__(self):
        super().__init__()
        self.builds, self.layouts = {}, 0

    def run_logged(self, argv, *, cwd, env, log, timeout_s):
        kind = "stock" if "-stock-" in log.name else "capture"
        self.builds[kind] = int(argv[-1].rpartition("-j ")[2].split()[0]), self.layouts
        return super().run_logged(argv, cwd=cwd, env=env, log=log, timeout_s=timeout_s)

    def advance(self):
        self.layouts += 1


@pytest.mark.parametrize(
    ("jobs", "both"), [(1, (1, 1)), (2, (1, 1)), (3, (2, 1)), (8, (4, 4))], ids=["1", "2", "3", "8"]
)
def test_builds_that_are_to_be_made_have_all_jobs(shop, jobs, both):
    """Of two they have a share each, and none is left over; one alone has all."""
    config = shop.config([BUILD, "true -j {jobs}"])

    def built(layouts):
        runner = Jobs()
        [result] = build(setup_of(shop, config, runner, jobs=jobs, advance=runner.advance), ["sys"], layouts)
        whole(result)
        return runner.builds

    first = built([STOCK, IDENTITY, 1])
    assert (first["capture"][0], first["stock"][0]) == both
    shop.write(a__c=main_calling("pad6"))
    assert built([IDENTITY, 1]) == {"capture": (jobs, 0)}
    assert built([STOCK, IDENTITY, 1, 2]) == {"stock": (jobs, 3)}  # once the new layout is there, too


class Meets(SubprocessRunner):
    """Holds the link that proves a capture until the one with marks has begun, for as long as it is patient."""

    def __init__(self, patience_s):
        super().__init__()
        self.marked, self.met, self.patience_s = threading.Event(), None, patience_s

    def run(self, argv, *, cwd, env):
        trees = [word.rpartition("/")[2] for word in argv if word.startswith("--sysroot=")]
        if "probe" in trees:
            self.marked.set()
        if "root" in trees:
            self.met = self.marked.wait(self.patience_s)
        return super().run(argv, cwd=cwd, env=env)


@pytest.mark.parametrize("free", [True, False], ids=["a turn is free", "none is"])
def test_a_capture_takes_a_turn_that_other_builds_leave_free(shop, free):
    """Its share is one job, of two in all: two of its links happen at once where no other build has the second."""
    runner = Meets(patience_s=120 if free else 1)
    setup = setup_of(shop, shop.config(BUILD), runner, jobs=2)
    with nullcontext() if free else setup.turns.taken():
        made = captured_system(replace(setup, jobs=1), "sys")
    assert made.error is None
    assert runner.met is free
    assert runner.marked.is_set()


def test_controls_that_are_not_executed_are_not_built():
    assert all_layouts([4], controls=True) == [STOCK, IDENTITY, 4]
    assert all_layouts([4], controls=True, listed=[IDENTITY]) == [IDENTITY, 4]
    assert all_layouts([4], controls=True, listed=[IDENTITY, STOCK]) == [STOCK, IDENTITY, 4]
    assert all_layouts([4], controls=False) == [4]


def test_a_stock_build_that_fails_leaves_the_layouts(shop):
    """Each of the two builds is told for itself."""
    config = shop.config('case "$CC" in *) true ;; esac; ' + BUILD)
    setup = setup_of(shop, config, jobs=1)
    fails = replace(setup, runner=FailsStock())
    [result] = build(fails, ["sys"], [STOCK, 1, 2])
    assert [each.layout for each in result.binaries] == [1, 2]
    assert [each.layout for each in result.failures] == [STOCK]


class FailsStock(SubprocessRunner):
    def run_logged(self, argv, *, cwd, env, log, timeout_s):
        if "-stock-" in log.name:
            return 1
        return super().run_logged(argv, cwd=cwd, env=env, log=log, timeout_s=timeout_s)


class Together(SubprocessRunner):
    """Lets a build begin once another has."""

    def __init__(self):
        super().__init__()
        self.here = threading.Barrier(2, timeout=60)

    def run_logged(self, argv, *, cwd, env, log, timeout_s):
        self.here.wait()
        return super().run_logged(argv, cwd=cwd, env=env, log=log, timeout_s=timeout_s)


def test_captures_that_one_system_needs_of_others_are_made_beside_its_own(shop):
    config = shop.config(BUILD, systems={"a": {"cflags": "-O1"}, "b": {"cflags": "-O2"}}, layout={"couple": "address"})
    [result] = build(setup_of(shop, config, Together(), jobs=2), ["a"], [1])
    assert not result.failures
