"""Local git repositories for tests; git itself is started with a fixed identity and without anybody's settings."""

import os
import subprocess

from workshop import require

ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@t.invalid",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@t.invalid",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}
COMMITTED = 1_700_000_000


def git(*arguments, cwd, env=None):
    """What a git command prints; without git the test is skipped."""
    require("git", "git")
    options = [
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "advice.addEmbeddedRepo=false",
    ]
    done = subprocess.run(
        ["git", *options, *map(str, arguments)], cwd=cwd, env={**ENV, **(env or {})}, capture_output=True
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return os.fsdecode(done.stdout).strip()


def make(root, files=None):
    """A new repository with the files committed, if there are any."""
    root.mkdir(parents=True)
    git("init", "-q", cwd=root)
    if files:
        commit(root, files)
    return root


def commit(root, files=None, message="more"):
    """Write the files (name -> text or bytes) and commit everything; the commit."""
    for name, text in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git("add", "-A", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", message, cwd=root)
    return head(root)


def head(root):
    """The commit that is checked out."""
    return git("rev-parse", "HEAD", cwd=root)
