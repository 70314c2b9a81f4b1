"""Generated wrappers, made for one test and started under every POSIX shell there is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from layoutrand.config.build_recipe import LINKER_ENVIRONMENT, SYSTEM_PREFIXES
from layoutrand.linkers import response_file
from layoutrand.platform import helper_client
from layoutrand.text import render

SHELLS = {
    name: argv
    for name, argv in {
        "dash": ["dash"],
        "bash": ["bash", "--posix"],
        "busybox": ["busybox", "sh"],
        "sh": ["/bin/sh"],
    }.items()
    if shutil.which(argv[0])
}
PATH_FLAG = "-ffile-prefix-map=/build root=/layoutrand"
COMPILE_FLAGS = ["-ffunction-sections", PATH_FLAG, "-DX='a b'"]
LINK_FLAGS = ["-fuse-ld=lld", "-Wl,-z,now"]
NASTY = {
    "blank": b"a b",
    "blanks at the ends": b" a ",
    "tab": b"a\tb",
    "newline": b"a\nb",
    "newline at the end": b"a\n",
    "single quote": b"it's",
    "double quote": b'say "x"',
    "dollar": b"$HOME ${PATH} $(id) $ORIGIN",
    "backtick": b"`id`",
    "backslash": b"a\\b\\n\\",
    "glob": b"*?[a-z]{b,c}~",
    "hash": b"#x",
    "semicolon and ampersand": b"a;b&c|d>e<f",
    "not UTF-8": b"caf\xe9\xff",
    "UTF-8": "é€😀".encode(),
    "empty": b"",
    "percent": b"%s%n\\0",
    "exclamation mark": b"!x",
    "equals sign": b"a=b",
    "long": b"x" * 5000,
}


def write_script(path, text):
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.fsencode(text))
    path.chmod(0o755)
    return path


def compiler_script(
    folder,
    *,
    real="/usr/bin/gcc",
    directory="/wrap pers",
    compile_flags=COMPILE_FLAGS,
    link_flags=LINK_FLAGS,
    name="gcc",
    linker="",
    ccache_path="",
    **changes,
):
    """A compiler wrapper with flags that need quoting."""
    text = render.compiler_wrapper(
        name=name,
        real=str(real),
        system="sys",
        toolchain="gcc",
        directory=str(directory),
        path_flag=PATH_FLAG,
        compile_flags=compile_flags,
        link_flags=link_flags,
        linker=linker,
        ccache_path=ccache_path,
        **changes,
    )
    return write_script(Path(folder, name), text)


def cargo_script(folder, *, real="/usr/bin/cargo", messages="/tmp/cargo", **changes):
    """A wrapper of cargo."""
    text = render.cargo_wrapper(
        name="cargo", real=str(real), system="sys", toolchain="rust", messages=str(messages), **changes
    )
    return write_script(Path(folder, "cargo"), text)


def rustc_script(folder, *, real="", flags=(), **changes):
    """A wrapper of rustc, as cargo calls it."""
    text = render.rustc_wrapper(
        name="layoutrand-rustc", real=str(real), system="sys", toolchain="rust", flags=flags, **changes
    )
    return write_script(Path(folder, "layoutrand-rustc"), text)


def linker_script(folder, **changes):
    """A linker wrapper that records below ``folder/rec``; its build is ``folder/src``."""
    folder = Path(folder)
    for name in ("rec", "src", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    values = {
        "name": "ld",
        "real": shutil.which("ld.bfd"),
        "system": "sys",
        "toolchain": "gcc",
        "records": str(folder / "rec"),
        "build_root": str(folder / "src"),
        "temporary": str(folder / "tmp"),
        "python": sys.executable,
        "expander": response_file.__file__,
        "mkdir": shutil.which("mkdir"),
        "tar": shutil.which("tar"),
        "touch": shutil.which("touch"),
        "client": helper_client.__file__,
        "environment": LINKER_ENVIRONMENT,
        "system_prefixes": SYSTEM_PREFIXES,
    }
    return write_script(folder / "bin" / "ld", render.linker_wrapper(**{**values, **changes}))


def start(script, *arguments, shell="dash", env=None, **changes):
    """Run a script under a shell."""
    return subprocess.run(
        [*SHELLS[shell], script, *arguments], capture_output=True, env={**os.environ, **(env or {})}, **changes
    )


def dumped(script, *arguments, shell="dash", what="args"):
    """What the wrapper would execute: its arguments, or its mode."""
    done = start(script, *arguments, shell=shell, env={"LAYOUTRAND_WRAPPER_DUMP": what})
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().strip() if what == "mode" else done.stdout.split(b"\0")[:-1]
