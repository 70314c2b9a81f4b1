"""A repository that somebody else has set up: none of the programs that its own configuration names is started."""

import os

import pytest

import gitkit
from startkit import layoutrand

CONFIG = """\
[project]
name = "toy"
[build]
source = "src"
commands = ["$CC -o toy main.c part.c"]
artefacts = ["toy"]
[systems.O1]
cflags = "-O1"
[[benchmarks]]
name = "count"
command = ["{artefact}"]
"""
MAIN = "int f1(int), f2(int), f3(int);\nint main(void) { return f1(1) + f2(1) - f3(1) - 1; }\n"
PART = "int f1(int x) { return x; }\nint f2(int x) { return x + 0; }\nint f3(int x) { return 1 * x; }\n"
ATTRIBUTES = "*.c filter=one diff=one\n*.h filter=two diff=one\n*.txt filter=three diff=one\n"
SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n"
HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman")


def booby_trapped(git_directory, program):
    """Have the configuration of a repository name the program wherever git would start one."""
    (git_directory / "more").write_text(f'[filter "three"]\nclean = {program} included\nrequired = true\n')
    with (git_directory / "config").open("a") as file:
        file.write(
            f"""
[include]
    path = more
[core]
    fsmonitor = {program} fsmonitor
    hooksPath = {git_directory}/strange
    sshCommand = {program} ssh
    pager = {program} pager
    alternateRefsCommand = {program} alternates
[filter "one"]
    clean = {program} clean
    smudge = {program} smudge
    required = true
[filter "two"]
    process = {program} process
    required = true
[diff]
    external = {program} external
    ignoreSubmodules = none
[diff "one"]
    textconv = {program} textconv
    command = {program} command
[log]
    showSignature = true
[gpg]
    program = {program}
[credential]
    helper = !{program} credential
"""
        )
    for folder in ("hooks", "strange"):
        (git_directory / folder).mkdir(exist_ok=True)
        for name in HOOKS:
            hook = git_directory / folder / name
            hook.write_text(f"#!/bin/sh\n{program} {folder}/{name}\n")
            hook.chmod(0o755)


def signed(root):
    """Give the last commit what git takes for a signature."""
    text = gitkit.git("cat-file", "commit", "HEAD", cwd=root) + "\n"
    head, _, message = text.partition("\n\n")
    (root.parent / "signed").write_text(f"{head}\n{SIGNATURE}\n{message}")
    made = gitkit.git("hash-object", "-t", "commit", "-w", root.parent / "signed", cwd=root)
    gitkit.git("update-ref", "HEAD", made, cwd=root)


@pytest.fixture
def strange(tmp_path):
    """A project in such a repository, which has such a submodule, and what was started since."""
    lib = gitkit.make(tmp_path / "lib", {".gitattributes": ATTRIBUTES, "lib.c": "int lib;\n"})
    root = gitkit.make(tmp_path / "repository", {"src/main.c": MAIN, "src/part.c": PART, "layoutrand.toml": CONFIG})
    gitkit.git("submodule", "add", "-q", lib, "src/lib", cwd=root)
    gitkit.commit(root, {".gitattributes": ATTRIBUTES, "src/a.h": "\n", "src/notes.txt": "\n"})
    gitkit.commit(root, {"src/part.c": PART.replace("x + 0", "x * 1 + 0")})
    signed(root)
    program = tmp_path / "strange-program"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/started\ncat\n')
    program.chmod(0o755)
    booby_trapped(root / ".git", program)
    booby_trapped(root / ".git" / "modules" / "src" / "lib", program)
    for path in (root / "src").rglob("*.*"):  # so that git has to look at the contents
        if path.is_file() and path.name != ".git":
            os.utime(path, (1_600_000_000, 1_600_000_000))
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "--seeds", "2"],
        ["build", "--seeds", "2", "--explain"],
        ["check", "HEAD~1", "HEAD"],
        ["check", "HEAD"],
        ["history", "--run", "HEAD~1..HEAD", "--seeds", "2"],
        ["bisect", "HEAD~1", "HEAD", "--most-seeds", "8"],
        ["doctor"],
        ["init", "--force", "--", "cc", "-o", "toy", "src/main.c", "src/part.c"],
    ],
    ids=" ".join,
)
def test_no_program_of_a_strange_repository_is_started(strange, tmp_path, arguments):
    (strange / "src" / "a.h").write_text("// changed\n")
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}

    done = layoutrand(*arguments, cwd=strange, env=env)

    assert done.returncode == 0 or arguments == ["doctor"], done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "started").exists(), (tmp_path / "started").read_text()


def test_a_pointer_of_git_lfs_in_a_directory_is_told(strange, tmp_path):
    """A filter that only the repository's own configuration has is not used, so what it would have made is not there."""
    (strange / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    gitkit.commit(strange, {"src/data.bin": pointer, "src/notes.txt": pointer})
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}

    done = layoutrand("build", "--seeds", "2", cwd=strange, env=env)

    assert done.returncode == 0, done.stderr
    assert f"source: 1 file in {strange / 'src'} (data.bin) kept in git LFS" in done.stderr.replace("\n", " ")
