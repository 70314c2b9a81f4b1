"""Links as recorded: what is read back."""

import io
import os
import tarfile

import pytest

from layoutrand.capture.records import read_record, read_records


def record(folder, name, *, argv=(b"-o", b"prog", b"a.o"), cwd=b"/build", files=None, complete=1):
    """A record as the linker wrapper writes it; ``complete`` is its time in seconds, or None."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "linker").write_bytes(b"/usr/bin/ld")
    (path / "argv").write_bytes(b"".join(word + b"\0" for word in argv))
    (path / "cwd").write_bytes(cwd + b"\n")
    (path / "environment").write_bytes(b"LD_RUN_PATH=a=b\nc\0GNUTARGET\0LDEMULATION=\0")
    with tarfile.open(path / "inputs.tar", "w", encoding="utf-8", errors="surrogateescape") as archive:
        for inside, content in (files or {}).items():
            member = tarfile.TarInfo(inside)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    if complete is not None:
        (path / "complete").write_bytes(b"")
        os.utime(path / "complete", (complete, complete))
    return path


def test_a_record_is_read_back(tmp_path):
    """Linker, arguments, directory and environment come out as they were."""
    found = read_record(record(tmp_path, "1.0", argv=(b"-o", b"the prog", b"", b"caf\xe9.o"), cwd=b"/a b/c\n"))

    assert (found.linker, found.argv, found.cwd) == ("/usr/bin/ld", ("-o", "the prog", "", "caf\udce9.o"), "/a b/c\n")
    assert found.environment == {"LD_RUN_PATH": "a=b\nc", "LDEMULATION": ""}
    assert found.output() == "/a b/c\n/the prog"


@pytest.mark.parametrize(
    ("argv", "output"),
    [
        ((b"-o", b"/abs/prog"), "/abs/prog"),
        ((b"-o", b"../prog"), "/prog"),
        ((b"a.o",), "/build/a.out"),
        ((b"-oprog",), "/build/prog"),
    ],
)
def test_the_output_is_absolute(tmp_path, argv, output):
    """Whatever form the command line names it in."""
    assert read_record(record(tmp_path, "1.0", argv=argv)).output() == output


def test_inputs_are_known_by_their_absolute_path(tmp_path):
    """Relative names are seen from the link's directory; long and strange ones survive."""
    strange = os.fsdecode(b"x" * 150 + b"/caf\xe9\n.o")
    found = read_record(
        record(tmp_path, "1.0", files={"a.o": b"1", "../b.o": b"2", "/c/./d.o": b"3", strange: b"4", "empty.o": b""})
    )

    assert found.inputs() == {
        "/build/a.o": b"1",
        "/b.o": b"2",
        "/c/d.o": b"3",
        f"/build/{strange}": b"4",
        "/build/empty.o": b"",
    }


def test_records_come_oldest_first(tmp_path):
    """The order is that in which the links were recorded, not that of process numbers."""
    for name, at in (("900.0", 30), ("1000.0", 10), ("1000.1", 20)):
        record(tmp_path / "rec", name, argv=(name.encode(),), complete=at)

    assert [found.argv[0] for found in read_records(tmp_path / "rec")] == ["1000.0", "1000.1", "900.0"]


def test_a_record_that_was_not_completed_is_passed_over(tmp_path):
    """A link that was killed half-way leaves nothing that counts."""
    record(tmp_path / "rec", "1.0", complete=None)
    record(tmp_path / "rec", "2.0")

    assert len(read_records(tmp_path / "rec")) == 1


def test_no_links_are_no_records(tmp_path):
    """An empty directory has none."""
    assert read_records(tmp_path) == []
