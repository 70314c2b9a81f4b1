"""DaCapo: benchmarks in a jar, executed by a JVM that is one of the systems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from layoutrand.config.config import Config
from layoutrand.config.dacapo_settings import DacapoSuite
from layoutrand.config.readings import DacapoReading
from layoutrand.suites import dacapo_output, dacapo_suite
from layoutrand.suites.dacapo_jar import jar_facts
from layoutrand.suites.suite import Expansion, HarnessOutput, Suite, Verdict


class _Dacapo(Suite):
    kind = "dacapo"
    reading = "dacapo"
    place = "suite.jar"

    def expand(self, settings: DacapoSuite, config: Config, project: Path) -> Expansion:
        """See `Suite`."""
        return Expansion(*dacapo_suite.expand(settings, config, project))

    def judge(self, reading: DacapoReading, ended: HarnessOutput) -> Verdict:
        """See `Suite`."""
        return dacapo_output.judge(reading, ended)

    def installed(self, settings: DacapoSuite) -> str:
        """See `Suite`."""
        return settings.jar

    def described(self, settings: DacapoSuite, project: Path) -> Mapping[str, str]:
        """See `Suite`."""
        facts = jar_facts(project.resolve() / settings.jar, config=project / "layoutrand.toml")
        version = facts.version or settings.version or facts.generation
        named = f"{Path(settings.jar).name}, content {facts.digest[:12]}"
        return {"harness": f"harness {version} ({named})" if version else f"harness in {named}", "jar": facts.digest}

    def identity(self, path: Path, told: str) -> str:
        """See `Suite`."""
        del told
        return jar_facts(path, config=path).digest


SUITE: Final = _Dacapo()
