"""What `layoutrand exec` adds to each link of small programs, in processor time of all processes, helper included."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfkit import report
from workshop import LINKERS, Workshop, main_calling, many_functions, require

pytestmark = pytest.mark.perf

LINKS = 30
FEW = 2


def cost(argv: list[str], shop: Workshop) -> dict[str, float]:
    """Seconds of processor time (user and system) of the command and all that it waited for, and elapsed seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    env = {**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)}
    subprocess.run(argv, cwd=shop.project, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu, "elapsed_s": time.perf_counter() - begin}


@pytest.mark.parametrize("linker", ["gnu", "lld-19"])
def test_cost_of_a_link_under_exec(tmp_path: Path, linker: str) -> None:
    """Programs of two files, linked with and without; what starting layoutrand costs is told apart by a short build."""
    require("make", "make")
    require(LINKERS[linker], "binutils" if linker == "gnu" else linker)
    shop = Workshop(tmp_path / "project", tmp_path / "cache", linker)
    shop.write(main__c=main_calling("u_7"), u__c=many_functions(8, prefix="u_"))
    rules = "".join(f"p{k}: main.o u.o\n\t$(CC) -o $@ $^\n" for k in range(LINKS))
    lists = {"few": FEW, "all": LINKS}
    goals = "".join(f"{goal}: {' '.join(f'p{k}' for k in range(count))}\n" for goal, count in lists.items())
    shop.write(Makefile=f"{goals}%.o: %.c\n\t$(CC) -O2 -c $<\n{rules}clean:\n\trm -f *.o p?*\n")
    (shop.project / "layoutrand.toml").write_text(shop.toml(["make"]))
    flag = [] if linker == "gnu" else [f"CC=gcc -fuse-ld=lld -B{lld_named_ld_lld(tmp_path, linker)}"]
    plain = ["make", "-C", "src", *flag]
    wrapped = [sys.executable, "-m", "layoutrand", "exec", "--seed", "7", "-q", "-C", ".", "--", "make", "-C", "src"]
    found = {}
    for name, argv in (("plain", plain), ("exec", wrapped)):
        for goal in lists:
            cost(["make", "-C", "src", "clean"], shop)
            found[name, goal] = cost([*argv, goal], shop)
    each = {
        name: (found[name, "all"]["cpu_s"] - found[name, "few"]["cpu_s"]) / (LINKS - FEW) for name in ("plain", "exec")
    }
    line = {
        "perf": f"exec, {linker}",
        "links": LINKS,
        "plain_cpu_s_per_link": round(each["plain"], 4),
        "exec_cpu_s_per_link": round(each["exec"], 4),
        "added_cpu_s_per_link": round(each["exec"] - each["plain"], 4),
        "whole_build_cpu_ratio": round(found["exec", "all"]["cpu_s"] / found["plain", "all"]["cpu_s"], 2),
        "whole_build_elapsed_ratio": round(found["exec", "all"]["elapsed_s"] / found["plain", "all"]["elapsed_s"], 2),
        "load": round(os.getloadavg()[0], 1),
    }
    report(line)

    assert len({(shop.source / f"p{k}").read_bytes() for k in range(LINKS)}) == 1


def lld_named_ld_lld(folder: Path, linker: str) -> str:
    """A directory in which gcc's -fuse-ld=lld finds that linker."""
    there = folder / "bin"
    there.mkdir()
    (there / "ld.lld").symlink_to(require(LINKERS[linker], linker))
    return f"{there}/"
