"""Source packages of the distribution, through its own package tools, in a private apt configuration.

The machine's configuration is read and never touched: its package sources are copied with source packages switched on
into a directory of ours, and apt is pointed there. Packages are kept in ``$LAYOUTRAND_TEST_SOURCES``, else beside
this file.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from filelock import FileLock

KEPT = Path(os.environ.get("LAYOUTRAND_TEST_SOURCES") or Path(__file__).parent / "real" / ".sources").absolute()
ETC = Path("/etc/apt")
UPSTREAM = r"\.orig\.tar\.(?:gz|xz|bz2)"
DISTRIBUTION = r"\.debian\.tar\.(?:gz|xz|bz2)"


def source_tree(package, target):
    """Unpack the package's upstream source under ``target``; skips the test (or fails it under CI) without it."""
    archive = _archive(package, UPSTREAM)
    target.mkdir(parents=True)
    _unpack(archive, target)
    entries = list(target.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else target


def patched_tree(package, target):
    """The same as the distribution builds it: with its patches. Their archives leave mirrors before upstream's do."""
    tree = source_tree(package, target)
    _unpack(_archive(package, DISTRIBUTION), tree)
    patches = tree / "debian" / "patches"
    for line in (patches / "series").read_text().splitlines():
        if name := line.partition("#")[0].strip():
            done = subprocess.run(
                ["patch", "-p1", "--batch", f"--input={patches / name}"], cwd=tree, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{name} of {package}: {done.stdout}{done.stderr}"
    return tree


def _unpack(archive, target):
    with tarfile.open(archive) as tar:
        known = hasattr(tarfile, "fully_trusted_filter")  # not by Debian 12's Python 3.11.2
        tar.extractall(target, **({"filter": "fully_trusted"} if known else {}))


def _archive(package, kind):
    KEPT.mkdir(parents=True, exist_ok=True)
    with FileLock(KEPT / ".lock"):
        folder = KEPT / package
        found = _of_kind(folder, kind)
        if found is None:
            _download(package, folder, kind)
            found = _of_kind(folder, kind)
    if found is None:
        unavailable(f"apt gave no archive *{kind} of {package}")
    return found


def _of_kind(folder, kind):
    found = [path for path in folder.glob("*") if re.search(f"{kind}$", path.name)]
    return found[0] if found else None


def _download(package, folder, kind):
    if shutil.which("apt-get") is None:
        unavailable("there is no apt-get")
    env = {**os.environ, "APT_CONFIG": str(_private_settings()), "LC_ALL": "C"}
    update = subprocess.run(["apt-get", "update"], env=env, capture_output=True, text=True)
    shown = subprocess.run(["apt-cache", "showsrc", package], env=env, capture_output=True, text=True)
    versions = re.findall(r"^Version: (\S+)$", shown.stdout, re.MULTILINE)
    reasons = [update.stderr, shown.stderr]
    for version in dict.fromkeys(versions):  # a mirror may have lost the newest one
        # Of all files one alone is wanted: a distribution's patches are not always there any more.
        command = ["apt-get", "source", "--print-uris", f"{package}={version}"]
        listed = subprocess.run(command, env=env, capture_output=True, text=True)
        match = re.search(rf"^'(\S+{kind})' (\S+) \d+ (\S+)$", listed.stdout, re.MULTILINE)
        if match is None:
            reasons.append(listed.stderr)
            continue
        folder.mkdir(exist_ok=True)
        part = folder / "download"
        helper = ["/usr/lib/apt/apt-helper", "download-file", match[1], str(part)]
        done = subprocess.run(helper, env=env, capture_output=True, text=True)
        if done.returncode == 0:
            name, _, digest = match[3].partition(":")
            if name in ("SHA256", "SHA512", "MD5Sum"):
                kind = {"MD5Sum": "md5"}.get(name, name.lower())
                assert hashlib.new(kind, part.read_bytes()).hexdigest() == digest
            part.rename(folder / match[2])
            return
        reasons.append(done.stderr)
    words = [reason.strip()[-300:] for reason in reasons if reason.strip()]
    unavailable(f"the source of {package} cannot be had (is there a network?): {' | '.join(words)}")


def _private_settings():
    """Write the private configuration; its path."""
    base = KEPT / "apt"
    for name in ("sources", "lists/partial", "cache/archives/partial"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for path in [*ETC.glob("sources.list.d/*.sources")]:
        text = re.sub(r"^Types:.*$", "Types: deb-src", path.read_text(), flags=re.MULTILINE)
        (base / "sources" / path.name).write_text(text)
    for path in [ETC / "sources.list", *ETC.glob("sources.list.d/*.list")]:
        if path.exists():
            lines = [re.sub(r"^deb\s", "deb-src ", line) for line in path.read_text().splitlines()]
            chosen = [line for line in lines if line.startswith("deb-src ")]
            (base / "sources" / (path.stem + ".list")).write_text("\n".join(chosen) + "\n")
    settings = base / "apt.conf"
    settings.write_text(
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{base}/sources";\n'
        f'Dir::State::Lists "{base}/lists";\nDir::Cache "{base}/cache";\nAPT::Sandbox::User "root";\n'
    )
    return settings


def unavailable(reason):
    """Skip with the reason; under CI a source that cannot be had is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
