"""The programs of the table of docs/project/verified.md: how each is built, and what it must answer.

An answer is checked twice: against what is known by other means (a round trip, Python's own implementation, a result
worked out here), and by the test, which compares the answers of all layouts with that of the stock binary.
"""

import array
import bz2
import gzip
import hashlib
import io
import os
import random
import re
import shutil
import sqlite3
import subprocess
import wave
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workshop import require


def machine_of(toolchain):
    """The machine that a cross compiler builds for, in the words of ``uname -m``; "" for others."""
    return toolchain.rpartition("-")[2] if toolchain.endswith(("-aarch64", "-riscv64")) else ""


def under(toolchain):
    """What programs of the toolchain are executed by; nothing for this machine's own."""
    machine = machine_of(toolchain)
    if not machine or machine == os.uname().machine:
        return ()
    return require(f"qemu-{machine}", "qemu-user"), "-L", f"/usr/{machine}-linux-gnu"


@dataclass(frozen=True)
class Laid:
    """The artefacts of one layout, where the program's own source is, and a directory to work in.

    ``under`` is what programs of another processor are executed by.
    """

    files: Mapping[str, Path]
    source: Path
    scratch: Path
    under: tuple[str, ...] = ()

    def command(self, artefact, *args, variables=None):
        """The words that execute an artefact, which alone has those variables of its environment: no emulator has."""
        words = [str(self.files[artefact]), *map(str, args)]
        given = [f"{name}={value}" for name, value in (variables or {}).items()]
        if self.under:
            return [self.under[0], *(word for each in given for word in ("-E", each)), *self.under[1:], *words]
        return ["env", *given, *words] if given else words

    def run(self, artefact, *args, stdin=b"", cwd=None, variables=None):
        """The standard output of an artefact that must succeed."""
        command = self.command(artefact, *args, variables=variables)
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=300, cwd=cwd or self.scratch)
        assert done.returncode == 0, f"{command}: {done.returncode}: {done.stderr[-500:]!r}"
        return done.stdout


@dataclass(frozen=True)
class Program:
    """One program: its source package, how that is built, and how it is put to the test."""

    package: str
    what: str
    built_with: str
    commands: tuple[str, ...]
    artefacts: tuple[str, ...]
    ask: Callable[[Laid], bytes]
    needs: Mapping[str, str] = field(default_factory=dict)  # program or path -> its package
    cflags: str = "-O2"
    cross: tuple[str, ...] = ()  # the commands with a cross compiler, of which makefiles must be told; {machine} is its
    machines: tuple[str, ...] = ("aarch64", "riscv64")  # which those are for

    def is_for(self, toolchain):
        """Whether it can be built with a toolchain, and asked something."""
        machine = machine_of(toolchain)
        return not machine or (bool(self.cross) and machine in self.machines)

    def commands_with(self, toolchain):
        """The commands of a build with a toolchain."""
        machine = machine_of(toolchain)
        return [each.replace("{machine}", machine) for each in (self.cross if machine else self.commands)]


def _text(source):
    """A megabyte or so of real text: the package's own C files, in one order."""
    files = sorted(path for path in source.rglob("*.[ch]") if path.is_file())
    return b"".join(path.read_bytes() for path in files)[:1_500_000]


def _bzip2(laid):
    text = _text(laid.source)
    packed = laid.run("bzip2", "-9", stdin=text)
    assert packed == bz2.compress(text, 9)
    assert laid.run("bzip2", "-d", "-s", stdin=packed) == text
    broken = subprocess.run(laid.command("bzip2", "-t"), input=packed[:-9], capture_output=True)
    assert broken.returncode == 2
    return packed + laid.run("bzip2", "-1", "-s", stdin=text)


LUA = """\
local function fannkuch(n)
  local p, q, s, sign, maxflips, sum = {}, {}, {}, 1, 0, 0
  for i = 1, n do p[i] = i; q[i] = i; s[i] = i end
  repeat
    local q0 = p[1]
    if q0 ~= 1 then
      for i = 2, n do q[i] = p[i] end
      local flips = 1
      while true do
        local qq = q[q0]
        if qq == 1 then sum = sum + sign * flips; if flips > maxflips then maxflips = flips end; break end
        q[q0] = q0
        if q0 >= 4 then local i, j = 2, q0 - 1; repeat q[i], q[j] = q[j], q[i]; i = i + 1; j = j - 1 until i >= j end
        q0 = qq; flips = flips + 1
      end
    end
    if sign == 1 then p[1], p[2] = p[2], p[1]; sign = -1
    else
      p[2], p[3] = p[3], p[2]; sign = 1
      for i = 3, n do
        local sx = s[i]
        if sx ~= 1 then s[i] = sx - 1; break end
        if i == n then return sum, maxflips end
        s[i] = i
        local t = p[1]; for j = 1, i do p[j] = p[j + 1] end; p[i + 1] = t
      end
    end
  until false
end
print(fannkuch(9))
local composite, primes = {}, 0
for i = 2, 1500000 do
  if not composite[i] then primes = primes + 1; for j = i * i, 1500000, i do composite[j] = true end end
end
print(primes)
local words = {}
for w in (("the quick brown fox jumps over the lazy dog "):rep(200)):gmatch("%a+") do words[#words + 1] = w:reverse():upper() end
table.sort(words)
print(#words, words[1], words[#words], table.concat(words, "", 1, 3):gsub("%u", string.lower))
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i * i) end end)
local total = 0; for _ = 1, 1000 do total = total + co() end
print(total, pcall(error, {}, 0) == false, string.format("%5.2f|%x", math.pi, 255), utf8.char(228, 8364))
print(select(2, pcall(load("local t = setmetatable({}, {__index = function(_, k) return k * 2 end}) return t[21] // 1 | 0"))))
"""


def _lua(laid):
    script = laid.scratch / "work.lua"
    script.write_text(LUA)
    answer = laid.run("src/lua", script)
    lines = answer.decode().splitlines()
    assert lines[0] == "8629\t30"  # fannkuch-redux of 9, as in the Computer Language Benchmarks Game
    assert lines[1] == str(_primes(1_500_000))
    assert lines[2].split("\t")[:3] == ["1800", "EHT", "YZAL"]
    assert lines[3] == f"{sum(i * i for i in range(1, 1001))}\ttrue\t 3.14|ff\tä€"
    assert lines[-1] == "42"
    return answer


def _primes(limit):
    composite = bytearray(limit + 1)
    for i in range(2, int(limit**0.5) + 1):
        if not composite[i]:
            composite[i * i :: i] = b"\1" * len(range(i * i, limit + 1, i))
    return composite.count(0) - 2


SQL = [
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INTEGER)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)"
    " INSERT INTO t SELECT i, hex(i * 2654435761 % 65521), i * 7919 % 10007 FROM n",
    "CREATE INDEX by_c ON t(c, b)",
    "SELECT count(*), sum(c), min(b), max(b) FROM t",
    "SELECT c, count(*), group_concat(a) FROM (SELECT * FROM t ORDER BY a) WHERE c < 4 GROUP BY c ORDER BY c",
    "SELECT sum(x.c * y.c % 13) FROM t x JOIN t y ON y.a = x.c + 1 WHERE x.a % 3 = 0",
    "UPDATE t SET b = lower(b) || '-' || c WHERE a % 5 = 0",
    "DELETE FROM t WHERE c % 11 = 3",
    "SELECT substr(b, 1, 2) AS k, count(*), sum(c) / count(*) FROM t GROUP BY k HAVING count(*) > 400 ORDER BY 2 DESC, 1 LIMIT 9",
    "SELECT a, sum(c) OVER (ORDER BY a ROWS 3 PRECEDING) FROM t WHERE a BETWEEN 500 AND 520",
    "WITH RECURSIVE f(a, b, n) AS (SELECT 0, 1, 0 UNION ALL SELECT b, a + b, n + 1 FROM f WHERE n < 80)"
    " SELECT max(a), printf('%08x', max(a) % 65536) FROM f",
    "SELECT count(*), sum(length(b)) FROM t WHERE b LIKE '%3%' AND b GLOB '*-*'",
]


def _sqlite3(laid):
    """Python's own sqlite3 is asked the same."""
    answer = laid.run("sqlite3", ":memory:", stdin=";\n".join([*SQL, ""]).encode())
    with sqlite3.connect(":memory:") as known:
        rows = [row for statement in SQL for row in known.execute(statement)]
    known.close()
    assert answer.decode().splitlines() == ["|".join(map(str, row)) for row in rows]
    return answer


def _zstd(laid):
    text = _text(laid.source)
    program = "out/programs/zstd"
    packed = [laid.run(program, f"-{level}", "-c", "--single-thread", stdin=text) for level in (1, 9, 16)]
    assert all(laid.run(program, "-d", "-c", stdin=data) == text for data in packed)
    assert len(packed[2]) < len(packed[0]) < len(text) // 3
    broken = subprocess.run(laid.command(program, "-t"), input=packed[1][:-9], capture_output=True)
    assert broken.returncode == 1
    return b"".join(packed)


VECTORS = ("aes", "camellia", "chacha", "gcm", "sha1_fips_180", "sha3", "rsa_oaep", "hkdf", "ttmac", "threefish")
SLOW_EMULATED = ("camellia", "rsa_oaep")  # half of the time that all of them take under qemu: left out there


def _cryptopp(laid):
    """Digests and compression against Python's, and the library's own test vectors."""
    text = _text(laid.source)
    (laid.scratch / "text").write_bytes(text)
    digests = laid.run("cryptest.exe", "m", "text").decode()
    for name in ("SHA-1", "SHA-256", "SHA-512"):
        assert f"{name}: {hashlib.new(name.replace('-', ''), text).hexdigest()}" in digests
    laid.run("cryptest.exe", "z", "9", "text", "text.gz")
    packed = (laid.scratch / "text.gz").read_bytes()
    assert gzip.decompress(packed) == text
    laid.run("cryptest.exe", "u", "text.gz", "text.back")
    assert (laid.scratch / "text.back").read_bytes() == text
    for data in ("TestVectors", "TestData"):  # the program writes beside them, and another source is another build
        (laid.scratch / data).symlink_to(laid.source / data)
    vectors = [name for name in VECTORS if not (laid.under and name in SLOW_EMULATED)]
    said = [laid.run("cryptest.exe", "tv", name).decode() for name in vectors]
    assert all(re.search(r"Total tests = [1-9]\d*\. Failed tests = 0\.", answer) for answer in said)
    said = [re.sub(r"(?m)^(Using seed|Seed used|Test (started|ended)).*$", "", answer) for answer in said]
    return digests.encode() + packed + "".join(said).encode()


def _sound(seconds):
    """Two channels of tones and noise, as a WAV file."""
    draw = random.Random(1)
    left, right = 0, 9000
    samples = array.array("h")
    for k in range(44_100 * seconds):
        left = (left + k % 131 * 3) % 20_000
        right = (right * 7 + draw.randrange(64)) % 24_001
        samples.extend((left - 10_000, (left + right) // 2 - 11_000))
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44_100)
        file.writeframes(samples.tobytes())
    return made.getvalue(), samples.tobytes()


FLAC, LIBFLAC = "src/flac/.libs/flac", "src/libFLAC/.libs/libFLAC.so"


def _flac(laid):
    """The program of a layout with the library of that layout: encode, decode, and the MD5 that FLAC keeps inside."""
    folder = laid.scratch / "lib"
    folder.mkdir(exist_ok=True)
    shutil.copy(laid.files[LIBFLAC], folder / "libFLAC.so.12")
    own = {"LD_LIBRARY_PATH": str(folder)}
    loaded = laid.run(FLAC, variables={**own, "LD_TRACE_LOADED_OBJECTS": "1"}).decode()
    assert f"libFLAC.so.12 => {folder}/libFLAC.so.12" in loaded
    sound, samples = _sound(8)
    laid.run(FLAC, "-8", "-e", "-s", "-f", "-o", "sound.flac", "-", stdin=sound, variables=own)
    packed = (laid.scratch / "sound.flac").read_bytes()
    assert packed[26:42] == hashlib.md5(samples).digest()  # in STREAMINFO, after 4 + 4 + 18 bytes
    with wave.open(io.BytesIO(laid.run(FLAC, "-d", "-s", "-c", "-", stdin=packed, variables=own))) as back:
        assert back.readframes(back.getnframes()) == samples
    return packed + laid.run(FLAC, "-0", "-s", "-c", "-", stdin=sound, variables=own)


CHECKASM = "out/tests/checkasm"
DAV1D = "-Dbuildtype=plain -Ddefault_library=static -Denable_tools=false -Denable_examples=false"
DAV1D_CROSS = (
    "printf '%s\\n' '[binaries]' \"c = '$CC'\" \"ar = '$AR'\" \"strip = 'true'\" '[host_machine]' \"system = 'linux'\" "
    "\"cpu_family = '{machine}'\" \"cpu = '{machine}'\" \"endian = 'little'\" > cross.txt"
)
DAV1D_PARTS = ("cdef", "filmgrain", "ipred", "loopfilter", "looprestoration")


def _dav1d(laid):
    """Its own comparison of assembler with C, for what takes the least time under an emulator."""
    said = b""
    for test in ("msac", "refmvs", *(f"{part}_{bits}bpc" for part in DAV1D_PARTS for bits in (8, 16)), "itx_8bpc"):
        command = laid.command(CHECKASM, f"--test={test}", "1")
        done = subprocess.run(command, capture_output=True, timeout=300, cwd=laid.scratch)
        assert done.returncode == 0, f"{command}: {done.returncode}: {done.stderr[-500:]!r}"
        assert re.search(rb"all [1-9]\d* tests passed", done.stderr), done.stderr
        said += done.stderr
    return said


PROGRAMS = {
    "bzip2": Program(
        "bzip2",
        "C",
        "make",
        ("make -j{jobs} bzip2",),
        ("bzip2",),
        _bzip2,
        cross=("make -j{jobs} bzip2 CC=$CC AR=$AR RANLIB=true",),
    ),
    "lua": Program(
        "lua5.4",
        "C",
        "make",
        ("make -C src -j{jobs} linux",),
        ("src/lua",),
        _lua,
        cross=('make -C src -j{jobs} posix CC="$CC -std=gnu99" AR="$AR rc" RANLIB=true',),
    ),
    "sqlite3": Program(
        "sqlite3",
        "C",
        "autotools, libtool archive",
        (
            "./configure --disable-tcl --disable-amalgamation --disable-readline --disable-shared",
            "make -j{jobs} libsqlite3.la shell.c",
            "$CC -I. -DSQLITE_THREADSAFE=1 shell.c .libs/libsqlite3.a -lm -lz -o sqlite3",
        ),
        ("sqlite3",),
        _sqlite3,
        {"tclsh": "tcl", "/usr/include/zlib.h": "zlib1g-dev"},
        cross=(
            "./configure --host={machine}-linux-gnu --disable-tcl --disable-amalgamation --disable-readline --disable-shared",
            "make -j{jobs} libsqlite3.la shell.c",
            "$CC -I. -DSQLITE_THREADSAFE=1 shell.c .libs/libsqlite3.a -lm -o sqlite3",
        ),
    ),
    "zstd": Program(
        "libzstd",
        "C, assembler",
        "CMake, Ninja",
        ("cmake -S build/cmake -B out -G Ninja -DCMAKE_BUILD_TYPE=None", "cmake --build out --target zstd -j{jobs}"),
        ("out/programs/zstd",),
        _zstd,
        {"cmake": "cmake", "ninja": "ninja-build"},
        cross=(
            "cmake -S build/cmake -B out -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_SYSTEM_NAME=Linux "
            "-DCMAKE_SYSTEM_PROCESSOR={machine}",
            "cmake --build out --target zstd -j{jobs}",
        ),
    ),
    "dav1d": Program(
        "dav1d",
        "C, mostly assembler",
        "Meson, Ninja",
        (f"meson setup out {DAV1D}", "ninja -C out -j{jobs} tests/checkasm"),
        (CHECKASM,),
        _dav1d,
        {"meson": "meson", "ninja": "ninja-build", "nasm": "nasm"},
        cross=(DAV1D_CROSS, f"meson setup out --cross-file cross.txt {DAV1D}", "ninja -C out -j{jobs} tests/checkasm"),
        machines=("aarch64",),  # of RISC-V this version has no assembler, and so nothing to compare
    ),
    "Crypto++": Program(
        "libcrypto++",
        "C++, 109,000 lines",
        "make",
        ('make -j{jobs} CXXFLAGS="-DNDEBUG" cryptest.exe',),
        ("cryptest.exe",),
        _cryptopp,
        cflags="-O1",
        cross=('make -j{jobs} CXXFLAGS="-DNDEBUG" RANLIB=true cryptest.exe',),
    ),
    "FLAC": Program(
        "flac",
        "C, with libFLAC.so",
        "autotools, libtool",
        (
            "./configure --disable-ogg --disable-doxygen-docs --disable-cpplibs --disable-examples",
            "make -j{jobs} -C src",
        ),
        (FLAC, LIBFLAC),
        _flac,
        cross=(
            "./configure --host={machine}-linux-gnu --disable-ogg --disable-doxygen-docs --disable-cpplibs --disable-examples",
            "make -j{jobs} -C src",
        ),
    ),
}
