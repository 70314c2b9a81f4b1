"""Larger programs than those of the table of docs/project/verified.md: how each is built, and what it must answer.

An answer is checked as in `real_programs`: against what is known by other means, and by the test against stock's.
"""

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

from real_programs import Program


def _jq(laid):
    """The program's own tests, and a table that is worked out here, too."""
    said = laid.run("jq", "-L", "tests/modules", "--run-tests", "tests/jq.test", cwd=laid.source).decode()
    passed = re.search(r"^(\d+) of (\d+) tests passed", said, re.MULTILINE)
    assert passed, said[-500:]
    assert passed[1] == passed[2] and int(passed[1]) > 200
    draw = random.Random(1)
    rows = [{"k": draw.choice("abcdefg"), "n": draw.randrange(10**6), "ü": [i, None]} for i in range(20_000)]
    text = json.dumps(rows).encode()
    wanted = "group_by(.k) | map({key: .[0].k, value: (map(.n) | [length, add, min, max])}) | from_entries"
    table = laid.run("jq", "-c", wanted, stdin=text)
    groups = {key: [row["n"] for row in rows if row["k"] == key] for key in {row["k"] for row in rows}}
    assert json.loads(table) == {key: [len(n), sum(n), min(n), max(n)] for key, n in groups.items()}
    broken = subprocess.run([laid.files["jq"], "."], input=b'{"a": [1, }', capture_output=True)
    assert broken.returncode == 4 and b"Unmatched '}'" in broken.stderr  # the status of version 1.6
    return table + laid.run("jq", ".[:3000]", stdin=text)


LIBSNAPPY = "out/libsnappy.so.1.1.9"
SNAPPY = """\
import ctypes, sys
snappy, text = ctypes.CDLL(sys.argv[1]), sys.stdin.buffer.read()
size = ctypes.c_size_t
room = size(snappy.snappy_max_compressed_length(size(len(text))))
packed = ctypes.create_string_buffer(room.value)
assert snappy.snappy_compress(text, size(len(text)), packed, ctypes.byref(room)) == 0
made, length, back = packed.raw[: room.value], size(len(text)), ctypes.create_string_buffer(len(text))
assert snappy.snappy_uncompress(made, size(len(made)), back, ctypes.byref(length)) == 0
assert back.raw[: length.value] == text
assert snappy.snappy_validate_compressed_buffer(made, size(len(made))) == 0
assert snappy.snappy_validate_compressed_buffer(made[:-9], size(len(made) - 9)) == 1
sys.stdout.buffer.write(made)
"""


def _snappy(laid):
    """A Python that loads the library packs the package's own test data, which is unpacked here without it."""
    answer = b""
    for name in ("alice29.txt", "html", "geo.protodata", "urls.10K", "paper-100k.pdf"):
        text = (laid.source / "testdata" / name).read_bytes()
        command = [sys.executable, "-c", SNAPPY, laid.files[LIBSNAPPY]]
        done = subprocess.run(command, input=text, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert _unpacked(done.stdout) == text
        answer += done.stdout
    return answer


def _unpacked(data):
    """What Snappy's raw format stands for (format_description.txt of the package)."""
    length = at = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    text = bytearray()
    while at < len(data):
        tag, size = data[at] & 3, data[at] >> 2
        at += 1
        if tag == 0:
            if size >= 60:
                more = size - 59
                size = int.from_bytes(data[at : at + more], "little")
                at += more
            text += data[at : at + size + 1]
            at += size + 1
            continue
        more = {1: 1, 2: 2, 3: 4}[tag]
        offset = int.from_bytes(data[at : at + more], "little") | (size >> 3 << 8 if tag == 1 else 0)
        at += more
        for _ in range((size & 7) + 4 if tag == 1 else size + 1):
            text.append(text[-offset])
    assert len(text) == length
    return bytes(text)


NINJA, NINJA_TEST = "out/ninja", "out/ninja_test"


def _ninja(laid):
    """The program's own tests, and three hundred files that are made, left alone, and made again where one changed."""
    tests = laid.run(NINJA_TEST).decode()
    assert re.search(r"\[(\d{3,})/\1\]", tests), tests[-500:]
    rules = ["rule join", "  command = cat $in > $out && echo $out >> $out", "rule copy", "  command = cp $in $out"]
    edges = [f"build c{k}: copy source{k % 7}\nbuild j{k}: join c{k} c{k // 2} | c{k // 3}" for k in range(150)]
    (laid.scratch / "build.ninja").write_text("\n".join([*rules, *edges, ""]))
    for k in range(7):
        (laid.scratch / f"source{k}").write_text(f"text {k}\n")
    said = laid.run(NINJA, "-j1", "-v")
    assert said.startswith(b"[1/300] ") and b"[300/300] " in said
    assert all((laid.scratch / f"j{k}").read_text() == f"text {k % 7}\ntext {k // 2 % 7}\nj{k}\n" for k in range(150))
    assert laid.run(NINJA) == b"ninja: no work to do.\n"
    (laid.scratch / "source3").write_text("other\n")
    os.utime(laid.scratch / "source3", (time.time() + 5,) * 2)
    changed = {k for k in range(150) if k % 7 == 3}
    again = len(changed) + len({k for k in range(150) if {k, k // 2, k // 3} & changed})
    assert f"[{again}/{again}] ".encode() in laid.run(NINJA, "-v")
    (laid.scratch / "build.ninja").write_text("build a: missing b\n")
    broken = subprocess.run([laid.files[NINJA]], cwd=laid.scratch, capture_output=True)
    assert broken.returncode == 1 and b"unknown build rule 'missing'" in broken.stderr
    return said


OPENSSL, LIBSSL, LIBCRYPTO = "apps/openssl", "libssl.so.3", "libcrypto.so.3"
DIGESTS = {
    "md5": "md5",
    "sha1": "sha1",
    "sha256": "sha256",
    "sha512": "sha512",
    "sha3-256": "sha3_256",
    "blake2b512": "blake2b",
}
CIPHERS = {"aes-128-ctr": 128, "aes-256-cbc": 256, "chacha20": 256, "camellia-192-cbc": 192, "aria-256-ctr": 256}
# AES of the block 00 11 .. ff with the keys 00 01 .. (FIPS 197, appendix C).
AES = {
    128: "69c4e0d86a7b0430d8cdb78070b4c55a",
    192: "dda97ca4864cdfe06eaf70a0ec0d7191",
    256: "8ea2b7ca516745bfeafc49904b496089",
}


def _openssl(laid):
    """The program of a layout with both libraries of that layout: digests, ciphers, signatures, a TLS connection."""
    folder = laid.scratch / "lib"
    folder.mkdir()
    for name in (LIBSSL, LIBCRYPTO):
        shutil.copy(laid.files[name], folder / name)
    own = {"LD_LIBRARY_PATH": str(folder), "OPENSSL_CONF": "/dev/null"}

    def ask(*args, stdin=b""):
        return laid.run(OPENSSL, *args, stdin=stdin, variables=own)

    loaded = laid.run(OPENSSL, variables={**own, "LD_TRACE_LOADED_OBJECTS": "1"}).decode()
    assert all(f"{name} => {folder}/{name}" in loaded for name in (LIBSSL, LIBCRYPTO))
    text = b"".join(path.read_bytes() for path in sorted((laid.source / "crypto" / "evp").glob("*.c")))
    digests = {name: ask("dgst", f"-{name}", "-binary", stdin=text) for name in DIGESTS}
    assert digests == {name: hashlib.new(known, text).digest() for name, known in DIGESTS.items()}
    return b"".join([*digests.values(), *_sealed(ask, text), *_signed(laid, ask, text), _connected(laid, own)])


def _sealed(ask, text):
    """The text by each cipher, and back; AES as its standard has it."""
    block = bytes(range(0, 256, 17))
    for bits, known in AES.items():
        key = bytes(range(bits // 8)).hex()
        assert ask("enc", f"-aes-{bits}-ecb", "-nopad", "-K", key, stdin=block).hex() == known
    for name, bits in CIPHERS.items():
        words = (f"-{name}", "-K", bytes(range(bits // 8)).hex(), "-iv", block.hex())
        sealed = ask("enc", *words, stdin=text)
        assert sealed[:64] != text[:64]
        assert ask("enc", "-d", *words, stdin=sealed) == text
        yield sealed


def _signed(laid, ask, text):
    """Signatures with keys of the package's own tests; that by RSA is checked by raising it to its exponent."""
    keys = laid.source / "test"
    (laid.scratch / "text").write_bytes(text)
    ask("dgst", "-sha256", "-sign", keys / "testrsa2048.pem", "-out", "rsa", "text")
    assert (
        ask("dgst", "-sha256", "-verify", keys / "testrsa2048pub.pem", "-signature", "rsa", "text") == b"Verified OK\n"
    )
    signature = (laid.scratch / "rsa").read_bytes()
    modulus = int(ask("rsa", "-in", keys / "testrsa2048.pem", "-noout", "-modulus").decode().partition("=")[2], 16)
    opened = pow(int.from_bytes(signature, "big"), 65537, modulus).to_bytes(256, "big")
    assert opened.startswith(b"\0\1" + b"\xff" * 202 + b"\0") and opened.endswith(hashlib.sha256(text).digest())
    yield signature
    ask("dgst", "-sha512", "-sign", keys / "testec-p256.pem", "-out", "ec", "text")  # another one each time
    assert (
        ask("dgst", "-sha512", "-verify", keys / "testecpub-p256.pem", "-signature", "ec", "text") == b"Verified OK\n"
    )
    (laid.scratch / "short").write_bytes(text[:999])
    ed25519 = ("-rawin", "-in", "short")
    ask("pkeyutl", "-sign", "-inkey", keys / "tested25519.pem", *ed25519, "-out", "ed")
    public = ("-pubin", "-inkey", keys / "tested25519pub.pem")
    assert b"Success" in ask("pkeyutl", "-verify", *public, *ed25519, "-sigfile", "ed")
    yield (laid.scratch / "ed").read_bytes()


def _connected(laid, own):
    """What a TLS server says back, lines reversed, to a client that checks its certificate."""
    certs = laid.source / "test" / "certs"
    key = ("-cert", certs / "servercert.pem", "-key", certs / "serverkey.pem")
    check = ("-CAfile", certs / "rootcert.pem", "-verify_return_error", "-verify_hostname", "server.example")
    command = laid.command(OPENSSL, "s_server", "-unix", "tls", "-rev", "-naccept", "1", *key, variables=own)
    said = laid.scratch / "server"
    with said.open("wb") as log:
        server = subprocess.Popen(command, cwd=laid.scratch, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while b"ACCEPT" not in said.read_bytes():  # the socket is there before anybody listens
            assert server.poll() is None and time.monotonic() < deadline, said.read_text()
            time.sleep(0.02)
        client = laid.command(OPENSSL, "s_client", "-unix", "tls", "-brief", *check, variables=own)
        line, facts = _line_from_server(client, laid)
        assert b"Verification: OK" in facts and b"Protocol version: TLSv1.3" in facts, facts
        assert server.wait(timeout=60) == 0, said.read_text()
    finally:
        server.kill()
        server.wait()
    assert line == b"tuoyal\n"
    return line


def _line_from_server(command, laid):
    """The line that a client gets for the one it sends, before its input ends; and what it says of the connection."""
    pipe = subprocess.PIPE
    command = ["timeout", "60", *command]
    with subprocess.Popen(command, cwd=laid.scratch, stdin=pipe, stdout=pipe, stderr=pipe) as client:
        client.stdin.write(b"layout\n")
        client.stdin.flush()
        line = client.stdout.readline()
        _, facts = client.communicate(timeout=60)
    assert client.returncode == 0, facts
    return line, facts


CPYTHON = """\
import bisect, hashlib, heapq, itertools, json, math, pickle, random, re, struct, sys

def queens(n, row=0, columns=0, rising=0, falling=0):
    if row == n:
        return 1
    free = ~(columns | rising | falling) & ((1 << n) - 1)
    count = 0
    while free:
        bit = free & -free
        free ^= bit
        count += queens(n, row + 1, columns | bit, (rising | bit) << 1, (falling | bit) >> 1)
    return count

def pi():
    q, r, t, k, n, l = 1, 0, 1, 1, 3, 3
    while True:
        if 4 * q + r - t < n * t:
            yield n
            q, r, n = 10 * q, 10 * (r - n * t), 10 * (3 * q + r) // t - 10 * n
        else:
            q, r, t, k, n, l = q * k, (2 * q + r) * l, t * l, k + 1, (q * (7 * k + 2) + r * l) // (t * l), l + 2

class Node:
    __slots__ = ("left", "right")
    def __init__(self, depth):
        self.left, self.right = (Node(depth - 1), Node(depth - 1)) if depth else (None, None)
    def __len__(self):
        return 1 + (len(self.left) + len(self.right) if self.left else 0)

text = open(sys.argv[1], encoding="utf-8").read()
words = re.findall(r"(?<![\\w.])[a-z_]+(?=\\()", text)
counts = {word: words.count(word) for word in sorted(set(words))[:300]}
draw = random.Random(7)
heap = [draw.random() for _ in range(20000)]
heapq.heapify(heap)
print(queens(8), "".join(map(str, itertools.islice(pi(), 300))), len(Node(14)))
print(json.dumps(counts, sort_keys=True), hashlib.sha256(text.encode()).hexdigest(), hashlib.sha1(text.encode()).hexdigest())
print([heapq.heappop(heap) for _ in range(9)], bisect.bisect(sorted(heap), 0.5), math.fsum(heap), math.comb(300, 100))
print(pickle.loads(pickle.dumps(counts, 4)) == counts, struct.pack("<dhq", math.e, -7, 1 << 40).hex(), 7 ** 4000 % 10 ** 60)
print(sorted(text.split())[::997], f"{math.pi:+012.5f}|{1e100:g}|{255:#b}", "ǅ Straße".casefold(), (0.1).hex())
"""
CPYTHON_TESTS = [
    "test_grammar",
    "test_patma",
    "test_dict",
    "test_list",
    "test_tuple",
    "test_long",
    "test_float",
    "test_generators",
    "test_descr",
    "test_sort",
    "test_math",
    "test_re",
    "test_struct",
    "test_heapq",
]
CPYTHON_SUITE = f"""\
import sys, unittest
names = ["test." + name for name in {CPYTHON_TESTS}]
done = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(unittest.defaultTestLoader.loadTestsFromNames(names))
print(done.testsRun, len(done.failures), len(done.errors))
"""
# Compiled into the interpreter, as none can be loaded: what the tests import, and some that compute.
CPYTHON_MODULES = """\
*static*
_blake2 _blake2/blake2module.c _blake2/blake2b_impl.c _blake2/blake2s_impl.c
_bisect _bisectmodule.c
_contextvars _contextvarsmodule.c
_csv _csv.c
_datetime _datetimemodule.c
_heapq _heapqmodule.c
_json _json.c
_md5 md5module.c
_opcode _opcode.c
_pickle _pickle.c
_posixsubprocess _posixsubprocess.c
_random _randommodule.c
_sha1 sha1module.c
_sha256 sha256module.c
_sha3 _sha3/sha3module.c
_sha512 sha512module.c
_socket socketmodule.c
_statistics _statisticsmodule.c
_struct _struct.c
array arraymodule.c
binascii binascii.c
cmath cmathmodule.c
fcntl fcntlmodule.c
math mathmodule.c
select selectmodule.c
unicodedata unicodedata.c
"""


def _cpython(laid):
    """The interpreter's own tests of the language, and a program that this Python executes, too."""
    library = laid.source / "Lib"
    (laid.scratch / "built_with.py").write_text("build_time_vars = {}\n")  # its tests ask for the flags of its build
    own = {
        "PYTHONHOME": str(laid.source),
        "PYTHONPATH": f"{library}:{laid.scratch}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "_PYTHON_SYSCONFIGDATA_NAME": "built_with",
    }
    said = laid.run("python", "-s", "-S", "-c", CPYTHON_SUITE, variables=own).decode().splitlines()[-1].split()
    assert int(said[0]) > 1000 and said[1:] == ["0", "0"], said
    script = laid.scratch / "work.py"
    script.write_text(CPYTHON)
    answer = laid.run("python", "-s", "-S", script, library / "argparse.py", variables=own)
    known = subprocess.run([sys.executable, script, library / "argparse.py"], capture_output=True, check=True).stdout
    assert answer == known
    return answer


LARGER = {
    "jq": Program(
        "jq", "C", "autotools, libtool archive",
        ("autoreconf -i", "./configure --disable-shared --disable-maintainer-mode --disable-docs --without-oniguruma", "make -j{jobs}"),
        ("jq",), _jq, {"autoreconf": "autoconf automake", "libtoolize": "libtool"},
    ),
    "snappy": Program(
        "snappy", "C++, libsnappy.so", "CMake, Ninja",
        (
            "sed -i 's/^size_t AdvanceToNextTag/inline &/' snappy.cc",  # as Debian does: gcc 12 refuses it otherwise
            "cmake -S . -B out -G Ninja -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON -DSNAPPY_BUILD_TESTS=OFF -DSNAPPY_BUILD_BENCHMARKS=OFF",
            "cmake --build out -j{jobs}",
        ),
        (LIBSNAPPY,), _snappy, {"cmake": "cmake", "ninja": "ninja-build"},
    ),
    "ninja": Program(
        "ninja-build", "C++, its own link-time optimisation", "CMake, Ninja",
        (
            "cmake -S . -B out -G Ninja -DCMAKE_BUILD_TYPE=Release",
            "grep -q -e -flto out/build.ninja",  # CMake found that the linker can do it
            "cmake --build out --target ninja ninja_test -j{jobs}",
        ),
        (NINJA, NINJA_TEST), _ninja, {"cmake": "cmake", "ninja": "ninja-build"}, cflags="",
    ),
    "OpenSSL": Program(
        "openssl", "C, assembler by perlasm, libcrypto.so, libssl.so", "perl, make",
        ("./config no-tests", f"make -j{{jobs}} build_generated {OPENSSL} {LIBSSL} {LIBCRYPTO}"),
        (OPENSSL, LIBSSL, LIBCRYPTO), _openssl, {"perl": "perl"}, cflags="-O1",
        cross=(
            "RANLIB=true ./Configure linux-aarch64 no-tests",
            f"make -j{{jobs}} build_generated {OPENSSL} {LIBSSL} {LIBCRYPTO}",
        ),
        machines=("aarch64",),
    ),
    "CPython": Program(
        "python3.11", "C, generated C", "autotools",
        (
            f"cat > Modules/Setup.local <<'END'\n{CPYTHON_MODULES}END",
            "OPT='-DNDEBUG -fwrapv' ./configure --without-ensurepip --disable-test-modules",
            "make -j{jobs} python",
        ),
        ("python",), _cpython, cflags="-O1",
    ),
}  # a table: a row for what belongs together  # fmt: skip
