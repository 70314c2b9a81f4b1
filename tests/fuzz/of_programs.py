"""Object files, archives, link lines, linker scripts and maps: what compilers, linkers and their callers wrote."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import tomlkit

from buildkit import compiled
from fuzz.target import Target, fixed, of_bytes, of_text
from layoutrand.capture import bitcode, linked_files, objects, records
from layoutrand.capture.cargo_configuration import standing_alone
from layoutrand.capture.cargo_messages import executables_in
from layoutrand.capture.cargo_project import read_metadata
from layoutrand.capture.go_link import options
from layoutrand.capture.go_records import own_id
from layoutrand.config.toml_text import parse_table
from layoutrand.errors import FeatureUnsupported
from layoutrand.host.start_files import StartFiles
from layoutrand.link import by_symbols, codecheck, lto
from layoutrand.link.by_symbols import ProgramCode
from layoutrand.link.code import Code
from layoutrand.link.leads import Leads, first_astray, learn
from layoutrand.linkers import ldscript, linkline, linkmap, response_file, user_script
from layoutrand.linkers.known import linker, names
from layoutrand.linkers.rustc_link import link_words
from layoutrand.objects import archive, dynamic, edit, elf
from layoutrand.objects.known import processors
from layoutrand.objects.section_contents import section_contents
from layoutrand.text.jdk_release import java_answer, jdk_identity, jdk_words, told_words

SOURCE = """
extern int other(int);
static const char *const words[] = {"one", "two"};
int counter = 1;
int buffer[8];
__attribute__((noinline)) int first(int x) { counter += x; return x * 3 + words[x & 1][0]; }
__attribute__((constructor)) void begin(void) { buffer[1] = first(2); }
__attribute__((weak)) int second(int x) { switch (x) { case 1: return other(x); case 2: return 5; default: return first(x); } }
"""
USER_SCRIPT = """\
SECTIONS {
  /* of the board */
  .text : { KEEP(*(.text.boot)) *start.o(.text .text.*) *(EXCLUDE_FILE (*crtend.o) .text.x) *(.text .text.*) }
  .ro : { *(SORT_BY_ALIGNMENT(SORT_BY_NAME(.rodata*))) }
  .data : { *(.data.rel.ro*) *(.data .data.*) } .bss : { *(.bss*) }
  . = ALIGN(. + SIZEOF(.data), 16); ASSERT(SIZEOF(.text) < 10, "*(.text.*) x")
}
"""
VERBOSE = f"GNU ld\n{'=' * 50}\nSECTIONS\n{{\n  .text           :\n  {{\n    *(.text.unlikely)\n    *(.text)\n  }}\n}}\n{'=' * 50}\n"
GNU_MAP = """\
Archive member included to satisfy reference by file (symbol)

/r/_build/liba.a(x.o)         /r/_build/main.o (f)

Discarded input sections

 .text.unused   0x0000000000000000       0x17 /r/_build/main.o

Linker script and memory map

LOAD /r/_build/main.o
 .text          0x0000000000001040       0x22 /r/usr/lib/Scrt1.o
                0x0000000000001040                _start
 .text.a_long_name
                0x0000000000001070       0x17 /r/_build/main.o
 .text.f        0x0000000000001087       0x10 /r/_build/liba.a(x.o)
"""
LLD_MAP = """\
             VMA              LMA     Size Align Out     In      Symbol
            1580             1580      154    16 .text
            1580             1580       22    16         /r/usr/lib/Scrt1.o:(.text)
            15d0             15d0       10    16         /r/_build/liba.a(x.o):(.text.f)
            15e0             15e0       10    16         <internal>:(.iplt)
"""
DEPENDENCIES = "a.out: \\\n  /r/a.o \\\n  /r/lib\\ x.a\n\n/r/a.o:\n\n/r/lib\\ x.a:\n"
LINE = (
    "-o\0out/prog\0-L/usr/lib\0--start-group\0a.o\0liba.a\0--end-group\0-T\0x.ld\0-plugin\0/p.so\0-plugin-opt=x\0-lc\0"
    "--as-needed\0--hash-style=gnu\0-z\0relro\0"
)
NM = "---------------- T main\n                 U puts\n---------------- W maybe\n                 w other\n"


@cache
def programs() -> dict[str, bytes]:
    """An object, an archive, a thin one, a program and a shared library, made by the compiler of this machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = compiled(folder, "a.c", SOURCE)
        second = compiled(
            folder, "a_name_longer_than_fits.c", "int other(int x) { return x; }\nint main(void) { return 0; }\n"
        )
        for words in (
            ["ar", "rcs", "liba.a", first.name, second.name],
            ["ar", "rcsT", "thin.a", first.name, second.name],
            [
                "gcc",
                "-shared",
                "-fPIC",
                "-O1",
                "-nostdlib",
                "-Wl,-soname,libx.so.1",
                "a_name_longer_than_fits.c",
                "-o",
                "libx.so",
            ],
            ["gcc", first.name, second.name, "-o", "prog"],
        ):
            subprocess.run(words, cwd=folder, check=True, env={**os.environ, "LC_ALL": "C"})
        made = ("a.o", "liba.a", "thin.a", "libx.so", "prog", second.name)
        return {each: (folder / each).read_bytes() for each in made}


def made(*wanted: str) -> Callable[[], tuple[bytes, ...]]:
    """Samples that a compiler makes when they are asked for."""
    return lambda: tuple(programs()[name] for name in wanted)


def _object(data: bytes, place: Path) -> None:
    """From the file to the edited object: what a capture does with one."""
    del place
    found = objects.objects({"_build/a.o": data}, [])
    chosen = objects.candidates(found, data=True)
    objects.linker_sets(found)
    objects.lumped(found, chosen)
    dict(objects.edited_files({"_build/a.o": data}, found, chosen, rename=True))
    codecheck.masks([(found[each.object].elf, each.header, each.section.name) for each in chosen])


def _contents(data: bytes, place: Path) -> None:
    del place
    source = elf.read(data, name="a.o")
    section_contents(source, range(len(source.sections)), {})
    bitcode.global_names(source)
    bitcode.without_comdats(source)
    source.source_name()
    lto.is_intermediate(source)


def _binary(data: bytes, place: Path) -> None:
    """What is read off a linked program."""
    del place
    source = elf.read(data, name="prog")
    elf.loaded_content(source, skip=frozenset())
    codecheck.placed(source, codecheck.placed_addresses(source), np.empty(0, np.int64))


def _edited(data: bytes, place: Path) -> None:
    del place
    edit.edit(data, {1: edit.Mark(0, ".text.x"), 3: edit.Mark(1, None)}, name="a.o")


def _archive(data: bytes, place: Path) -> None:
    del place

    def fetch(path: str) -> bytes:
        if path not in programs():
            raise FeatureUnsupported(f"no member {path}")
        return programs()[path]

    read = archive.read(data, name="liba.a", fetch=fetch)
    archive.write(read, {0: b"x" * 5})
    objects.objects({"_build/liba.a": archive.write(read, {})}, ["_build/liba.a(a.o)"])


def _program_file(data: bytes, place: Path) -> None:
    """A file that a build left, or that is executed."""
    file = place / "prog"
    file.write_bytes(data)
    linked_files.is_elf_file(file)
    StartFiles(place).read([file])


def _response(data: bytes, place: Path) -> None:
    file = place / "words"
    file.write_bytes(data.replace(b"@", b"@" + os.fsencode(place) + b"/"))
    words = response_file.expand([b"@" + os.fsencode(file)])
    response_file.named_files([word for word in words if b"\0" not in word], (b"/x/",), (b"/usr/",))


def _line(data: bytes, place: Path) -> None:
    del place
    argv = [os.fsdecode(word) for word in data.split(b"\0")]
    line = linkline.words(argv)
    linkline.output(argv)
    linkline.replayable(line, keep_symbols=True)
    linkline.user_scripts(line)
    linkline.without_scripts(argv)
    for word in line:
        word.argv()


def _map(text: str, name: str) -> None:
    reader = linker(name).map

    def below(path: str) -> str | None:
        return path.removeprefix("/r/") if path.startswith("/r/") else None

    reader.sections(text, below)
    reader.members(text, below)
    reader.mentioned(text, below)


def _dependencies(data: bytes) -> None:
    linkmap.dependencies(data)
    linkmap.phony_targets(data)
    for name in names():
        linker(name).opened(data.decode("utf-8", "surrogateescape"), data)


def _cargo_configuration(text: str) -> str:
    return tomlkit.dumps(standing_alone(parse_table(text, "config.toml"), Path("/above")))


def _user_script(text: str) -> None:
    user_script.reserved(text)
    user_script.ordered_user_script(text, [("text", "*(.text.lr.0)"), ("data", "*(.data.lr.1)")])


def _default_script(text: str) -> None:
    ldscript.ordered_script(ldscript.default_script(text), [("text", "*(.text.lr.0)")])


def _code(data: bytes, place: Path) -> None:
    file = place / "code.npz"
    file.write_bytes(data)
    with file.open("rb") as opened:
        _ = Code.load(opened).blocks


@cache
def codes() -> tuple[bytes, ...]:
    """What a capture keeps of the code of a program."""
    file = io.BytesIO()
    two, bytes_of_both = np.array([16, 3], np.int64), np.arange(19, dtype=np.uint8)
    fixed = np.where(bytes_of_both > 3, 0xFF, 0x0F).astype(np.uint8)
    one = np.array([1])
    leads = Leads(
        *(one.astype(kind) for kind in ("<i4", "<i4", "<i4", "<i2", "<i4", "<i4", "<i8")),
        outputs=np.frombuffer(b".text", np.uint8),
        machine=np.frombuffer(b"EM_AARCH64", np.uint8),
    )
    Code(two, two, bytes_of_both, fixed, two.reshape(1, 2), two.reshape(1, 2), leads=leads).save(file)
    return (file.getvalue(),)


def _program_code(data: bytes, place: Path) -> None:
    file = place / "code.npz"
    file.write_bytes(data)
    with file.open("rb") as opened:
        _ = ProgramCode.load(opened).blocks


@cache
def program_codes() -> tuple[bytes, ...]:
    """The same of a program that is known by its symbols."""
    file = io.BytesIO()
    two, some = np.array([16, 3], np.int64), np.arange(19, dtype=np.uint8)
    ProgramCode(
        two,
        two,
        some,
        np.where(some > 3, 0xFF, 0).astype(np.uint8),
        two[:0],
        two[:0],
        some,
        np.array([[0, 4]], np.int64),
    ).save(file)
    return (file.getvalue(),)


def _by_symbols(data: bytes, _: Path) -> None:
    """As a layout of itself, and by its notes; the sample is a program of C, of which this is as true."""
    binary = elf.read(data, name="f")
    own_id(binary)
    by_symbols.code_of(data, [binary], "f")


def _go_line(text: str) -> None:
    list(options(text.split("\0")))


def _record(data: bytes, place: Path) -> None:
    """A recorded link whose files all hold the same."""
    folder = place / "record"
    (folder / "lto").mkdir(parents=True, exist_ok=True)
    for name in ("linker", "argv", "cwd", "environment", "map", "lto/list", "lto/options", "lto/extracted"):
        (folder / name).write_bytes(data)
    (folder / "complete").write_bytes(b"")
    for number in range(data.count(b"\n")):
        (folder / f"lto/{number:05d}.o").write_bytes(data)
    record = records.read_record(folder)
    record.map()
    record.native()


def _record_inputs(data: bytes, place: Path) -> None:
    for name, content in (
        ("linker", b"/usr/bin/ld"),
        ("argv", b"-o\0x\0"),
        ("cwd", b"/x\n"),
        ("environment", b"A=b\0"),
    ):
        (place / name).write_bytes(content)
    (place / "complete").write_bytes(b"")
    (place / "inputs.tar").write_bytes(data)
    records.read_record(place).inputs()


@cache
def tars() -> tuple[bytes, ...]:
    """What the linker wrapper keeps of the inputs."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in ("a.o", "sub/b.o"):
            member = tarfile.TarInfo(name)
            member.size = 700
            tar.addfile(member, io.BytesIO(b"x" * 700))
    return (file.getvalue(),)


def _references(data: bytes, _: Path) -> None:
    """An object in the place of a program: where its references lead, by its own relocations."""
    source = elf.read(data, name="f")
    code = (source.sections["flags"] & elf.SHF_EXECINSTR != 0) & (source.sections["type"] == 1)
    headers = np.flatnonzero(code & (source.sections["size"] > 0))
    if len(headers):
        masks = codecheck.masks([(source, header, "f") for header in headers.tolist()])
        where = codecheck.Placed(source.sections["addr"][headers].astype(np.int64), headers.astype(np.int64))
        learned = learn(source, where, masks)
        codecheck.fixed_again(masks, learned.unread, source.machine)
        first_astray(learned.leads, source, where, masks.size)


def _branches(data: bytes, _: Path) -> object:
    return [processor.branches(data) for processor in processors().values()]


def _between(data: bytes, _: Path) -> None:
    """What linkers put between sections of AArch64."""
    of = processors()["EM_AARCH64"]
    of.through(data, 1 << 20)
    of.beside(data, 1 << 20)
    of.detour(data[:4], 1 << 20)


STUB = bytes.fromhex("1000009010420091 00021fd6 1f2003d5") * 2  # adrp x16; add; br x16; nop

CARGO = (
    '{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"a"},"profile":{"test":false},"executable":"/a"}\n'
    "printed\n"
)
CARGO_CONFIGURATION = """\
paths = ["a"]
[build]
rustc = "bin/rustc"
target = ["own.json"]
[env]
A = { value = "b", relative = true }
[source.vendored]
directory = "c"
[target.x]
runner = ["run", "-q"]
"""
CARGO_METADATA = (
    '{"packages":[{"id":"a","name":"a","manifest_path":"/a/Cargo.toml","default_run":null,'
    '"targets":[{"kind":["bin"],"name":"a"}]}],"workspace_default_members":["a"],'
    '"workspace_root":"/a","target_directory":"/a/target"}'
)

TARGETS = (
    Target("object", _object, made("a.o"), "bytes", cost=2),
    Target("object's sections", _contents, made("a.o"), "bytes", cost=2),
    Target("references", _references, made("a.o"), "bytes", cost=2),
    Target("code between sections", _between, fixed(STUB), "bytes"),
    Target("branches", _branches, made("a.o"), "bytes"),
    Target("edited object", _edited, made("a.o"), "bytes"),
    Target("linked program", _binary, made("libx.so", "prog"), "bytes", cost=2),
    Target("dynamic section", of_bytes(dynamic.read), made("libx.so", "prog"), "bytes"),
    Target("archive", _archive, made("liba.a", "thin.a"), "bytes", cost=4),
    Target("program file", _program_file, made("prog", "libx.so"), "bytes", cost=2),
    Target("response file", _response, fixed('a.o \'b c.o\' "d\\"e" @other\n-o x\n')),
    Target("link line", _line, fixed(LINE)),
    *(
        Target(f"map of {name}", of_text(lambda text, name=name: _map(text, name)), fixed(text))  # type: ignore[misc]
        for name, text in (("gnu", GNU_MAP), ("lld", LLD_MAP))
    ),
    Target("messages of cargo", of_bytes(lambda data: list(executables_in(data))), fixed(CARGO)),
    Target("configuration of cargo", of_text(_cargo_configuration), fixed(CARGO_CONFIGURATION)),
    Target("metadata of cargo", of_bytes(read_metadata), fixed(CARGO_METADATA), "json"),
    Target("link line of rustc", of_text(link_words), fixed('LC_ALL="C" PATH="/x y" "cc" "-m64" "a\\"b.o"\n')),
    Target("opened files", of_bytes(_dependencies), fixed(DEPENDENCIES)),
    Target(
        "release of a JDK",
        of_text(lambda text: (jdk_words(jdk_identity(text)), told_words(jdk_identity(text), java_answer(text)))),
        fixed('IMPLEMENTOR="Debian"\nJAVA_RUNTIME_VERSION="17.0.15+6-Debian"\nMODULES="java.base"\n'),
    ),
    Target("user's linker script", of_text(_user_script), fixed(USER_SCRIPT)),
    Target("default linker script", of_text(_default_script), fixed(VERBOSE)),
    Target("symbols of bitcode", of_text(bitcode.read_symbols), fixed(NM)),
    Target("kept code", _code, codes, "bytes"),
    Target("kept code of a program", _program_code, program_codes, "bytes"),
    Target("program by its symbols", _by_symbols, made("prog"), "bytes", cost=4),
    Target("link line of Go", of_text(_go_line), fixed("-o\0x\0-importcfg\0y\0-s\0-buildid=a/b/c/d\0z.a")),
    Target("recorded link", _record, fixed("-o\0x\0a.o\0", "a b c\nd e f\n"), cost=2),
    Target("recorded inputs", _record_inputs, tars, "bytes", cost=2),
)
