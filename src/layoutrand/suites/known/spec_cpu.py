"""SPEC CPU: its own tools build the benchmarks, and execute them from copies that they make."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from layoutrand.capture.build_order import SuiteTools
from layoutrand.config.config import Build, Config
from layoutrand.config.readings import SpecReading
from layoutrand.config.spec_settings import SpecSuite
from layoutrand.config.suite_build import SuiteBuild
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.suites import spec_output, spec_suite
from layoutrand.suites.spec_root import digests_of, read_root, results_to_keep, text_files
from layoutrand.suites.suite import Expansion, HarnessOutput, Suite, Verdict


class _SpecCpu(Suite):
    kind = "spec-cpu"
    reading = "spec-rsf"
    place = "suite.root"

    def expand(self, settings: SpecSuite, config: Config, project: Path) -> Expansion:
        """See `Suite`."""
        return Expansion(*spec_suite.expand(settings, config, project))

    def judge(self, reading: SpecReading, ended: HarnessOutput) -> Verdict:
        """See `Suite`."""
        return spec_output.judge(reading, ended)

    def installed(self, settings: SpecSuite) -> str:
        """See `Suite`."""
        return os.path.expanduser(settings.root)

    def identity(self, path: Path, told: str) -> str:
        """See `Suite`; the tool, its version and the names of benchmarks, since all of it is gigabytes."""
        facts = read_root(path, told)
        return sha256_bytes(canonical_json([facts.tool, facts.version, sorted(facts.benchmarks)]))

    def tools(self, build: Build) -> SuiteTools | None:
        """See `Suite`."""
        assert isinstance(build, SuiteBuild)
        return spec_suite.SpecTools(build)

    def left_behind(self, ended: HarnessOutput, folder: Path, given: Mapping[str, str]) -> HarnessOutput:
        """See `Suite`."""
        return replace(ended, files=text_files(folder), expected=given, digests=digests_of(folder, given))

    def worth_keeping(self, folder: Path) -> list[Path]:
        """See `Suite`."""
        return results_to_keep(folder)


SUITE: Final = _SpecCpu()
