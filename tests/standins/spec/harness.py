#!@PYTHON@
"""A STAND-IN for SPEC CPU's runcpu and runspec, for the tests of layoutrand.

This is not SPEC CPU, shares no code with it and measures nothing of interest.  It speaks the same protocol: command
line, config file, make, hash section, directories, terminal lines, log, raw results, and the ways of failing.
"""

import base64
import getpass
import os
import re
import signal
import socket
import sys
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "harness"))
from configfile import Config, ConfigProblem
from machinery import Builder, Runner
from reports import write_results

ACTIONS = {
    2006: "build buildsetup clean clobber configpp onlyrun realclean report run scrub setup trash validate",
    2017: "build buildsetup onlyrun report run runsetup setup validate clean clobber trash realclean scrub",
}
WITH_VALUE = {
    "--config": "config",
    "-c": "config",
    "--action": "action",
    "-a": "action",
    "--size": "size",
    "-i": "size",
    "--iterations": "iterations",
    "-n": "iterations",
    "--tune": "tune",
    "-T": "tune",
    "--label": "label",
    "-L": "label",
    "--extension": "label",
    "-e": "label",
    "--output_format": "output_format",
    "-o": "output_format",
    "--output_root": "output_root",
    "--output-root": "output_root",
    "--copies": "copies",
    "--threads": "threads",
    "--rate": "copies",
    "--verbose": "verbose",
    "--machine": "machine",
    "--expid": "expid",
}
FLAGS = {
    "--noreportable": ("reportable", "0"),
    "--loose": ("reportable", "0"),
    "-l": ("reportable", "0"),
    "--nostrict": ("reportable", "0"),
    "--ignore_errors": ("ignore_errors", "1"),
    "-I": ("ignore_errors", "1"),
    "--rebuild": ("rebuild", "1"),
    "-D": ("rebuild", "1"),
    "--nobuild": ("nobuild", "1"),
    "-N": ("nobuild", "1"),
    "--fake": ("fake", "1"),
    "--dry-run": ("fake", "1"),
}


class Stop(Exception):
    """The run ends here, with an exit status."""


class Harness:
    """One call of runcpu or runspec."""

    def __init__(self, spec, argv):
        self.spec, self.argv = Path(spec), argv
        self.tool = "runcpu" if (self.spec / "bin/runcpu").exists() else "runspec"
        known = [p for p in (self.spec / "benchspec").glob("CPU*") if p.is_dir()]
        self.benchspec = known[0].name
        self.year = 2006 if self.tool == "runspec" else int((self.spec / "bin/.year").read_text())
        self.suite = f"CPU{self.year}"
        self.options, self.defines, self.wanted, self.tags = {}, {}, [], []
        self.lines, self.log = [], None
        self.began = time.time()

    # -- what is said where ------------------------------------------------------------------------------------
    def say(self, text="", level=0):
        """A line of the log, and of the terminal where its level is shown there (0-5 and 100-105)."""
        if level <= 5 or 100 <= level <= int(self.options.get("verbose", "5")) + 100:
            print(text, flush=True)
        if self.log is None:
            self.lines.append(text)
        else:
            with self.log.open("a") as file:
                file.write(text + "\n")

    def now(self):
        return time.strftime("%Y-%m-%d %H:%M:%S")

    # -- the command line --------------------------------------------------------------------------------------
    def arguments(self):
        words = iter(self.argv)
        for word in words:
            name, equals, value = word.partition("=")
            if name in ("--define", "-S"):
                value = value if equals else next(words)
                symbol, separator, content = re.match(r"(\w+)([=:]?)(.*)", value, re.DOTALL).groups()
                self.defines[symbol] = content if separator else "1"
            elif name in WITH_VALUE:
                if name in ("--output_root", "--output-root") and self.year == 2006:
                    raise Stop(f"Unknown option: {name.lstrip('-')}")
                self.options[WITH_VALUE[name]] = value if equals else next(words)
            elif word in FLAGS:
                self.options.__setitem__(*FLAGS[word])
            elif word.startswith("-"):
                raise Stop(f"Unknown option: {word.lstrip('-')}")
            else:
                self.wanted.append(word)

    def settings(self):
        header = {
            "iterations": "3",
            "tune": "base",
            "label": "none",
            "size": "ref",
            "output_format": "raw",
            "action": "validate",
        }
        own = dict(self.config.header)
        if "ext" in own:
            own["label"] = own["ext"]
        self.options = {**header, **own, **self.options}

    # -- a whole call ------------------------------------------------------------------------------------------
    def main(self):
        if os.environ.get("SPEC") != str(self.spec):
            print(
                "specperl: The SPEC environment variable is not set!\nPlease source the shrc before invoking runcpu.",
                file=sys.stderr,
            )
            return 1
        try:
            self.arguments()
            return self.work()
        except (Stop, ConfigProblem) as error:
            self.say(str(error))
            self.start_log()
            self.end(failed=True)
            return 1

    def work(self):
        self.say(
            f'{self.tool} v{6674 if self.year == 2006 else 6612} started at {self.now()} on "{socket.gethostname()}"'
        )
        self.say(f"{self.tool} is: {self.spec}/bin/{self.tool}", 10)
        self.say(f"{self.tool}: {self.tool} {' '.join(self.argv)}", 10)
        self.say("toolset: linux-x86_64", 10)
        benchmarks = sorted(p.name for p in (self.spec / "benchspec" / self.benchspec).glob("[0-9]*.*"))
        sets = {
            p.stem: re.findall(r"\d{3}\.\w+", p.read_text())
            for p in (self.spec / "benchspec" / self.benchspec).glob("*.bset")
        }
        self.sets = sets
        self.say(f"\nLocating benchmarks...found {len(benchmarks)} benchmarks in {len(sets)} benchsets.")
        name = self.options.get("config", "default")
        path = (
            Path(name)
            if name.startswith("/")
            else self.spec / "config" / (name if name.endswith(".cfg") else f"{name}.cfg")
        )
        if not path.exists():
            raise Stop(f"ERROR: Could not find config file '{name}'")
        self.say(f"Reading config file '{path}'")
        self.config = Config(str(path), self.defines, year=self.year)
        self.settings()
        self.root = Path(self.options["output_root"]) if self.options.get("output_root") else self.spec
        self.root = self.root if self.root.is_absolute() else self.spec / self.root
        self.start_log()
        label = self.options["label"]
        if not re.fullmatch(r"[A-Za-z0-9._-]+", label):
            raise Stop(f"ERROR: Illegal character in label '{label}'")
        if (
            label != "none"
            and label not in self.config.used_labels
            and self.config.header.get("allow_label_override") != "yes"
        ):
            raise Stop(f"ERROR: The label '{label}' defines no settings in the config file!")
        selected = self.select(benchmarks, sets)
        if self.options["action"] not in ACTIONS[2006 if self.year == 2006 else 2017].split():
            raise Stop(f"Invalid action: '{self.options['action']}'")
        if self.options["size"] not in ("test", "train", "ref"):
            raise Stop(f"ERROR: '{self.options['size']}' is not a size")
        for key, title in (
            ("action", "Action"),
            ("tune", "Tune"),
            ("label", "Ext" if self.year == 2006 else "Label"),
            ("size", "Size"),
        ):
            self.say(f"{title:<9} = {self.options[key]}")
        self.say(f"benchmarks= {','.join(selected)}")
        self.say(f"username  = {getpass.getuser() if os.environ.get('HOME') else 'unknown'}")
        self.say(f"Benchmarks selected: {', '.join(selected)}")
        return self.act(selected)

    def select(self, benchmarks, sets):
        selected = []
        for word in self.wanted:
            exact = [b for b in benchmarks if word in (b, b.split(".")[0], b.split(".")[1])]
            if word in sets:
                selected += sets[word]
            elif exact:
                selected += exact
            else:
                self.say(f"Can't find benchmark '{word}'")
                self.say(
                    f"WARNING: Can't parse '{word}' into a single benchmark name, benchset name,\n\tor metric name."
                )
        if not selected:
            raise Stop(
                "No benchmark suite selected!  Expected one or more of "
                + ", ".join(f"'{s}'" for s in sorted(sets))
                + " or 'all'."
            )
        return list(dict.fromkeys(selected))

    def act(self, selected):
        action, tune = self.options["action"], self.options["tune"]
        builder, runner = Builder(self), Runner(self)
        records, failed = [], {"build": [], "setup": []}
        ready = []
        self.say("Compiling Binaries")
        for name in selected:
            for one in tune.split(","):
                if builder.build(name, one):
                    ready.append((name, one))
                else:
                    failed["build"].append(f"{name}({one}; CE)")
                    records.append(
                        {"benchmark": name, "tune": one, "valid": "CE", "iteration": -1, "errors": ["Error with make!"]}
                    )
        if action in ("build",):
            return self.built(selected, failed["build"])
        if failed["build"] and self.options.get("ignore_errors") not in ("1", "yes"):
            raise Stop(
                "Invalid run; unable to continue.\nIf you wish to ignore errors please use '-I' or ignore_errors"
            )
        self.say("\n\nSetting Up Run Directories")
        runnable = [(name, one) for name, one in ready if runner.set_up(name, one)]
        failed["setup"] = [f"{name}({one})" for name, one in ready if (name, one) not in runnable]
        if failed["setup"]:
            self.say(f"Setup errors: {', '.join(failed['setup'])}")
        if not runnable:
            self.say("\nNOTICE: Nothing to run!  No results will be generated.\n")
            return self.end(failed=True) or 0
        if action in ("setup", "buildsetup", "runsetup"):
            return self.end() or 0
        self.say("-" * 35 + "\nRunning Benchmarks")
        compare = action == "validate" or (action == "run" and self.year != 2006)
        for iteration in range(int(self.options["iterations"])):
            for name, one in runnable:
                records.append(runner.execute(name, one, iteration, compare=compare))
        self.tally(records)
        if action == "onlyrun" or (action == "run" and self.year == 2006):
            return self.end() or 0
        self.say("Producing Raw Reports")
        write_results(self, records, builder)
        return self.end(failed=any(r["valid"] != "S" for r in records)) or 0

    def built(self, selected, failed):
        done = [f"{name}({self.options['tune']})" for name in selected if not any(f.startswith(name) for f in failed)]
        if done:
            self.say(f"Build successes: {', '.join(done)}")
        if failed:
            self.say(f"Build errors: {', '.join(failed)}")
        self.say("\nBuild Complete\n")
        return self.end(failed=bool(failed)) or 0

    def tally(self, records):
        for status, title in (("S", "Success"), (None, "Error")):
            names = [r["benchmark"] for r in records if (r["valid"] == "S") == (status == "S")]
            if names:
                self.say(f"{title}: " + " ".join(f"{names.count(n)}x{n}" for n in dict.fromkeys(names)), 103)

    # -- the log -----------------------------------------------------------------------------------------------
    def start_log(self):
        if self.log is not None or not hasattr(self, "root"):
            return
        result = self.root / "result"
        result.mkdir(parents=True, exist_ok=True)
        lock = result / f"lock.{self.suite}"
        number = int(lock.read_text() or 0) + 1 if lock.exists() else 1
        lock.write_text(f"{number}\n")
        self.number = number
        self.log = result / f"{self.suite}.{number:03}.log"
        self.log.write_text("\n".join(self.lines) + "\n")

    def end(self, *, failed=False):
        finished = f"{self.tool} finished at {self.now()}; {round(time.time() - self.began)} total seconds elapsed"
        if self.log is not None:
            self.say(finished, 10)
            self.say(f"The log for this run is in {self.log}")
            if failed:
                debug = self.log.with_name(self.log.name + ".debug")
                debug.write_text("details\n")
                self.say(
                    f"The debug log for this run is in {debug}\n*\n* Temporary files were NOT deleted; keeping temporaries such as\n* {debug}\n* (These may be large!)\n*"
                )
        self.say()
        self.say(finished)


def blob(text):
    """Text as SPEC's raw files hold it."""
    return "@" + base64.b64encode(zlib.compress(text.encode())).decode()


def maybe_killed():
    """The kernel ends it in the middle, as it does where memory runs out."""
    if os.environ.get("STANDIN_KILL") == "1":
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(Harness(Path(__file__).resolve().parent.parent, sys.argv[1:]).main())
