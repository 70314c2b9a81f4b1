"""A check of two commits whose builds are made up: nothing is compiled, and durations are what a test says."""

from __future__ import annotations

import random
from contextlib import contextmanager
from pathlib import Path

from fakes import FakeExecutor, make_binary, make_config
from layoutrand.build.build import SystemBuild
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.store import Cache
from layoutrand.capture.checked_commits import CheckedCommit, SourceRepository
from layoutrand.check.check import check
from layoutrand.check.question import CheckQuestion, CheckTools
from layoutrand.model import BuildFailure

ONE = '[[benchmarks]]\nname = "work"\ncommand = ["{artefact}"]\n'
TWO = ONE + '[[benchmarks]]\nname = "start"\ncommand = ["{artefact}", "x"]\n'
BASE = CheckedCommit("a" * 40, "main aaaaaaa")
HEAD = CheckedCommit("b" * 40, "HEAD bbbbbbb")


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Made:
    """A project with a history of two commits; ``ratio`` and ``sd`` are of head over base, by layout."""

    def __init__(self, root, *, ratio=1.0, sd=0.004, benchmarks=ONE, same=False, own=None, fails=(), **said):
        self.root = root
        self.project = root / "project"
        self.project.mkdir(exist_ok=True)
        self.config = make_config(benchmarks, systems=("O2",))
        (self.project / "layoutrand.toml").write_text("")
        self.ratio, self.sd, self.same, self.own, self.fails = ratio, sd, same, own, fails
        self.unbuilt = said.get("unbuilt", ())  # sides whose builds fail, so that there is no capture
        self.script, self.reason = said.get("script", ""), said.get("reason", "no link")
        self.clock, self.said, self.asked, self.executor = Clock(), [], [], FakeExecutor()
        self.round_s, self.stock_s = 1.0, 0.1

    def seconds(self, system, layout):
        chance = random.Random(f"{layout}")
        layout_effect = 1.0 if layout == "stock" else chance.gauss(1, 0.02)
        if system == "base":
            return 10.0 * layout_effect
        if layout == "stock":
            return 10.0 * (self.own or self.ratio)
        return 10.0 * layout_effect * self.ratio * chance.gauss(1, self.sd)

    def build(self, system, config, layouts, captures):
        self.asked.append((list(layouts), captures))
        self.clock.now += sum(self.stock_s if layout == "stock" else 0.1 for layout in layouts)
        return [self._build(config, system, layouts) for system in config.systems]

    def _build(self, config, system, layouts):
        if system in self.unbuilt:
            return SystemBuild(
                system, None, False, (), (BuildFailure(system, "prog", "identity", self.reason, None),), ()
            )
        made = Capture(
            id="same" if self.same else f"capture-of-{system}",
            system=system,
            toolchain="gcc",
            separates_classes=True,
            tools={},
            source={},
            build_s=1.0,
            n_links=1,
            links=(),
        )
        failed = [(system, layout) in self.fails for layout in layouts]
        binaries = [
            make_binary(
                self.root / "cache",
                system,
                layout,
                f"# {system} {layout}\nwall {self.seconds(system, layout):.9f}\n{self._script(system, layout)}\n",
            )
            for layout, lost in zip(layouts, failed, strict=True)
            if not lost
        ]
        failures = [
            BuildFailure(system, "prog", layout, self.reason, None)
            for layout, lost in zip(layouts, failed, strict=True)
            if lost
        ]
        return SystemBuild(system, made, False, tuple(binaries), tuple(failures), ())

    def _script(self, system, layout):
        """What else its executable file holds: a text, or what is made of system and layout."""
        return self.script if isinstance(self.script, str) else self.script(self, system, layout)

    @contextmanager
    def progress(self):
        self.clock.now += self.round_s
        yield lambda _: None

    def check(self, **changes):
        question = CheckQuestion(
            config=self.config,
            project=self.project,
            systems=("O2",),
            base=BASE,
            head=HEAD,
            **{"benchmarks": (), "budget_s": 1000.0, "most_layouts": 40, "wait_s": 0, "share_machine": True, **changes},
        )
        tools = CheckTools(
            build=self.build,
            cache=Cache(self.root / "store"),
            executor=self.executor,
            progress=self.progress,
            say=self.said.append,
            clock=self.clock,
            readable=lambda _symbols: {},
        )
        return check(question, SourceRepository("/nowhere", None, "", Path("/nowhere")), tools)
