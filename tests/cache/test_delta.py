"""Contents as deltas against others, and what comes of damaged ones."""

import random
import shutil
import subprocess
import sys

import pytest

from layoutrand.cache import delta as deltas
from layoutrand.cache.delta import DeltaBase
from layoutrand.errors import ToolNotFound
from workshop import not_installed


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


def decoded(base, delta):
    return b"".join(DeltaBase(base).decode(delta))


def moved(content, piece=1000, seed=2):
    """The content's pieces in another order."""
    pieces = [content[at : at + piece] for at in range(0, len(content), piece)]
    random.Random(seed).shuffle(pieces)
    return b"".join(pieces)


BASE = noise(300_000)
OTHER = moved(BASE)


def test_what_lies_elsewhere_takes_little_and_comes_back():
    delta = DeltaBase(BASE).encode(OTHER)
    assert len(delta) < 0.05 * len(OTHER)
    assert decoded(BASE, delta) == OTHER


def test_the_same_content_is_the_same_delta():
    assert DeltaBase(BASE).encode(OTHER) == DeltaBase(BASE).encode(OTHER)


@pytest.mark.parametrize("content", [b"", b"short", noise(1000, seed=3), noise(300_000, seed=3)])
def test_what_has_nothing_in_common_is_no_delta(content):
    assert DeltaBase(BASE).encode(content) is None


@pytest.mark.parametrize("base", [b"", b"1234567"])
def test_nothing_is_a_delta_against_a_few_bytes(base):
    assert DeltaBase(base).encode(bytes(10_000)) is None
    with pytest.raises(ValueError, match="a few bytes"):
        decoded(base, DeltaBase(BASE).encode(OTHER))


def test_a_content_that_is_much_longer_than_its_base_is_no_delta():
    """Else a damaged delta could take all memory before that is noticed."""
    base = BASE[:100_000]
    assert DeltaBase(base).encode(bytes(1_400_000)) is not None
    assert DeltaBase(base).encode(bytes(1_500_000)) is None
    delta = DeltaBase(BASE).encode(bytes(1_500_000))
    with pytest.raises(ValueError, match="its content is said to have 1500000 bytes, and the base has 100000"):
        decoded(base, delta)


@pytest.mark.parametrize("base", [noise(300_000, seed=9), BASE[:-1], BASE[1:], bytes(8)])
def test_against_another_base_nothing_comes_out(base):
    with pytest.raises(ValueError):
        decoded(base, DeltaBase(BASE).encode(OTHER))


def test_every_changed_byte_and_every_length_is_noticed():
    base, content = BASE[:5000], moved(BASE[:5000], piece=500)
    delta = DeltaBase(base).encode(content)
    assert decoded(base, delta) == content
    for at in range(len(delta)):
        for changed in (delta[:at], delta[:at] + bytes([delta[at] ^ 1]) + delta[at + 1 :]):
            try:
                assert decoded(base, changed) == content  # a reserved bit, say
            except ValueError:
                continue
    for longer in (delta + b"x", delta + delta):
        with pytest.raises(ValueError, match="does not end"):
            decoded(base, longer)


def test_the_program_zstd_reads_it(tmp_path):
    """Which the documentation says, for people without layoutrand."""
    program = shutil.which("zstd")
    if program is None:
        pytest.skip(not_installed("zstd", "zstd"))
    (tmp_path / "base").write_bytes(BASE)
    (tmp_path / "delta.zst").write_bytes(DeltaBase(BASE).encode(OTHER))
    command = [
        program,
        "-q",
        "-d",
        "--long=31",
        f"--patch-from={tmp_path / 'base'}",
        tmp_path / "delta.zst",
        "-o",
        tmp_path / "out",
    ]
    subprocess.run(command, check=True)
    assert (tmp_path / "out").read_bytes() == OTHER


def test_a_missing_library_is_said_with_what_brings_it(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(deltas, "import_module", missing)
    brings = "compression.zstd" if sys.version_info >= (3, 14) else r"pip install 'layoutrand\[delta\]'"
    with pytest.raises(ToolNotFound, match=f"layouts that are kept as deltas need .*{brings}"):
        DeltaBase(BASE)
