"""Config files of the stand-in for SPEC CPU: the syntax of the real ones, as far as layoutrand and its tests use it.

This is a stand-in for tests.  It shares no code with SPEC's tools and is not SPEC CPU.
"""

import os
import re

HEADER_ONLY = {
    "label",
    "ext",
    "action",
    "tune",
    "size",
    "iterations",
    "output_format",
    "output_root",
    "reportable",
    "preenv",
    "backup_config",
    "log_line_width",
    "line_width",
    "ignore_errors",
    "mean_anyway",
    "allow_label_override",
    "sysinfo_program",
    "expand_notes",
    "verbose",
    "teeout",
    "rebuild",
}
SECTION = re.compile(r"^([A-Za-z0-9_.,+-]+(?:=[A-Za-z0-9_.,%{}+-]*){0,3}):\s*$")
OPTION = re.compile(r"^([A-Za-z_][\w.]*)\s*(\+?=)\s*(.*)$")
HASH = re.compile(r"^__(?:HASH|MD5)__\s*$")


class ConfigProblem(Exception):
    """What stops runcpu while it reads a config file."""


class Config:
    """A config file, read: header options, and options by section."""

    def __init__(self, path, defines, *, year):
        self.path, self.year = path, year
        self.macros = dict(defines)
        self.header, self.sections, self.hashes = {}, [], []
        self.used_labels = set()
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        body, self.hash_text = split_hash(self.text)
        self._read(list(self._preprocessed(body, os.path.dirname(path))))

    def _preprocessed(self, text, folder):
        active = [True]
        lines = iter(re.sub(r"\\\n", " ", text).split("\n"))
        for line in lines:
            stripped = line.strip()
            if stripped.startswith("%") and not stripped.startswith("%{"):
                self._directive(stripped[1:].strip(), active)
                continue
            if not all(active) or not stripped or stripped.startswith("#"):
                continue
            line = self._expanded(re.sub(r"(?<!\\)#.*$", "", line)).replace("\\#", "#")
            if match := re.match(r"^\s*include:\s*(\S+)\s*$", line):
                with open(os.path.join(folder, match[1]), encoding="utf-8") as file:
                    yield from self._preprocessed(split_hash(file.read())[0], folder)
                continue
            yield line
        if len(active) != 1:
            raise ConfigProblem("ERROR: Unterminated %if in the config file!")

    def _directive(self, line, active):
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("ifdef", "ifndef"):
            name = rest.split("#")[0].strip().removeprefix("%{").removesuffix("}")
            active.append((self._macro(name) is not None) == (word == "ifdef"))
        elif word == "if":
            active.append(all(active) and self._condition(rest))
        elif word == "else":
            active[-1] = not active[-1]
        elif word == "endif":
            if len(active) == 1:
                raise ConfigProblem("ERROR: %endif without %if!")
            active.pop()
        elif not all(active):
            return
        elif word == "define":
            name, _, value = rest.split("#")[0].strip().partition(" ")
            self.macros[name.removeprefix("%{").removesuffix("}")] = value.strip().strip('"')
        elif word == "undef":
            self.macros.pop(rest, None)
        elif word == "error":
            raise ConfigProblem(f"ERROR: {self._expanded(rest)}")
        elif word not in ("warning", "info"):
            raise ConfigProblem(f"ERROR: Unknown preprocessor directive '%{word}'!")

    def _condition(self, text):
        match = re.fullmatch(r"['\"]?(.*?)['\"]?\s*(==|!=|eq|ne)\s*['\"]?(.*?)['\"]?", self._expanded(text))
        if match is None:
            raise ConfigProblem(f"ERROR: Cannot evaluate '%if {text}'")
        return (match[1] == match[3]) == (match[2] in ("==", "eq"))

    def _macro(self, name):
        if self.year != 2006 and name.startswith("ENV_"):
            return os.environ.get(name[4:])
        return self.macros.get(name)

    def _expanded(self, line):
        def value(match):
            found = self._macro(match[1])
            if found is None:
                raise ConfigProblem(f"ERROR: Undefined macro '{match[1]}' is used in the config file!")
            return found

        for _ in range(5):
            line = re.sub(r"%\{([^{}]+)\}", value, line)
        return line

    def _read(self, lines):
        current = self.header
        for line in lines:
            text = line.strip()
            if match := SECTION.match(text):
                current = {}
                self.sections.append((self._parts(match[1]), current))
            elif match := OPTION.match(text):
                name, how, value = match.groups()
                if current is not self.header and name in HEADER_ONLY:
                    raise ConfigProblem(f"ERROR: '{name}' may only be set in the header section!")
                current[name] = f"{current.get(name, '')} {value}".strip() if how == "+=" else value.strip()
            else:
                raise ConfigProblem(f"ERROR: Cannot parse line '{text}' of the config file!")

    def _parts(self, text):
        names, *rest = text.split("=")
        tune, label = ([*rest, "", ""])[:2]
        if label not in ("", "default"):
            self.used_labels.add(label)
        return names.split(","), tune or "default", label or "default"

    def options(self, benchmark, sets, tune, label):
        """All options of a benchmark: benchmark before set before default, label before tune."""
        found = []
        for place, ((names, for_tune, for_label), options) in enumerate(self.sections):
            if for_tune not in ("default", tune) or for_label not in ("default", label):
                continue
            level = 2 if benchmark in names else 1 if set(names) & set(sets) else 0 if "default" in names else None
            if level is not None:
                found.append((level, for_label != "default", for_tune != "default", place, options))
        merged = dict(self.header)
        for *_, options in sorted(found, key=lambda item: item[:4]):
            merged.update(options)

        def square(match):
            return merged.get(match[1], "")

        return {name: re.sub(r"\$\[(\w+)\]", square, value) for name, value in merged.items()}


def split_hash(text):
    """The part before the hash section, and that section."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if HASH.match(line):
            return "\n".join(lines[:number]) + "\n", "\n".join(lines[number:])
    return text, ""


def stored_hashes(text):
    """Section of the hash part -> its entries."""
    found, current = {}, None
    for line in text.split("\n"):
        if re.match(r"^\d{3}\.[\w.=-]+:$", line):
            current = found.setdefault(line[:-1], {})
        elif current is not None and (match := re.match(r"^(\w+)=(.*)$", line)):
            current[match[1]] = match[2]
    return found
