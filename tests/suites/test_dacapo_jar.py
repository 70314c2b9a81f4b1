"""What is read from a DaCapo jar: hand-made zip files in the form of each release, no Java."""

from __future__ import annotations

import os
import tracemalloc
import zipfile
from contextlib import suppress

import pytest

from dacapokit import make_jar
from layoutrand.errors import ConfigError
from layoutrand.suites.dacapo_jar import jar_facts


def facts(jar, tmp_path):
    return jar_facts(jar, config=tmp_path / "layoutrand.toml", home=tmp_path / "nobody")


@pytest.mark.parametrize(
    ("name", "manifest", "how", "generation", "version"),
    [
        ("dacapo-2006-10-MR2.jar", "", {"harness": "2006"}, "2006", ""),
        ("renamed.jar", "", {"harness": "2006"}, "2006", ""),
        ("dacapo-9.12-bach.jar", "Implementation-Version: 9.12\r\n", {}, "9.12", "9.12"),
        ("dacapo.jar", "Implementation-Version: 9.12-MR1\r\n", {"classes": "harness/"}, "9.12", "9.12-MR1"),
        ("scala-benchmark-suite-0.1.0.jar", "Implementation-Version: 0.1.0-SNAPSHOT\r\n", {}, "9.12", "0.1.0-SNAPSHOT"),
        ("dacapo.jar", "Implementation-Version: 23.11-chopin\r\n", {"cnf": "META-INF/cnf/"}, "23.11", "23.11-chopin"),
        ("dacapo.jar", "Implementation-Version: 23.11-MR2-cho\r\n pin\r\n", {}, "23.11", "23.11-MR2-chopin"),
        ("dacapo.jar", "Implementation-Version: evaluation-git+8b7a2dc\r\n", {}, "23.11", "evaluation-git+8b7a2dc"),
        ("dacapo-23.11-chopin.jar", "", {"harness": ""}, "23.11", ""),
        ("dacapo.jar", "Implementation-Version: head-runknown\r\n", {}, "9.12", "head-runknown"),
        ("suite.jar", "Implementation-Version: 1.0\r\n", {"harness": ""}, None, "1.0"),
    ],
)
def test_every_release_is_recognised(tmp_path, name, manifest, how, generation, version):
    found = facts(make_jar(tmp_path / name, manifest=manifest, **how), tmp_path)
    assert (found.generation, found.version) == (generation, version)
    assert found.benchmarks == {"fop": ("small", "default"), "pmd": ("small", "default")}


def test_sizes_that_cannot_be_read_are_left_open(tmp_path):
    jar = make_jar(tmp_path / "a.jar", names=(), extra={"cnf/odd.cnf": b"\xff\xfe nothing", "cnf/readme.txt": "x"})
    assert facts(jar, tmp_path).benchmarks == {"odd": ()}


def test_a_jar_that_was_damaged_is_refused(tmp_path):
    """Wherever it is: a table of contents that is whole says nothing of what is packed."""
    jar = tmp_path / "a.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("cnf/fop.cnf", "benchmark fop\n" * 200)
    whole = jar.read_bytes()
    begin = whole.index(b"cnf/fop.cnf") + len("cnf/fop.cnf")
    for damaged in (whole[: len(whole) // 2], whole[:begin] + b"\xff" * 8 + whole[begin + 8 :]):
        jar.write_bytes(damaged)
        with pytest.raises(ConfigError, match="is not a jar .*; was it downloaded whole"):
            facts(jar, tmp_path)


def packed_text(jar, text, *, name="cnf/fop.cnf", method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(jar, "w", method) as made:
        made.writestr(name, text)
    return jar.read_bytes()


def test_no_more_is_unpacked_than_the_table_of_contents_says(tmp_path):
    """64 MiB of blanks that are said to be a hundred bytes: they are not unpacked to find out."""
    jar = tmp_path / "a.jar"
    whole = packed_text(jar, b" " * (64 << 20))
    (size,) = {whole[at : at + 4] for at in (22, whole.index(b"PK\x01\x02") + 24)}
    jar.write_bytes(whole.replace(size, (100).to_bytes(4, "little")))

    tracemalloc.start()
    with pytest.raises(ConfigError, match="is not a jar .*CRC"):
        facts(jar, tmp_path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 8 << 20


@pytest.mark.parametrize(
    ("name", "text", "method", "message"),
    [
        ("META-INF/MANIFEST.MF", b" " * (2 << 20), zipfile.ZIP_DEFLATED, "its manifest has 2,097,152 bytes"),
        ("cnf/fop.cnf", b"size small", zipfile.ZIP_BZIP2, "packed in a way that Java does not know"),
        ("cnf/fop.cnf", b"size small", zipfile.ZIP_LZMA, "packed in a way that Java does not know"),
    ],
)
def test_what_no_jar_holds(tmp_path, name, text, method, message):
    packed_text(tmp_path / "a.jar", text, name=name, method=method)
    with pytest.raises(ConfigError, match=message):
        facts(tmp_path / "a.jar", tmp_path)


@pytest.mark.slow
def test_any_damaged_byte_is_told(tmp_path):
    """Of the table of contents, of a header, of what is packed."""
    jar = make_jar(tmp_path / "a.jar")
    whole = jar.read_bytes()
    for at in range(0, len(whole), 3):
        for byte in (0, 0xFF, whole[at] ^ 0x10):
            jar.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            with suppress(ConfigError):
                facts(jar, tmp_path)


def test_a_place_of_its_data_that_is_none(tmp_path):
    (tmp_path / "nobody").mkdir()
    (tmp_path / "nobody/.dacapo-config.properties").write_bytes(b"Data-Location=a\0b\n")
    jar = make_jar(tmp_path / "dacapo-23.11-chopin.jar", manifest="Implementation-Version: 23.11-chopin\r\n")
    with pytest.raises(ConfigError, match="suite.jar: cannot look for its data"):
        facts(jar, tmp_path)


def test_the_digest_is_of_the_content_alone(tmp_path):
    first = facts(make_jar(tmp_path / "a.jar"), tmp_path)
    assert facts(make_jar(tmp_path / "b.jar"), tmp_path).digest == first.digest
    assert facts(make_jar(tmp_path / "c.jar", extra={"x.class": "1"}), tmp_path).digest != first.digest
    assert facts(make_jar(tmp_path / "d.jar", names=("fop",)), tmp_path).digest != first.digest


CHOPIN = "Implementation-Version: 23.11-chopin\r\n"


def test_data_of_2311_is_beside_the_jar_and_part_of_the_digest(tmp_path):
    jar = make_jar(tmp_path / "dacapo-23.11-chopin.jar", manifest=CHOPIN)
    data = tmp_path / "dacapo-23.11-chopin"
    missing = facts(jar, tmp_path)
    assert (missing.data, missing.data_exists) == (str(data), False)
    (data / "dat/fop").mkdir(parents=True)
    (data / "dat/fop/input").write_text("1234")
    found = facts(jar, tmp_path)
    assert (found.data, found.data_exists) == (str(data), True)
    (data / "dat/fop/input").write_text("12345")
    assert len({facts(jar, tmp_path).digest, found.digest, missing.digest}) == 3


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_data_that_cannot_be_read_is_an_error_and_not_left_out_of_the_digest(tmp_path, monkeypatch, error):
    jar = make_jar(tmp_path / "dacapo-23.11-chopin.jar", manifest=CHOPIN)
    unreadable = tmp_path / "dacapo-23.11-chopin/dat/fop"
    unreadable.mkdir(parents=True)
    real = os.scandir

    def scandir(path="."):
        if os.fspath(path) == str(unreadable):
            error.filename = str(unreadable)
            raise error
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(ConfigError, match=rf"suite.jar: cannot read its data in {unreadable}: {error.strerror}"):
        facts(jar, tmp_path)


def test_evaluation_builds_have_their_data_in_the_jar(tmp_path):
    jar = make_jar(tmp_path / "dacapo.jar", manifest="Implementation-Version: evaluation-git+8b7a2dc\r\n")
    assert (facts(jar, tmp_path).data, facts(jar, tmp_path).data_exists) == (None, True)


@pytest.mark.parametrize("key", ["Data-Location", "Extern-Data-Location"])
@pytest.mark.parametrize("written", ["{key}={path}", "{key} = {path}", "#x\n{key}: {path}\n", "{key}=\\{path}"])
def test_data_of_2311_is_where_dacapo_was_told(tmp_path, key, written):
    jar = make_jar(tmp_path / "dacapo-23.11-chopin.jar", manifest=CHOPIN)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".dacapo-config.properties").write_text(written.format(key=key, path=elsewhere))
    found = jar_facts(jar, config=tmp_path / "layoutrand.toml", home=tmp_path)
    assert (found.data, found.data_exists) == (str(elsewhere), True)


def test_links_are_not_followed_to_the_data(tmp_path):
    """The JVM takes the path that it is given, so the data is beside the link."""
    (tmp_path / "real").mkdir()
    make_jar(tmp_path / "real/dacapo-23.11-chopin.jar", manifest=CHOPIN)
    link = tmp_path / "link.jar"
    link.symlink_to("real/dacapo-23.11-chopin.jar")
    assert facts(link, tmp_path).data == str(tmp_path / "link")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"#!/bin/sh\n"])
def test_what_is_no_jar_is_refused(tmp_path, content):
    jar = tmp_path / "x.jar"
    jar.write_bytes(content)
    with pytest.raises(ConfigError, match=r"suite\.jar: .*x\.jar is not a jar \(.*\); was it downloaded whole\?"):
        facts(jar, tmp_path)


def test_a_jar_that_was_cut_off_in_the_middle_is_refused(tmp_path):
    jar = make_jar(tmp_path / "x.jar")
    jar.write_bytes(jar.read_bytes()[:-30])
    with pytest.raises(ConfigError, match="is not a jar"):
        facts(jar, tmp_path)


def test_a_jar_with_damaged_content_is_refused(tmp_path):
    jar = make_jar(tmp_path / "x.jar")
    data = bytearray(jar.read_bytes())
    data[data.index(b"size small")] ^= 1
    jar.write_bytes(data)
    with pytest.raises(ConfigError, match="is not a jar .*Bad CRC-32"):
        facts(jar, tmp_path)


@pytest.mark.parametrize("kind", ["missing", "directory"])
def test_a_jar_that_cannot_be_read_is_refused(tmp_path, kind):
    jar = tmp_path / "x.jar"
    if kind == "directory":
        jar.mkdir()
    with pytest.raises(ConfigError, match=r"suite\.jar: cannot read .*x\.jar: (No such file|Is a directory)"):
        facts(jar, tmp_path)


def test_a_jar_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jar")
    with pytest.raises(ConfigError, match=r"suite\.jar: cannot read .*pipe\.jar: it is a pipe, not an ordinary file"):
        jar_facts(tmp_path / "pipe.jar", config=tmp_path / "layoutrand.toml")
