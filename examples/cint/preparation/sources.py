"""The programs' sources: upstream archives of Debian source packages, fetched and checked by apt."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

HELPER = "/usr/lib/apt/apt-helper"
NO_SOURCES = """\
apt knows no source package {package}. The machine's package lists have no source packages (deb-src), or are not there
yet. Either of these helps:
  - as root: add 'deb-src' to the line 'Types: deb' in /etc/apt/sources.list.d/debian.sources (in sources.list: a line
    that begins with 'deb-src' for each that begins with 'deb'), and apt-get update
  - --private-lists: lists of source packages are fetched into the directory of the archives; nothing is changed in /etc
    and no root is needed"""


class Unavailable(Exception):
    """A source cannot be had; the message says what to do."""


def archive(source: dict, kept: Path, *, private_lists: bool) -> Path:
    """The checked archive of a source, from ``kept`` if it is there already; raises `Unavailable`."""
    path = kept / source["package"] / source["archive"]
    if not path.exists():
        _fetch(source, path, _private_lists(kept) if private_lists else None)
    if (found := hashlib.sha256(path.read_bytes()).hexdigest()) != source["sha256"]:
        raise Unavailable(
            f"{path} is not the archive that this suite was made with (SHA-256 {found}, not {source['sha256']}). "
            "Delete it, and it is fetched again"
        )
    return path


def unpack(path: Path, target: Path) -> None:
    """The contents of the archive under ``target``, without the one directory that most archives have above them."""
    beside = target.with_name(target.name + ".part")
    beside.mkdir(parents=True)
    with tarfile.open(path) as tar:
        tar.extractall(beside, filter="tar")
    entries = list(beside.iterdir())
    inner = entries[0] if len(entries) == 1 and entries[0].is_dir() else beside
    inner.rename(target)
    if inner is not beside:
        beside.rmdir()


def change(directory: Path, changes: list[dict]) -> None:
    """Make the changes of programs.toml; raises `Unavailable` where a source is not as they expect it."""
    for entry in changes:
        path = directory / entry["file"]
        text = path.read_text(encoding="latin-1")
        if text.count(entry["old"]) != 1:
            raise Unavailable(f"{path}: {entry['old']!r} is there {text.count(entry['old'])} times, not once")
        stat = path.stat()
        path.write_text(text.replace(entry["old"], entry["new"]), encoding="latin-1")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # nothing that is made from it looks out of date


def _fetch(source: dict, path: Path, settings: Path | None) -> None:
    if shutil.which("apt-get") is None or not Path(HELPER).exists():
        raise Unavailable(
            f"there is no apt here to fetch {source['archive']} with. Put that file of Debian 12's source package "
            f"{source['package']} at {path}"
        )
    env = {**os.environ, "LC_ALL": "C"} | ({"APT_CONFIG": str(settings)} if settings else {})
    shown = subprocess.run(["apt-cache", "showsrc", source["package"]], env=env, capture_output=True, text=True)
    versions = list(dict.fromkeys(re.findall(r"^Version: (\S+)$", shown.stdout, re.MULTILINE)))
    if not versions:
        raise Unavailable(NO_SOURCES.format(package=source["package"]))
    wrong = []
    for version in versions:
        command = ["apt-get", "source", "--print-uris", f"{source['package']}={version}"]
        listed = subprocess.run(command, env=env, capture_output=True, text=True)
        for address, name, digest in re.findall(r"^'(\S+)' (\S+) \d+ SHA256:(\S+)$", listed.stdout, re.MULTILINE):
            if name == source["archive"]:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(".part")
                done = subprocess.run(
                    [HELPER, "download-file", address, part, f"SHA256:{digest}"],
                    env=env,
                    capture_output=True,
                    text=True,
                )
                if done.returncode == 0:
                    part.rename(path)
                    return
                wrong.append(done.stderr.strip())
    told = " ".join(wrong) or f"apt has {', '.join(versions)}, whose upstream version is another"
    raise Unavailable(
        f"{source['archive']} of the Debian 12 source package {source['package']} cannot be had: {told}. "
        f"It may be put at {path}; snapshot.debian.org keeps all versions"
    )


def _private_lists(kept: Path) -> Path:
    """An apt configuration of our own with source packages of the machine's archives; the path of its settings."""
    base = kept / "package-lists"
    settings, etc = base / "apt.conf", Path("/etc/apt")
    if settings.exists():
        return settings
    for name in ("sources", "lists/partial", "cache/archives/partial"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for path in etc.glob("sources.list.d/*.sources"):
        text = re.sub(r"^Types:.*$", "Types: deb-src", path.read_text(), flags=re.MULTILINE)
        (base / "sources" / path.name).write_text(text)
    for path in [etc / "sources.list", *etc.glob("sources.list.d/*.list")]:
        lines = path.read_text().splitlines() if path.exists() else []
        chosen = [re.sub(r"^deb(-src)?\s", "deb-src ", line) for line in lines if line.startswith("deb")]
        (base / "sources" / f"{path.stem}.list").write_text("\n".join([*dict.fromkeys(chosen), ""]))
    part = base / "apt.part"
    part.write_text(
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{base}/sources";\n'
        f'Dir::State::Lists "{base}/lists";\nDir::Cache "{base}/cache";\nAPT::Sandbox::User "root";\n'
    )
    env = {**os.environ, "APT_CONFIG": str(part), "LC_ALL": "C"}
    done = subprocess.run(["apt-get", "update"], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"apt-get update into {base} failed (is there a network?): {done.stderr.strip()[-500:]}")
    part.rename(settings)
    return settings
