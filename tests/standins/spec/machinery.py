"""Building and running in the stand-in for SPEC CPU: make, exe and run directories, the hash section, comparison.

This is a stand-in for tests.  It shares no code with SPEC's tools and is not SPEC CPU.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from configfile import ConfigProblem, stored_hashes

MAKEFILE = """\
include Makefile.spec
LDOUT ?= -o $@
OBJS = $(addsuffix .o,$(basename $(SOURCES)))
CLD ?= $(CC)
CXXLD ?= $(CXX)
FLAGS = $(OPTIMIZE) $(COPTIMIZE) $(PORTABILITY) $(CPORTABILITY) $(EXTRA_CFLAGS) $(EXTRA_OPTIMIZE) $(EXTRA_COPTIMIZE)
LINK = $(CLD) $(LDFLAGS) $(LDCFLAGS) $(EXTRA_LDFLAGS) $(OPTIMIZE) $(COPTIMIZE) $(LDOPTIMIZE) $(PORTABILITY) \\
 $(CPORTABILITY) $(LDPORTABILITY) $(EXTRA_OPTIMIZE) $(EXTRA_COPTIMIZE)
LIBRARIES = $(LIBS) $(OS_LIBS) $(MATH_LIBS) $(EXTRA_LIBS) $(EXTRA_CLIBS) $(LDOPTIONS)
build: $(EXEBASE)
$(EXEBASE): $(OBJS)
\t$(LINK) $(if $(NEEDATFILE),@objectnames,$(OBJS)) $(LIBRARIES) $(LDOUT) $(LDOUT_OPTIONS)
%.o: %.c
\t$(CC) -c -o $@ -DSPEC -DNDEBUG $(BENCH_FLAGS) $(FLAGS) $(EXTRA_PORTABILITY) $(EXTRA_CPORTABILITY) $<
options:
\t@echo 'COMP: "$(CC) -c -o $(firstword $(OBJS)) -DSPEC -DNDEBUG $(FLAGS) $(EXTRA_PORTABILITY) <source>"'
\t@echo 'LINK: "$(LINK) <objects> $(LIBRARIES) -o $(EXEBASE)"'
\t@echo 'C: CC="$(CC)"'
\t@echo 'O: OPTIMIZE="$(OPTIMIZE)"'
compiler-version:
\t-$(CC) $(OPTIMIZE) $(CC_VERSION_OPTION)
clean:
\trm -rf *.o $(EXEBASE) *.out
"""
VARIABLES = (
    "CC CXX FC CLD CXXLD FLD CC_VERSION_OPTION CXX_VERSION_OPTION FC_VERSION_OPTION LDFLAGS LDCFLAGS EXTRA_LDFLAGS OPTIMIZE "
    "COPTIMIZE LDOPTIMIZE PORTABILITY CPORTABILITY LDPORTABILITY EXTRA_OPTIMIZE EXTRA_COPTIMIZE EXTRA_CFLAGS LIBS "
    "OS_LIBS MATH_LIBS EXTRA_LIBS EXTRA_CLIBS LDOPTIONS LDOUT LDOUT_OPTIONS EXTRA_PORTABILITY EXTRA_CPORTABILITY NEEDATFILE"
).split()


def description(harness, name):
    """What the benchmark consists of (in real SPEC that is in Spec/object.pm)."""
    folder = harness.spec / "benchspec" / harness.benchspec / name
    return json.loads((folder / "Spec/standin.json").read_text())


def executables(harness, name, tune):
    """Where the executables of a benchmark are."""
    folder = harness.root / "benchspec" / harness.benchspec / name / "exe"
    return [
        folder / f"{one['name']}_{tune}.{harness.options['label']}" for one in description(harness, name)["executables"]
    ]


class Builder:
    """``--action build``."""

    def __init__(self, harness):
        self.h = harness
        self.md5 = harness.year == 2006
        self.hash = hashlib.md5 if self.md5 else hashlib.sha256
        self.stored = stored_hashes(harness.config.hash_text)
        self.exehashes = {}

    def key(self, name, tune):
        label = self.h.options["label"]
        return f"{name}={tune}={label}=default" if self.md5 else f"{name}={tune}={label}"

    def make_options(self, name, tune):
        sets = [s for s, members in self.h.sets.items() if name in members]
        found = self.h.config.options(name, sets, tune, self.h.options["label"])
        if "LD" in found:
            raise ConfigProblem("ERROR: LD may not be set in the config file; it is reserved for the tools!")
        if "CC" not in found:
            raise ConfigProblem(f"ERROR: no setting for CC applies to {name}!")
        if not self.md5 and "CC_VERSION_OPTION" not in found:
            raise ConfigProblem("ERROR: CC_VERSION_OPTION must be set in the config file!")
        return found

    def build(self, name, tune):
        found = self.make_options(name, tune)
        exes = executables(self.h, name, tune)
        text = "\n".join(f"{v}={found[v]}" for v in VARIABLES if v in found)
        opthash = self.hash(text.encode()).hexdigest()
        label = self.h.options["label"]
        self.h.say("\n" + "-" * 72)
        if self._up_to_date(name, tune, exes, opthash, found):
            self.h.say(f"  Up to date {name} {tune} {label}" + (" default" if self.md5 else ""))
            self.exehashes[name, tune] = self.exehash(exes)
            return True
        if self.h.options.get("nobuild") == "1":
            self.h.say(f"  {name} {tune} {label}: not up to date, and --nobuild was given")
            return False
        folder = exes[0].parents[1] / "build" / f"build_{tune}_{label}.0000"
        self.h.say(f"  Building {name} {tune} {label}: ({folder.name}) [{self.h.now()}]")
        for exe in exes:
            exe.unlink(missing_ok=True)
        if not self._make(name, folder, exes, text, found):
            self.h.say(f"*** Error building {name} {tune}")
            if self.h.options.get("ignore_errors") not in ("1", "yes"):
                self.h.say("If you wish to ignore this error, please use '-I' or ignore_errors.")
                raise ConfigProblem("")
            return False
        self.exehashes[name, tune] = self.exehash(exes)
        self._store(self.key(name, tune), opthash, self.exehashes[name, tune])
        return True

    def exehash(self, exes):
        if os.environ.get("STANDIN_EXEHASH") == "salted":
            return self.hash(b"salt" + b"".join(exe.read_bytes() for exe in exes)).hexdigest()
        return self.hash(b"".join(exe.read_bytes() for exe in exes)).hexdigest()

    def _up_to_date(self, name, tune, exes, opthash, found):
        if not all(exe.exists() for exe in exes) or self.h.options.get("rebuild") == "1":
            return False
        switch = found.get("check_md5", "1") if self.md5 else found.get("verify_binaries", "yes")
        if switch in ("0", "no"):
            return True
        stored = self.stored.get(self.key(name, tune))
        if stored is None:
            self.h.say(
                f"When checking executables ({exes[0]}), no checksums were\n  found in the config file.  They will be installed after build."
            )
            return False
        suffix = "md5" if self.md5 else "hash"
        for kind, now in (("opt", opthash), ("exe", self.exehash(exes))):
            if stored[f"{kind}{suffix}"] != now:
                what = "options" if kind == "opt" else "executable"
                self.h.say(f"Checksum mismatch for {what} (stored: {stored[f'{kind}{suffix}']})")
                return False
        return True

    def _make(self, name, folder, exes, text, found):
        shutil.rmtree(folder, ignore_errors=True)
        source = self.h.spec / "benchspec" / self.h.benchspec / name / "src"
        shutil.copytree(source, folder)
        (folder / "Makefile").write_text(MAKEFILE)
        out = folder / "make.out"
        jobs = found.get("makeflags", "").split()
        for one, exe in zip(description(self.h, name)["executables"], exes, strict=True):
            (folder / "Makefile.spec").write_text(
                f"{text}\nEXEBASE={one['name']}\nSOURCES={' '.join(one['sources'])}\n"
            )
            for target in ("clean", "build", "options", "compiler-version"):
                command = ["specmake", *jobs, f"TARGET={one['name']}", target]
                self.h.say(f"specmake {' '.join(command[1:])}", 150)
                done = subprocess.run(
                    command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
                )
                with out.open("a") as file:
                    file.write(done.stdout)
                self.h.say(done.stdout, 180)
                if done.returncode and target == "build":
                    self.h.say(f"Error with make '{' '.join(command)}': check file '{out}'")
                    self.h.say(f"  Command returned exit code {done.returncode}\n  Error with make!")
                    return False
            exe.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / one["name"], exe)
        return True

    def _store(self, key, opthash, exehash):
        self.stored[key] = {
            ("optmd5" if self.md5 else "opthash"): opthash,
            "baggage": "",
            ("exemd5" if self.md5 else "exehash"): exehash,
        }
        config = self.h.config
        head = config.text[: len(config.text) - len(config.hash_text)] if config.hash_text else config.text
        lines = ["__MD5__" if self.md5 else "__HASH__"]
        for section, entries in self.stored.items():
            lines += [f"{section}:", f"# Last updated {self.h.now()}", *(f"{k}={v}" for k, v in entries.items()), ""]
        config.text, config.hash_text = head + "\n".join(lines) + "\n", "\n".join(lines) + "\n"
        with open(config.path, "w", encoding="utf-8") as file:
            file.write(config.text)


class Runner:
    """Run directories, execution, comparison."""

    def __init__(self, harness):
        self.h = harness
        self.folders = {}

    def workload(self, name):
        size = self.h.options["size"]
        if size != "ref" or self.h.year == 2006:
            return size
        return "refspeed" if name.endswith("_s") else "refrate"

    def set_up(self, name, tune):
        size, label = self.workload(name), self.h.options["label"]
        base = self.h.root / "benchspec" / self.h.benchspec / name
        folder = base / "run" / f"run_{tune}_{size}_{label}.0000"
        shown = f"{name} {self.h.options['size']} {tune} {label}" + (" default" if self.h.year == 2006 else " (1 copy)")
        strict = self.h.config.header.get("strict_rundir_verify", "1") not in ("0", "no")
        if folder.exists() and not strict:  # files that are there are taken as they are, also the executable
            self.h.say(f"  Setting up {shown}: existing ({folder.name})")
        else:
            self.h.say(f"  Setting up {shown}: {folder.name}")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            data = self.h.spec / "benchspec" / self.h.benchspec / name / "data"
            for part in ("all", size):
                if (data / part / "input").is_dir():
                    shutil.copytree(data / part / "input", folder, dirs_exist_ok=True)
            for exe in executables(self.h, name, tune):
                shutil.copy2(exe, folder / exe.name)
        with (base / "run/list").open("a") as file:
            file.write(f"{folder.name} lock=1 username=standin size={size} label={label}\n")
        self.folders[name, tune] = folder
        for command in description(self.h, name).get("setup", []):
            if self._start(command, folder, tune):
                self.h.say(f"*** Error during benchmark setup for {name}")
                return False
        return True

    def _start(self, command, folder, tune):
        program = f"../{folder.name}/{command['exe']}_{tune}.{self.h.options['label']}"
        shown = f"{program} {' '.join(command['args'])} > {command['stdout']} 2>> {command['stdout']}.err"
        self.h.say(f"    -o {command['stdout']} -e {command['stdout']}.err {shown} (timed)", 150)
        with (folder / command["stdout"]).open("wb") as out, (folder / f"{command['stdout']}.err").open("ab") as err:
            done = subprocess.run([program, *command["args"]], cwd=folder, stdout=out, stderr=err)
        return done.returncode

    def execute(self, name, tune, iteration, *, compare):
        options, folder = self.h.options, self.folders[name, tune]
        what = description(self.h, name)
        number = f"(#{iteration + 1}) " if int(options["iterations"]) > 1 else ""
        size = self.workload(name)
        shown = f"{size} (ref)" if size.startswith("ref") and size != "ref" else size
        tail = "default" if self.h.year == 2006 else f"(1 copy) [{self.h.now()}]"
        self.h.say(f"  Running {number}{name} {shown} {tune} {options['label']} {tail}")
        self.h.say(f"Commands to run (specinvoke command file):\n    -r\n    -N C\n    -C {folder}", 150)
        record = {
            "benchmark": name,
            "tune": tune,
            "valid": "S",
            "iteration": iteration,
            "errors": [],
            "rc": 0,
            "begin": time.time(),
        }
        total = 0
        for place, command in enumerate(what["commands"]):
            begin = time.monotonic_ns()
            status = self._start(command, folder, tune)
            taken = time.monotonic_ns() - begin
            total += taken
            if os.environ.get("STANDIN_KILL") == "1":  # as the kernel does where memory runs out
                sys.stdout.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            self.h.say(f"Workload elapsed time (copy 0 workload {place + 1}) = {taken / 1e9:.6f} seconds", 110)
            if status:
                code, number = (status, 0) if status > 0 else (0, -status)
                record["errors"].append(f"copy 0 non-zero return code (exit code={code}, signal={number})")
                self.h.say(f"{name}: copy 0 non-zero return code (exit code={code}, signal={number})")
                record.update(valid="RE", rc=code << 8 | number)
                break
        record.update(ns=total, end=time.time())
        self.h.say(
            f"Copy 0 of {name} ({tune} {size}) run {iteration + 1} finished at {self.h.now()}.  Total elapsed time: {total / 1e9:.6f}",
            106,
        )
        if compare and record["valid"] == "S":
            self._compare(name, folder, size, what, record)
        self._tell(record, size)
        return record

    def _compare(self, name, folder, size, what, record):
        reference = self.h.spec / "benchspec" / self.h.benchspec / name / "data" / size / "output"
        for file in what["compare"]:
            self.h.say(f"comparing '{file}' with floatcompare=1, nansupport=no", 150)
            expected, actual = (reference / file).read_text().splitlines(), (folder / file).read_text().splitlines()
            if expected != actual:
                first = next(
                    (k for k, pair in enumerate(zip(expected, actual, strict=False)) if pair[0] != pair[1]),
                    min(len(expected), len(actual)),
                )
                (folder / f"{file}.mis").write_text(
                    f"{first + 1:04}:  {expected[first] if first < len(expected) else ''}\n       {actual[first] if first < len(actual) else ''}\n"
                )
                self.h.say(f"\n*** Miscompare of {file}; for details see\n    {folder}/{file}.mis")
                record.update(valid="VE")
                record["errors"].append("Output miscompare")

    def _tell(self, record, size):
        seconds, good = record["ns"] / 1e9, record["valid"] == "S"
        if self.h.year == 2006:
            rest = "power=0.00w, temp=0.00 deg, humidity=0.00%"
        else:
            rest = "copies=1, threads=1, power=0.00W, temp=0.00 degC, humidity=0.00%" + (
                "" if good else f", errorcode={record['valid']}"
            )
        self.h.say(
            f" {'Success' if good else 'Error'} {record['benchmark']} {record['tune']} {size} ratio=-0.00, runtime={seconds:.6f}, {rest}",
            106,
        )
