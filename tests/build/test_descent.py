"""What a file that was worked on after its link has in common with the link."""

import gzip

import pytest

from buildkit import compiled, link_with, run
from layoutrand.build import descent
from layoutrand.build.claims import AS_LINKED, CODE, LOADED, NOT_COMPARABLE
from layoutrand.objects import elf

MAIN = """
static const char text[] = "a text of the program";
__attribute__((noinline)) int f(int x) { return x * 7 + text[x & 3]; }
__attribute__((noinline)) int g(int x) { return f(x) ^ x; }
int main(int argc, char **argv) { return g(argc) & 1; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A linked program with a build id and debug information."""
    folder = tmp_path_factory.mktemp("descent")
    return link_with("bfd", folder, [compiled(folder, "main.c", MAIN, "-g")], "-Wl,--build-id=sha1")


@pytest.fixture
def traces(program):
    """What is kept of it."""
    return descent.traces(elf.read(program.read_bytes(), name="prog"))


@pytest.fixture
def other(tmp_path):
    """What is kept of another program."""
    text = MAIN.replace("* 7", "* 9").replace("return g", "return f(3) + g")
    built = link_with("bfd", tmp_path, [compiled(tmp_path, "main.c", text)])
    return descent.traces(elf.read(built.read_bytes(), name="other"))


def claim(data, *linked):
    return descent.common(data, linked)


def after(program, tmp_path, *command):
    """The program after a tool that changes its last argument."""
    copy = tmp_path / "copy"
    copy.write_bytes(program.read_bytes())
    run(*command, copy)
    return copy.read_bytes()


def test_the_file_itself(program, traces, other):
    assert claim(program.read_bytes(), traces, other) == [AS_LINKED, NOT_COMPARABLE]


@pytest.mark.parametrize(
    "command",
    [
        ["strip"],
        ["strip", "--strip-debug"],
        ["objcopy", "--add-section", ".extra=/etc/hostname"],
        ["objcopy", "--update-section", ".note.gnu.build-id=/etc/hostname"],  # not counted: a hash of the whole file
        ["objcopy", "--compress-debug-sections"],
    ],
)
def test_loaded_contents(program, traces, other, tmp_path, command):
    assert claim(after(program, tmp_path, *command), other, traces) == [NOT_COMPARABLE, LOADED]


def test_a_signature_at_the_end(program, traces):
    assert claim(program.read_bytes() + b"signature", traces) == [LOADED]


@pytest.mark.parametrize("command", [["objcopy", "--rename-section", ".text=.code"], ["objcopy", "-O", "binary"]])
def test_only_the_code(program, traces, other, tmp_path, command):
    assert claim(after(program, tmp_path, *command), traces, other) == [CODE, NOT_COMPARABLE]


@pytest.mark.parametrize(("flags", "claimed"), [("readonly,code", NOT_COMPARABLE), ("readonly,data", CODE)])
def test_code_beside_it(program, traces, tmp_path, flags, claimed):
    """What BOLT leaves: the code that was linked under another name, and what is executed in its place."""
    (tmp_path / "new").write_bytes(b"\xc3" * 64)
    written = ["--add-section", f".new={tmp_path}/new", "--set-section-flags", f".new=alloc,{flags}"]
    renamed = tmp_path / "renamed"
    renamed.write_bytes(after(program, tmp_path, "objcopy", "--rename-section", ".text=.bolt.org.text"))
    assert claim(after(renamed, tmp_path, "objcopy", *written), traces) == [claimed]


def test_changed_data(program, traces):
    data = program.read_bytes()
    assert claim(data.replace(b"a text of", b"A TEXT OF"), traces) == [CODE]


def test_one_changed_byte_of_code(program, traces):
    """A single other instruction and nothing is claimed, though all else is the same."""
    data = bytearray(program.read_bytes())
    at = bytes(data).index(traces.code) + len(traces.code) // 2
    data[at] ^= 1
    assert claim(bytes(data), traces) == [NOT_COMPARABLE]
    assert claim(bytes(data[at - 1000 :]), traces) == [NOT_COMPARABLE]


@pytest.mark.parametrize(
    "make", [gzip.compress, lambda data: b"", lambda data: data[:100], lambda data: b"\x7fELF" + data[4:64]]
)
def test_nothing_to_compare(program, traces, make):
    assert claim(make(program.read_bytes()), traces) == [NOT_COMPARABLE]


def test_section_headers_gone(program, traces):
    """Without section headers the code is still found in the file."""
    data = bytearray(program.read_bytes())
    data[40:48] = bytes(8)  # e_shoff
    data[60:62] = bytes(2)  # e_shnum
    assert claim(bytes(data), traces) == [CODE]


def test_a_link_without_code_is_nobodys_ancestor(program):
    assert claim(program.read_bytes(), descent.Traces("0" * 64, (), b"")) == [NOT_COMPARABLE]


def test_nothing_was_linked(program):
    assert claim(program.read_bytes()) == []
