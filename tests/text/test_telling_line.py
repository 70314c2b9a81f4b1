"""The line of an output that says what went wrong; outputs as programs and tools print them."""

from __future__ import annotations

import pytest

from layoutrand.text.telling_line import of_build, of_left_out, of_program

JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: cannot begin
\tat Main.begin(Main.java:12)
Caused by: java.io.IOException: outer
\tat Main.read(Main.java:30)
\t... 1 more
Caused by: java.io.FileNotFoundException: words.txt (No such file or directory)
\tat java.base/java.io.FileInputStream.open0(Native Method)
\t... 2 more
"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", ""),
        ("a\n\nlast words\n\n", "last words"),
        (JAVA, "Caused by: java.io.FileNotFoundException: words.txt (No such file or directory)"),
        (
            'Exception in thread "main" java.lang.ArithmeticException: / by zero\n\tat Main.main(Main.java:3)\n',
            'Exception in thread "main" java.lang.ArithmeticException: / by zero',
        ),
        ("Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'a'\n", "KeyError: 'a'"),
        (
            "thread 'main' panicked at src/main.rs:4:5:\nno such file\nnote: run with `RUST_BACKTRACE=1` ...\n",
            "thread 'main' panicked at src/main.rs:4:5: no such file",
        ),
        (
            "panic: no words\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:5 +0x1d\nexit status 2\n",
            "panic: no words",
        ),
        (
            "==9==ERROR: AddressSanitizer: heap-use-after-free on 0x1\n    #0 0x2 in f a.c:3\n"
            "SUMMARY: AddressSanitizer: heap-use-after-free a.c:3 in f\n==9==ABORTING\n",
            "SUMMARY: AddressSanitizer: heap-use-after-free a.c:3 in f",
        ),
    ],
)
def test_a_program(output, line):
    assert of_program(output) == line


GCC = """\
gcc -O2 -c -o a.o a.c
gcc -O2 -c -o b.o b.c
b.c: In function ‘f’:
b.c:1:23: error: ‘y’ undeclared (first use in this function)
    1 | int f(int x) { return y + x; }
      |                       ^
b.c:1:23: note: each undeclared identifier is reported only once for each function it appears in
make: *** [<builtin>: b.o] Error 1
make: *** Waiting for unfinished jobs....
"""
LINK = """\
gcc -o prog a.o b.o
/usr/bin/ld: a.o: in function `main':
a.c:(.text+0x5): undefined reference to `f'
collect2: error: ld returned 1 exit status
make: *** [Makefile:2: prog] Error 1
"""
PROBED = """\
<stdin>:1:1: error: stray ‘\\’ in program
<stdin>:1:2: error: stray ‘#’ in program
gcc   igzip.o   -o igzip
/usr/bin/ld.bfd: warning: igzip.o: missing .note.GNU-stack section implies executable stack
/usr/bin/ld.bfd: NOTE: This behaviour is deprecated and will be removed in a future version of the linker
/usr/bin/ld.bfd: cannot open output file igzip: Is a directory
collect2: error: ld returned 1 exit status
make: *** [<builtin>: igzip] Error 1
"""
CMAKE = """\
-- Detecting C compile features - done
CMake Error at CMakeLists.txt:3 (find_package):
  Could not find a package configuration file provided by "Foo" with any of
  the following names:

    FooConfig.cmake

-- Configuring incomplete, errors occurred!
"""
RUST = """\
   Compiling words v0.1.0 (/x)
error[E0425]: cannot find value `y` in this scope
 --> src/main.rs:2:20
  |
2 |     println!("{}", y);
error: could not compile `words` (bin "words") due to 1 previous error
"""
GO = """\
layoutrand: $ go test -c -o hash.test .
# example.org/c
./c.go:5:2: warning: unused variable
# example.org/hash [example.org/hash.test]
./hash.go:44:10: undefined: zz
./hash.go:51:2: declared and not used: x
"""
CARGO = """\
    Updating crates.io index
error: failed to get `anyhow` as a dependency of package `words v0.1.0 (/x)`

Caused by:
  download of config.json failed

Caused by:
  [6] Could not resolve hostname (Could not resolve host: index.crates.io)
"""


@pytest.mark.parametrize(
    ("output", "first", "n_lines"),
    [
        (GCC, "b.c:1:23: error: ‘y’ undeclared (first use in this function)", 3),
        (LINK, "a.c:(.text+0x5): undefined reference to `f'", 1),
        (PROBED, "/usr/bin/ld.bfd: cannot open output file igzip: Is a directory", 1),
        (
            "<stdin>:1:1: error: stray ‘#’ in program\nmake: *** [b.o] Error 1\n",
            "<stdin>:1:1: error: stray ‘#’ in program",
            1,
        ),
        (CMAKE, "CMake Error at CMakeLists.txt:3 (find_package):", 5),
        (RUST, "error[E0425]: cannot find value `y` in this scope", 4),
        (CARGO, "error: failed to get `anyhow` as a dependency of package `words v0.1.0 (/x)`", 3),
        ("bash: line 1: nmake: command not found\n", "bash: line 1: nmake: command not found", 1),
        ("layoutrand: $ go build -o m ./cmd\nstat cmd: directory not found\n", "stat cmd: directory not found", 1),
        (GO, "./hash.go:44:10: undefined: zz", 1),
        (
            "layoutrand: $ go build -o m .\na.go:3:8: no required module provides package x.org/y; to add it:\n\tgo get x.org/y\n",
            "a.go:3:8: no required module provides package x.org/y; to add it:",
            2,
        ),
        (
            "ls: cannot access 'z': No such file or directory\nmake: *** No rule to make target 'x', needed by 'y'.\n",
            "make: *** No rule to make target 'x', needed by 'y'.",
            1,
        ),
        ("running 3 checks\nall is well, but not here\n", "", 0),
    ],
)
def test_a_build(output, first, n_lines):
    said = of_build(output).splitlines()
    assert said[:1] == ([first] if first else [])
    assert len(said) == n_lines


@pytest.mark.parametrize(
    "told",
    [
        """\
error: no matching package found
searched package name: `fnv`
perhaps you meant:      csv, png, cc, ...
location searched: directory source `/usr/share/cargo/registry` (which is replacing registry `crates-io`)
required by package `indexmap v1.9.2 (/x)`
""",
        """\
error: failed to select a version for the requirement `quickcheck = "^0.7"`
candidate versions found which didn't match: 1.0.3
location searched: directory source `/usr/share/cargo/registry` (which is replacing registry `crates-io`)
required by package `unicode-segmentation v1.9.0 (/x)`
""",
    ],
)
def test_of_a_package_that_cargo_does_not_find_all_is_told_that_it_says(told):
    """*No matching package found* names none."""
    output = "    Updating crates.io index\n" + told + "another line\n"
    assert of_build(output) == told.rstrip()


def test_of_an_error_of_cargo_the_innermost_cause_is_told():
    assert of_build(CARGO).splitlines()[1:] == [
        "Caused by:",
        "  [6] Could not resolve hostname (Could not resolve host: index.crates.io)",
    ]


def test_what_a_linker_says_of_itself_is_no_error() -> None:
    """With --verbose and --stats."""
    chatter = "/usr/bin/ld: mode elf_x86_64\n/usr/bin/ld: total time in link: 0.01\n"
    assert of_build(f"{chatter}/usr/bin/ld: final link failed: No space left on device\n") == (
        "/usr/bin/ld: final link failed: No space left on device"
    )
    assert of_build(chatter) == ""


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            "-- Found Threads: TRUE\n"
            "CMake Deprecation Warning at CMakeLists.txt:1 (cmake_minimum_required):\n  Compatibility is missing.\n\n"
            "CMake Warning (dev) at CMakeLists.txt:2 (find_package):\n  Policy CMP0144 is not set: not found.\n\n"
            "CMake Warning at CMakeLists.txt:9 (message):\n  The build type is odd.\n\n\n"
            "CMake Warning at CMakeLists.txt:92 (message):\n  third_party/benchmark submodule missing.\n\n\n"
            "CMake Warning at CMakeLists.txt:93 (message):\n  Run: `git submodule update --init`.\n\n\n",
            "CMake Warning at CMakeLists.txt:92 (message):\n  third_party/benchmark submodule missing.",
        ),
        (
            "checking for x... no\nconfigure: WARNING: zlib not found, tools will be left out\nchecking for y... yes\n",
            "configure: WARNING: zlib not found, tools will be left out",
        ),
        ("CMake Warning:\n  Manually-specified variables were not used by the project:\n\n    X\n", ""),
        ("a.c:3: warning: unused variable; the label was not found\n-- Could NOT find Doxygen (missing: DOT)\n", ""),
    ],
)
def test_what_a_build_that_succeeded_goes_without(output, told):
    """Where it linked nothing, that may be why; a warning of something else is not."""
    assert of_left_out(output) == told
