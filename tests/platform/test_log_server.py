"""What processes write to a socket, each by its own connection, and that none is ended that is not known to be one of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from layoutrand.platform.log_server import LogServer, end_writer


def test_each_connection_has_a_number_and_an_end():
    with LogServer() as server:
        host, port = server.address.split(":")
        first, second = (socket.create_connection((host, int(port))) for _ in range(2))
        pieces = server.pieces(lambda: True)
        first.sendall(b"one")
        second.sendall(b"two")
        found = dict([next(pieces), next(pieces)])
        assert sorted(found.values()) == [b"one", b"two"]
        first.sendall(b"more")
        first.close()
        number = next(key for key, piece in found.items() if piece == b"one")
        assert [next(pieces), next(pieces)] == [(number, b"more"), (number, b"")]
        assert list(pieces) == []  # the other one is open, and says nothing more
        second.close()


def test_a_process_is_ended_only_where_its_words_have_the_mark():
    words = [sys.executable, "-c", "import time; time.sleep(60)", "--log-socket=127.0.0.1:4711"]
    with subprocess.Popen(words) as process:
        while b"4711" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            assert process.poll() is None
        assert not end_writer(process.pid, "127.0.0.1:4712")
        assert not end_writer(os.getpid(), "127.0.0.1:4711")
        assert process.poll() is None
        assert end_writer(process.pid, "127.0.0.1:4711")
        assert process.wait(10) == -9
    assert not end_writer(process.pid, "127.0.0.1:4711")
