"""Hand a recorded link to the helper (`layoutrand.platform.helper`) and end with its status.

The linker wrapper executes this file by its path as its last step, with the interpreter alone: starting all of
layoutrand would cost more than the links it is for.  What must happen in the build's own process happens here: the
result is renamed into its place, so that what watches this process (fakeroot, a tracer) sees a file replaced.
"""

from __future__ import annotations

import _socket  # socket itself takes as long to import as the interpreter takes to start
import os
import sys

PLACE, STATUS, ALONE = b"P", b"S", b"A"
"""What the helper says: rename this to that; end with this status; do the whole work in this process."""

DONE = b"D"
_LONGEST = 1 << 16


def main(record: str, order: str) -> int:
    """The exit status of the link recorded in ``record``; the helper listens beside ``order``."""
    while os.open(os.devnull, os.O_RDWR) <= 2:  # where the build closed its streams, a socket would be taken for one
        pass
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        os.chdir(os.path.dirname(order))  # a socket's path must be short
        connection.connect("helper")
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, (2).to_bytes(4, sys.byteorder))
        connection.sendmsg([os.fsencode(record)], [rights])
        while True:
            said = connection.recv(_LONGEST)
            if said[:1] == STATUS:
                return int(said[1:])
            if said[:1] == ALONE:
                python = [sys.executable, "-I", "-X", "utf8", "-m", "layoutrand", "relink-record", record, order]
                os.execv(python[0], python)  # noqa: S606 - our own interpreter
            if said[:1] != PLACE:
                return _failed("it ended before the link was laid out")
            connection.send(_place(*said[1:].split(b"\0")))
    except OSError as error:
        return _failed(error.strerror or str(error))


def _place(temporary: bytes, target: bytes) -> bytes:
    """The answer to being told to rename."""
    try:
        os.replace(temporary, target)
    except OSError as error:
        return b"%d" % (error.errno or 0)
    return DONE


def _failed(why: str) -> int:
    message = f"layoutrand: the layoutrand that started this build cannot be asked to lay out this link: {why}\n"
    os.write(2, message.encode())
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
