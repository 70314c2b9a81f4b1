"""Config files and start scripts for SPEC CPU: made from templates, with the user's own config file checked first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.config.spec_settings import LABEL, SpecFacts, SpecSuite
from layoutrand.text.render import render

HASHES: Final = re.compile(r"^__(?:HASH|MD5)__\s*$", re.MULTILINE)
"""Where the section of hashes begins that SPEC's tools append to a config file."""

_SECTION: Final = re.compile(r"^([\w.,+-]+(?:=[^=:\s]*){0,3}):\s*$")
_OPTION: Final = re.compile(r"^([A-Za-z_]\w*)\s*\+?=\s*(.*)$")
_DEFINE: Final = re.compile(r"^%\s*define\s+(\S+)\s+(.*)$")
_COMPILERS: Final = {
    "CC": "lr_cc",
    "CXX": "lr_cxx",
    "FC": "lr_fc",
    "F77": "lr_fc",
    "CLD": "lr_cc",
    "CXXLD": "lr_cxx",
    "FLD": "lr_fc",
}
_VERSION_OPTIONS: Final = ("CC_VERSION_OPTION", "CXX_VERSION_OPTION", "FC_VERSION_OPTION")
_MACHINE: Final = "default"


def header_settings(suite: SpecSuite, facts: SpecFacts, label: str) -> list[tuple[str, str]]:
    """What every config file says in its header, whatever the user's says.

    No second look at hashes (the binaries of a layout are put where SPEC's own would be), no reuse of a run directory
    without its files being new, one iteration, no lines broken, and nothing gathered about the system each time.
    """
    old = facts.tool == "runspec"
    settings = [
        ("ignore_errors", "1"),
        ("iterations", "1"),
        ("reportable", "0"),
        ("mean_anyway", "1"),
        ("tune", suite.tune),
        ("output_format", "raw"),
        ("preenv", "0"),
        ("backup_config", "0"),
        ("log_line_width", "0"),
        ("line_width", "0"),
        ("sysinfo_program", ""),
        ("teeout", "0"),
        ("ext" if old else "label", label),
    ]
    settings += [("check_md5", "0")] if old else [("verify_binaries", "no")]
    settings += [("strict_rundir_verify", "0" if old else "no"), ("makeflags", "--jobs=%{lr_jobs}")]
    # Line by line, the same for both tools but for this one, which runcpu is told on its command line.
    return [*settings, *([("output_root", "%{lr_root}")] if old else [])]


def config_file(suite: SpecSuite, facts: SpecFacts, base: str | None, label: str) -> str:
    """The whole config file: the header, then ours, or the user's with what it lacks."""
    settings = header_settings(suite, facts, label)
    title = f"layoutrand's config file for {facts.tool}, version {facts.version} of the suite"
    header = render("spec-header.cfg.j2", title=title, settings=settings)
    if base is None:
        body = render(f"spec-{facts.year}.cfg.j2")
        return header + body + _labelled(suite, facts, label, [])
    ours = {name for name, _ in settings} | {"label", "ext", "output_root", "action", "size", "rebuild"}
    user = BaseConfig.read(base)
    lacking = [(name, f"%{{{macro}}}") for name, macro in _COMPILERS.items() if name in ("CC", "CXX", "FC")]
    lacking += [] if facts.tool == "runspec" else [(name, "-v") for name in _VERSION_OPTIONS]
    present = {option.name for option in user.options}
    defaults = [(name, value) for name, value in lacking if name not in present]
    return header + user.without(ours) + _labelled(suite, facts, label, defaults)


def _labelled(suite: SpecSuite, facts: SpecFacts, label: str, settings: Iterable[tuple[str, str]]) -> str:
    """Settings that the base config does not make, and a section of the label, without which runcpu refuses it."""
    defaults = [f"{name} = {value}" for name, value in settings]
    tail = f"={_MACHINE}" if facts.tool == "runspec" else ""
    section = [f"default={suite.tune}={label}{tail}:", "makeflags = --jobs=%{lr_jobs}"]
    return "\n".join(["", *(["default:", *defaults, ""] if defaults else []), *section, ""])


@dataclass(frozen=True)
class Option:
    """A setting in the user's config: which, its value, its line, and whether it stands in the header."""

    name: str
    value: str
    line: int
    in_header: bool


@dataclass(frozen=True)
class BaseConfig:
    """The user's config, without the section of hashes that SPEC's tools append.

    ``labels`` are those that its sections are for, ``defined`` its macros with their last values.
    """

    lines: tuple[str, ...]
    options: tuple[Option, ...]
    labels: tuple[str, ...]
    defined: dict[str, str]

    @classmethod
    def read(cls, text: str) -> BaseConfig:
        """Take the text apart."""
        lines = tuple(HASHES.split(text, maxsplit=1)[0].split("\n"))
        options: list[Option] = []
        labels: dict[str, None] = {}
        defined: dict[str, str] = {}
        in_header = True
        for number, line in enumerate(lines, 1):
            bare = re.sub(r"(?<!\\)#.*$", "", line).strip()
            if match := _DEFINE.match(bare):
                defined[match[1].removeprefix("%{").removesuffix("}")] = match[2].strip().strip('"')
            elif match := _SECTION.match(bare):
                in_header = False
                if len(parts := match[1].split("=")) > 2 and parts[2] not in ("", "default"):
                    labels[parts[2]] = None
            elif match := _OPTION.match(bare):
                options.append(Option(match[1], match[2].strip(), number, in_header))
        known = tuple(dict.fromkeys(_filled(label, defined) for label in labels))
        return cls(lines, tuple(options), known, defined)

    def without(self, names: set[str]) -> str:
        """The text with those header options made comments."""
        replaced = {option.line for option in self.options if option.in_header and option.name in names}
        lines = [f"# layoutrand: {line}" if n in replaced else line for n, line in enumerate(self.lines, 1)]
        return "\n".join(lines) + "\n"

    def own_label(self) -> str:
        """The label that the header chooses, or ""."""
        chosen = [o.value for o in self.options if o.in_header and o.name in ("label", "ext")]
        label = _filled(chosen[-1], self.defined).strip('"') if chosen else ""
        return label if re.fullmatch(r"[A-Za-z0-9._-]+", label) else ""


def _filled(text: str, defined: dict[str, str]) -> str:
    """The text with macros replaced that the file itself defines."""
    for _ in range(5):
        text = re.sub(r"%\{([^{}]+)\}", lambda match: defined.get(match[1], match[0]), text)
    return text


def label_of(suite: SpecSuite, base: str | None) -> str:
    """The label under which is built: as set, else the one that the base config chooses, else layoutrand's own."""
    return suite.label or (BaseConfig.read(base).own_label() if base is not None else "") or LABEL


def base_problems(suite: SpecSuite, base: str, name: str) -> list[str]:
    """What is wrong with the user's config file ``name`` for building through the wrappers, one line for each."""
    user = BaseConfig.read(base)
    problems = list(_wrong_settings(user, name))
    label = label_of(suite, base)
    if user.labels and label not in user.labels:
        problems.append(
            f"{name}: the label {label!r} has no section there, so its settings for {', '.join(user.labels)} would not "
            f'apply; say which of them is meant: label = "{user.labels[0]}"'
        )
    return problems


def _wrong_settings(user: BaseConfig, name: str) -> Iterator[str]:
    for option in user.options:
        where = f"{name}, line {option.line}"
        if option.name == "LD":
            yield (
                f"{where}: LD is set, which belongs to SPEC's tools and would have the link bypass layoutrand's "
                "wrappers; remove it (the link driver is CLD, CXXLD or FLD)"
            )
        elif option.name in _COMPILERS and (program := _bypasses(option, user)):
            rest = option.value.partition(" ")[2].strip()
            yield (
                f"{where}: {option.name} = {option.value} calls {program} and not layoutrand's wrapper; write "
                f"{option.name} = %{{{_COMPILERS[option.name]}}}{f' {rest}' if rest else ''}"
            )
        elif option.name.startswith("preENV_"):
            yield (
                f"{where}: {option.name} would have runcpu start itself again and is not applied here; set "
                f"{option.name.removeprefix('preENV_')} in suite.env, and remove it"
            )


def _bypasses(option: Option, user: BaseConfig) -> str:
    """The program that a compiler setting calls by another way than by name, or ""."""
    variables = {other.name: other.value for other in user.options}
    value = option.value
    for _ in range(5):
        value = re.sub(r"\$[({\[](\w+)[)}\]]", lambda match: variables.get(match[1], match[0]), value)
        value = _filled(value, user.defined)
    words = value.split()
    first = words[0].strip("\"'") if words else ""
    if first in ("%{lr_cc}", "%{lr_cxx}", "%{lr_fc}") or re.fullmatch(r"[\w.+-]+", first):
        return ""
    if re.fullmatch(r"\$[({](CC|CXX|FC)[)}]", first):
        return ""
    return first or "nothing"


def start_script(facts: SpecFacts, *, title: str, words: Sequence[str], below: str, build: bool) -> str:
    """The script that sources shrc and becomes runcpu or runspec with these arguments.

    Its first argument is the output root with ``below`` behind it.
    """
    return render(
        "spec.sh.j2",
        title=title,
        root=facts.root,
        tool=facts.tool,
        config=CONFIG_NAME,
        words=words,
        below=below,
        build=build,
    )


CONFIG_NAME: Final = "layoutrand.cfg"
SCRIPT_NAME: Final = "layoutrand-spec.sh"
