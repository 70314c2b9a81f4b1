"""Build Debian's source packages with and without layoutrand, and write down what came of it: `make packages`.

For each package and release: the build as it is (`dpkg-buildpackage -B`, its tests on), then the same under
`layoutrand exec --seed`, both as an ordinary user in a system of that release.  Results are kept, one JSON file each,
so that a run that is stopped goes on where it was; the table in docs/packages.md is made of them.
"""

import argparse
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from packages import evidence, table

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
TOOLS = HERE.parent / "tools"
SEED = 7
STOP = threading.Event()
SUITES = ("trixie", "bookworm")


@dataclass(frozen=True)
class Package:
    """A line of the list."""

    name: str
    kind: str
    options: tuple[str, ...]

    def build_options(self) -> str:
        """DEB_BUILD_OPTIONS: tests are on, one thing at a time, since packages are built beside each other."""
        return " ".join(["parallel=1", *(["optimize=+lto"] if "lto" in self.options else [])])


def listed(text: str) -> list[Package]:
    """The packages of the list."""
    rows = [line.split("|") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [Package(name.strip(), kind.strip(), tuple(options.split())) for name, kind, options in rows]


class Release:
    """A system of one release with sources, what they need, and layoutrand in it."""

    def __init__(self, name: str, base: Path) -> None:
        self.name, self.base = name, base / name
        self.root = self.base / "root"
        for folder in ("results", "logs"):
            (self.base / folder).mkdir(parents=True, exist_ok=True)

    def inside(self, *words: str, user: str = "dev") -> list[str]:
        """The command line that executes a command in there."""
        return ["bash", str(TOOLS / "inside.sh"), *(["--root"] if user == "root" else []), str(self.root), *words]

    def as_root(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Execute a script of bash as root in there."""
        return subprocess.run(
            self.inside("bash", "-c", script, "bash", *words, user="root"),
            capture_output=True,
            text=True,
            errors="replace",
        )

    def log(self, name: str) -> Path:
        return self.base / "logs" / name

    def make(self, packages: list[Package]) -> None:
        """The system, with the sources of the packages and what they need to be built."""
        if not (self.base / "made").exists():
            if not self.root.exists():
                subprocess.run(
                    [
                        "bash",
                        str(TOOLS / "fresh_root.sh"),
                        self.name,
                        str(self.root),
                        "build-essential",
                        "fakeroot",
                        "python3-venv",
                    ],
                    check=True,
                )
            line = next(
                text
                for text in (self.root / "etc/apt/sources.list").read_text().splitlines()
                if text.startswith("deb ")
            )
            sources = "".join(f"deb-src {line.split()[1]} {suite} main\n" for suite in self.suites())
            (self.root / "etc/apt/sources.list.d/src.list").write_text(sources)
            (self.root / "etc/dpkg/dpkg.cfg.d/unsafe").write_text("force-unsafe-io\n")
            required(self.as_root("apt-get update -qq"))
            (self.base / "made").touch()
        home = self.root / "home/dev"
        missing = [one.name for one in packages if not (home / "sources" / one.name / "ready").exists()]
        if missing:
            self._get(missing)

    def suites(self) -> list[str]:
        """Where sources come from: the release's own, then the others', since mirrors do not have all files of all."""
        return [self.name, *(suite for suite in SUITES if suite != self.name)]

    def _get(self, names: list[str]) -> None:
        """Sources, and the packages they need: all at once where apt can, or else one by one."""
        fetch = """
            name=$1; shift
            mkdir -p /home/dev/sources/$name && cd /home/dev/sources/$name || exit 1
            for suite do
                rm -f ./*
                if apt-get source -qq --download-only --only-source "$name/$suite"; then exit 0; fi
            done
            rm -f ./*; exit 1"""
        need = 'cd /home/dev/sources; export DEBIAN_FRONTEND=noninteractive; apt-get build-dep --arch-only -y -qq "$@"'
        found = []
        for name in names:
            done = self.as_root(fetch, name, *self.suites())
            self.log(f"{name}.setup").write_text(done.stdout + done.stderr)
            if done.returncode == 0:
                found += [
                    f"./{path.parent.name}/{path.name}"
                    for path in (self.root / "home/dev/sources" / name).glob("*.dsc")
                ]
        together = self.as_root(need, *found)
        for path in found:
            name = path.split("/")[1]
            if together.returncode:
                done = self.as_root(need, path)
                with self.log(f"{name}.setup").open("a") as log:
                    log.write(done.stdout + done.stderr)
                if done.returncode:
                    continue
            (self.root / "home/dev/sources" / name / "ready").touch()
        required(self.as_root("chown -R dev: /home/dev/sources; apt-get clean"))

    def install(self) -> str:
        """This checkout's layoutrand, tracked files as they are now, in a venv in there; which commit that is."""
        files = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True).stdout
        present = b"\0".join(
            name for name in files.split(b"\0") if name and os.path.lexists(CHECKOUT / os.fsdecode(name))
        )
        target = self.root / "home/dev/layoutrand"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        pack = subprocess.run(
            ["tar", "-c", "--null", "-T", "-"], cwd=CHECKOUT, input=present, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "--no-same-owner", "-C", str(target)], input=pack.stdout, check=True)
        required(self.as_root("chown -R dev: /home/dev/layoutrand"))
        script = "[ -e venv ] || python3 -m venv venv; venv/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps ./layoutrand && venv/bin/pip install -q --disable-pip-version-check ./layoutrand"
        required(subprocess.run(self.inside("bash", "-c", script), capture_output=True, text=True))
        return commit()


def commit() -> str:
    """The commit of this checkout, with "+" where tracked files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=CHECKOUT, capture_output=True, text=True
    )
    return done.stdout.strip()


def required(done: subprocess.CompletedProcess[str]) -> None:
    """End where a step failed without which nothing can follow."""
    if done.returncode:
        sys.exit(f"packages: {shlex.join(done.args)[-300:]} failed: {(done.stdout + done.stderr)[-2000:]}")


def build(release: Release, package: Package, variant: str, limit: float) -> dict:
    """Build a package, "plain" or "wrapped", and say what came of it."""
    place = f"/home/dev/build/{package.name}"
    folder = release.root / place.lstrip("/")
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)
    unpack = f"mkdir -p {place} && cd {place} && dpkg-source --no-check -x ~/sources/{package.name}/*.dsc src"
    required(subprocess.run(release.inside("sh", "-c", unpack), capture_output=True, text=True))
    before = evidence.elf_files(folder / "src")
    words = ["sh", "-c", "dpkg-buildpackage -us -uc -B; status=$?; echo $status > ../status; exit $status"]
    if variant == "wrapped":
        words = ["/home/dev/venv/bin/layoutrand", "exec", "--seed", str(SEED), "--", *words]
    script = 'cd "$1/src" && shift && exec env "$@"'
    env = [f"DEB_BUILD_OPTIONS={package.build_options()}", f"LAYOUTRAND_CACHE={place}/cache"]
    log = release.log(f"{package.name}.{variant}")
    status, wall, cpu = timed(release.inside("sh", "-c", script, "sh", place, *env, *words), log, limit)
    text = log.read_text(errors="replace")
    result = {
        "package": package.name,
        "version": next((folder / "src").glob("debian/changelog")).read_text().split("(")[1].split(")")[0],
        "options": list(package.options),
        "status": status,
        "built": _status(folder) == "0",
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "debs": len(list(folder.glob("*.*deb"))),
        "has_tests": evidence.has_tests(text),
        "counts": evidence.counts_of_tests(text),
        **looked_at(folder, place, text, before),
    }
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)
    return result


def _status(folder: Path) -> str:
    """The exit status of dpkg-buildpackage itself, "" if it did not come to an end."""
    path = folder / "status"
    return path.read_text().strip() if path.exists() else ""


def looked_at(folder: Path, place: str, log: str, before: dict[str, str]) -> dict:
    """What a build left, and what was said of it."""
    built = {
        f"{place}/src/{path}": found for path, found in evidence.elf_files(folder / "src").items() if path not in before
    }
    messages = [one for one in evidence.told(log) if one.path.startswith(place)]
    shipped = evidence.shipped(folder) if _status(folder) == "0" else {}
    laid_out = [one for one in messages if one.what == evidence.LAID_OUT]
    return {
        "links": [asdict(one) for one in messages],
        "shipped": shipped,
        "not_told": evidence.not_told(shipped, messages, built),
        "shipped_not_laid_out": evidence.not_told(shipped, laid_out, built),
        "built_not_told": evidence.not_told(built, messages, built),
    }


def timed(command: list[str], log: Path, limit: float) -> tuple[int | str, float, float]:
    """Exit status ("too long" beyond the limit, "stopped" with this program), wall-clock and processor seconds of a command, its output in a file."""
    start = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    status: int | str = ""
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(code)
            return status or process.returncode, time.monotonic() - start, usage.ru_utime + usage.ru_stime
        if (STOP.is_set() or time.monotonic() - start > limit) and not status:
            status = "stopped" if STOP.is_set() else "too long"
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.05)


def one_package(release: Release, package: Package, arguments: argparse.Namespace, version: str) -> None:
    """Bring the result of a package up to date."""
    path = release.base / "results" / f"{package.name}.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    if not (release.root / "home/dev/sources" / package.name / "ready").exists():
        print(f"{release.name} {package.name}: no source, or not what it needs", flush=True)
        return
    for variant in ("wrapped", "plain"):
        old = result.get(variant)
        if old and old["options"] == list(package.options) and not (arguments.again and variant == "wrapped"):
            continue
        if variant not in arguments.variants.split() and (variant == "wrapped" or result["wrapped"]["built"]):
            continue
        done = build(release, package, variant, arguments.limit)
        if STOP.is_set():
            return
        result[variant] = {**done, "commit": version}
        path.write_text(json.dumps(result, indent=1))
        print(f"{release.name} {package.name} {variant}: {in_words(variant, done)}", flush=True)


def in_words(variant: str, done: dict) -> str:
    """What came of a build, for the terminal."""
    words = f"{'built' if done['built'] else 'NOT BUILT'}, status {done['status']}, {done['wall_s']:.0f} s, CPU {done['cpu_s']:.0f} s"
    if variant == "wrapped":
        kinds = [one["what"] for one in done["links"]]
        words += "".join(
            f", {kinds.count(what)} {what}" for what in (evidence.LAID_OUT, evidence.LEFT, evidence.FAILED)
        )
        words += f", {len(done['not_told'])} shipped not told, {len(done['built_not_told'])} built not told"
    return words


def run(arguments: argparse.Namespace) -> None:
    """Make the systems, then build everything that has no result yet, the releases beside each other."""
    packages = listed((HERE / "list").read_text())
    if arguments.packages:
        known = {one.name: one for one in packages}
        unknown = set(arguments.packages.split()) - set(known)
        if unknown:
            sys.exit(f"packages: not in the list: {' '.join(sorted(unknown))}")
        packages = [known[name] for name in arguments.packages.split()]
    base = Path(arguments.directory).absolute()
    releases = [Release(name, base) for name in arguments.releases.split()]
    for release in releases:
        release.make(packages)
    version = commit()
    if "wrapped" in arguments.variants.split():
        for release in releases:
            release.install()
    jobs: queue.Queue[tuple[Release, Package]] = queue.Queue()
    for package in packages:
        for release in releases:
            jobs.put((release, package))

    def work() -> None:
        while not STOP.is_set():
            try:
                release, package = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                one_package(release, package, arguments, version)
            except (OSError, subprocess.SubprocessError, SystemExit) as error:
                print(f"{release.name} {package.name}: {error}", flush=True)

    for number in (signal.SIGINT, signal.SIGTERM):  # builds are groups of their own and would go on
        signal.signal(number, lambda *_: STOP.set())
    start = time.monotonic()
    workers = [threading.Thread(target=work) for _ in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--directory", default="/var/tmp/layoutrand-packages", help="where systems, results and logs are"
    )
    parser.add_argument("--releases", default="bookworm trixie")
    parser.add_argument("--packages", default="", help="some of the list, in this order; default: all")
    parser.add_argument(
        "--variants", default="wrapped plain", help='"wrapped": the plain build only where the other fails'
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=900, help="seconds for one build")
    parser.add_argument("--again", action="store_true", help="build with layoutrand also where there is a result")
    parser.add_argument(
        "--table", default=str(CHECKOUT / "docs/packages.md"), help='where the table goes; "" for nowhere'
    )
    arguments = parser.parse_args()
    run(arguments)
    if arguments.table:
        table.write(Path(arguments.directory), listed((HERE / "list").read_text()), Path(arguments.table))


if __name__ == "__main__":
    main()
