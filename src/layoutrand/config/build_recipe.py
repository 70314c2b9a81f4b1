"""What decides a build: the parts that enter its key, and the flags that its wrappers add."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from layoutrand.config.command import JOBS
from layoutrand.config.config import Build, Config, System
from layoutrand.config.layout_policy import Archives, LayoutPolicy
from layoutrand.config.redaction import NOTHING_REDACTED, Redaction, redaction_of
from layoutrand.config.toolchain import Toolchain
from layoutrand.layout.factors import BLOCK_ORDER, LINK_ORDER, places_data
from layoutrand.platform.environment import GIT_ENVIRONMENT

BUILD_VERSION: Final = 2
"""Changed whenever a build, capture or link would come out differently for equal inputs; part of every key."""

SOURCE_ALIAS: Final = "/layoutrand"
"""What the private copy's path is called inside objects, so that their bytes do not depend on where it lies."""

PROMPT: Final = "layoutrand: $ "
"""What stands before each command in the output of a build."""

SYSTEM_PREFIXES: Final = ("/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/")
"""Directories whose files the linker wrapper need not keep: they are still there when the build is over."""

LINKER_ENVIRONMENT: Final = ("LD_RUN_PATH", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH", "GNUTARGET", "LDEMULATION")
"""Variables that change what a linker does."""

FLAG_ENVIRONMENT: Final = (
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "FFLAGS",
    "FCFLAGS",
    "DFLAGS",
    "ASFLAGS",
    "LDFLAGS",
    "LDLIBS",
    "LIBS",
    "OCAMLPARAM",
)
"""Variables by which a user gives flags to the compilers and the linker of any build."""

BUILD_ENVIRONMENT: Final = (
    *FLAG_ENVIRONMENT,
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "PKG_CONFIG_PATH",
    *LINKER_ENVIRONMENT,
)
"""Variables of the user's environment that reach the build and change what it makes: part of the build's key."""

GO_LINKER_ENVIRONMENT: Final = ("GOROOT", "GOOS", "GOARCH", "GOAMD64", "GOEXPERIMENT", "GOFIPS140")
"""Variables that change what Go's linker does, as go sets them for it."""

GO_FLAG_ENVIRONMENT: Final = (
    "GOFLAGS",
    "GOEXPERIMENT",
    "CGO_ENABLED",
    "CGO_CFLAGS",
    "CGO_CPPFLAGS",
    "CGO_CXXFLAGS",
    "CGO_FFLAGS",
    "CGO_LDFLAGS",
)
"""The same of a build by Go's tools, which read none of the others."""

GO_ENVIRONMENT: Final = (
    *GO_LINKER_ENVIRONMENT,
    *GO_FLAG_ENVIRONMENT,
    "GOENV",
    "GODEBUG",
    "GOTOOLCHAIN",
    "GOWORK",
    "GOPATH",
    "GOMODCACHE",
    "GO111MODULE",
)
"""The same for a build by Go's tools, which know a few variables of the others, too."""

NOT_INHERITED: Final = (
    # left over when layoutrand itself is started by make: they would hand the build a stranger's job server
    "MAKEFLAGS",
    "MFLAGS",
    "GNUMAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "CCACHE_PATH",  # would lead "ccache gcc" past the wrappers; they set it for a ccache behind them
    "LAYOUTRAND_WRAPPER_DUMP",
    "LAYOUTRAND_LTO_RECORD",
    "LAYOUTRAND_DRIVER",
    *GIT_ENVIRONMENT,
)
"""Variables of the user's environment that the build must not see."""

_OF_CARGO: Final = re.compile(r"RUSTFLAGS$|RUSTC(?:_BOOTSTRAP)?$|CARGO_(?:ENCODED_RUSTFLAGS$|BUILD_|PROFILE_|TARGET_)")
"""Variables of the user's environment that change what Cargo makes."""

_FLAGS_OF_CARGO: Final = re.compile(r"(?:CARGO_.*)?RUSTFLAGS$|CARGO_PROFILE_")
"""Those among them that give flags."""

_RELEASE: Final = re.compile(r"\bcargo\b.*(?:\s--release\b|\s-r\b|\sbench\b)")
_PROFILE: Final = re.compile(r"--profile[= ]([A-Za-z0-9_-]+)")

_RUST_TOOLCHAIN: Final = re.compile(r"\bcargo\s+\+([A-Za-z0-9._-]+)")

_CAPTURED: Final = ("artefacts", "places_data", "moves_objects", "archives")
"""Parts of a build's key that decide what is captured of it, and nothing of what it makes."""

Variant = Literal["capture", "stock"]
Driver = Literal["cc", "cxx", "fc"]
DRIVERS: Final[tuple[Driver, ...]] = get_args(Driver)
SOURCE_EPOCH: Final = "315532800"  # 1980-01-01, the earliest date that zip files can hold


@dataclass(frozen=True)
class Recipe:
    """One system's build in one variant: "capture" adds section flags, "stock" leaves the user's flags untouched."""

    system: str
    variant: Variant
    build: Build
    options: System
    toolchain: Toolchain
    factors: tuple[str, ...] = ()
    redaction: Redaction = NOTHING_REDACTED
    archives: Archives = "built"

    @classmethod
    def of(
        cls,
        config: Config,
        system: str,
        variant: Variant,
        toolchain: Toolchain,
        factors: tuple[str, ...],
        environment: Mapping[str, str],
    ) -> Recipe:
        """The recipe of a configured system, for a user with that ``environment``."""
        redaction = redaction_of(config, environment)
        archives = config.layout.archives
        options = config.systems[system]
        return cls(system, variant, config.build, options, toolchain, factors, redaction, archives)

    def compile_flags(self, build_root: str, role: Driver) -> list[str]:
        """Flags the wrapper of that driver appends to a compilation, the system's own last so that they win."""
        return [*self.section_flags(), self.path_flag(build_root), *shlex.split(self.own_flags(role))]

    def own_flags(self, role: Driver) -> str:
        """The system's own flags for compilations by that driver: those of C are for C++, too, and not for Fortran."""
        options = self.options
        cxxflags = options.cflags if options.cxxflags is None else options.cxxflags
        return {"cc": options.cflags, "cxx": cxxflags, "fc": options.fflags}[role]

    def file_flags(self) -> list[tuple[str, list[str]]]:
        """Files, relative to the source, with what the wrappers append where they alone are compiled."""
        return [(path, shlex.split(flags)) for path, flags in self.options.file_flags.items()]

    def section_flags(self) -> list[str]:
        """What gives each function, and where the data moves each variable, a section of its own."""
        if self.variant != "capture":
            return []
        flags = self.toolchain.compile
        return [
            *flags.section_flags,
            *(flags.data_flags if "data-order" in self.factors else []),
            *(flags.block_flags if BLOCK_ORDER in self.factors else []),
        ]

    def path_flag(self, build_root: str) -> str:
        """The flag that calls the private copy by its alias in debug information and ``__FILE__``."""
        return f"-ffile-prefix-map={build_root}={SOURCE_ALIAS}"

    def link_flags(self) -> list[str]:
        """Flags the compiler wrapper appends where the driver links: also those of a link that generates code."""
        return [*self.section_flags(), *self.toolchain.link.driver_flags, *shlex.split(self.options.ldflags)]

    def rust_flags(self, build_root: str) -> list[str]:
        """Flags the wrapper of rustc appends to a compilation."""
        path = [f"--remap-path-prefix={build_root}={SOURCE_ALIAS}"] if self.toolchain.tools.rustc else []
        return [*path, *shlex.split(self.options.rustflags)]

    def cargo_variables(self) -> dict[str, str]:
        """The system's settings of the profile in use, as cargo reads them from its environment."""
        names = [re.sub(r"[^A-Z0-9]", "_", name.upper()) for name in self._profiles()]
        settings = {
            key.upper().replace("-", "_"): str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in self.options.profile.items()
        }
        return {f"CARGO_PROFILE_{name}_{key}": value for name in names for key, value in settings.items()}

    def _profiles(self) -> list[str]:
        """The profiles that the commands name; both usual ones where they name none, as a makefile does."""
        named = [name for command in self.build.commands for name in _PROFILE.findall(command)]
        named += ["release" for command in self.build.commands if _RELEASE.search(command)]
        return sorted(set(named)) or ["dev", "release"]

    def given_flags(self) -> dict[str, str]:
        """What the system is given for each kind of program that has to hear of it, in the words of the configuration.

        By kind: "compiler", "rustc" and "cargo"; kinds for which nothing is given are left out.
        """
        own = self.options
        given = {
            "compiler": list(self.flags_of_drivers()),
            "rustc": [f'rustflags = "{own.rustflags}"'] if own.rustflags else [],
            "cargo": [
                *(["profile"] if own.profile else []),
                *([f"features = {json.dumps(own.features)}"] if own.features else []),
            ],
        }
        return {kind: ", ".join(words) for kind, words in given.items() if words}

    def flags_of_drivers(self) -> dict[str, frozenset[Driver]]:
        """What the system is given for compilations, in the words of the configuration, and the drivers it is for."""
        own = self.options
        given: dict[str, tuple[str | None, set[Driver]]] = {
            "cflags": (own.cflags, {"cc", "cxx"} if own.cxxflags is None else {"cc"}),
            "cxxflags": (own.cxxflags, {"cxx"}),
            "fflags": (own.fflags, {"fc"}),
        }
        return {f'{name} = "{value}"': frozenset(drivers) for name, (value, drivers) in given.items() if value}

    def script(self, jobs: int) -> str:
        """The user's commands as one bash script: it names each before executing it and stops at the first failure."""
        lines = ["set -e"]
        for command in self.build.commands:
            filled = command.replace(JOBS, str(jobs))
            lines += [f"printf '%s\\n' {shlex.quote(PROMPT + filled)}", filled]
        return "\n".join(lines) + "\n"

    def key_facts(
        self, source: Mapping[str, Any], tools: Mapping[str, Any], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        """Everything that decides what the build makes, as JSON values; of what is redacted a digest."""
        own_variables = {**self.build.env, **self.options.env}
        inherited = {name: value for name, value in environment.items() if name not in own_variables}
        not_always = {name: getattr(self.options, name) for name in ("file_flags", "rustflags", "profile", "features")}
        facts: dict[str, Any] = {
            "version": BUILD_VERSION,
            "variant": self.variant,
            "source": source,
            "commands": self.build.commands,
            "artefacts": self.build.artefacts,
            "env": own_variables,
            "flags": {name: getattr(self.options, name) for name in ("cflags", "cxxflags", "fflags", "ldflags")}
            | {name: value for name, value in not_always.items() if value},
            "places_data": self.variant == "capture" and places_data(self.factors),
            "moves_objects": self.variant == "capture" and LINK_ORDER in self.factors,
            "section_flags": self.section_flags(),
            "toolchain": self.toolchain.model_dump(mode="json"),
            "tools": tools,
            "inherited": {name: inherited[name] for name in self._inherited() if name in inherited},
        }
        if self.toolchain.tools.rustc:
            facts["cargo"] = {name: inherited[name] for name in sorted(inherited) if _OF_CARGO.match(name)}
        if self.variant == "capture" and self.archives != "built":
            facts["archives"] = self.archives
        if self.variant == "capture" and self.options.ordered != "move":
            facts["ordered"] = self.options.ordered
        return self.redaction.of_facts(facts)

    def _inherited(self) -> tuple[str, ...]:
        """Variables that the build gets of the user's environment, and that change what it makes."""
        return (*BUILD_ENVIRONMENT, *(GO_ENVIRONMENT if self.toolchain.link.linker == "go" else ()))


def exported_flags(environment: Mapping[str, str], *, toolchain: str, is_rust: bool) -> dict[str, str]:
    """Variables of the user's environment that give flags to a build, whose ``toolchain`` may not be known yet ("")."""
    known = GO_FLAG_ENVIRONMENT if toolchain == "go" else FLAG_ENVIRONMENT
    of_cargo = sorted(name for name in environment if is_rust and _FLAGS_OF_CARGO.match(name))
    return {name: environment[name] for name in (*known, *of_cargo) if name in environment}


def rust_toolchain(commands: Sequence[str]) -> str:
    """The toolchain that a command tells rustup to take, as in ``cargo +nightly build``; "" where none does."""
    return next((found[1] for command in commands if (found := _RUST_TOOLCHAIN.search(command))), "")


def built_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What of a build's key decides what it makes: what it is asked for afterwards left out.

    The flags that the placement of data takes are in ``section_flags``.
    """
    return {name: value for name, value in facts.items() if name not in _CAPTURED}


def binary_facts(
    capture_id: str, artefact: str, policy: LayoutPolicy, layout: int | str, coupled: str = ""
) -> dict[str, Any]:
    """Everything that decides one linked binary, as JSON values; ``coupled`` is the key of a reconciled layout."""
    facts = {
        "version": BUILD_VERSION,
        "capture": capture_id,
        "artefact": artefact,
        "policy": policy.facts() if isinstance(layout, int) else {},
        "layout": layout,
    }
    return facts | ({"coupled": coupled} if coupled and isinstance(layout, int) else {})
