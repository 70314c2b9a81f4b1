"""Expand ``@file`` arguments as gcc, GNU ld and lld do (libiberty's rules), recursively.

The linker wrapper also runs this file by its path, with the interpreter alone and nothing of the package imported,
when it meets a response file: the files named inside must be recorded before the compiler driver deletes them.
"""

from __future__ import annotations

import os
import sys

_SPACE = b" \t\n\v\f\r"
_DEPTH = 64
_MOST = 2000  # files in one command line, as in libiberty: one that names itself twice would have no end


def split(text: bytes) -> list[bytes]:
    """The arguments in a response file's text: blanks separate, quotes group, a backslash takes the next byte as is.

    Newer binutils (2.43) and gcc (14) take a backslash inside single quotes literally, and drop one together with the
    newline behind it; what compiler drivers write has neither, unless a file's name has a newline in it.
    """
    arguments: list[bytes] = []
    current = bytearray()
    started = escaped = False
    quote = 0
    for byte in text:
        if escaped:
            current.append(byte)
            escaped = False
        elif byte == 0x5C:
            escaped = started = True
        elif quote:
            if byte == quote:
                quote = 0
            else:
                current.append(byte)
        elif byte in b"'\"":
            quote = byte
            started = True
        elif byte in _SPACE:
            if started:
                arguments.append(bytes(current))
                current.clear()
                started = False
        else:
            current.append(byte)
            started = True
    if started:
        arguments.append(bytes(current))
    return arguments


def expand(arguments: list[bytes]) -> list[bytes]:
    """The arguments with every readable ``@file`` replaced by its contents; an unreadable one stays, as in gcc.

    So does a pipe, which can be read once: that is the linker's turn.
    """
    return _expanded(arguments, 0, [_MOST])


def _expanded(arguments: list[bytes], depth: int, left: list[int]) -> list[bytes]:
    """The same at some depth; ``left`` holds how many more files there may be."""
    result: list[bytes] = []
    for argument in arguments:
        if not argument.startswith(b"@") or depth >= _DEPTH or not left[0] or not os.path.isfile(argument[1:]):
            result.append(argument)
            continue
        try:
            with open(argument[1:], "rb") as file:
                text = file.read()
        except OSError:
            result.append(argument)
        else:
            left[0] -= 1
            result.extend(_expanded(split(text), depth + 1, left))
    return result


def named_files(arguments: list[bytes], own: tuple[bytes, ...], system: tuple[bytes, ...]) -> list[bytes]:
    """The arguments (or what follows an option's ``=``) that are regular files, but not the output.

    Of files below a ``system`` prefix only those below an ``own`` prefix count.
    """
    result = []
    previous = b""
    for argument in arguments:
        name = argument.split(b"=", 1)[1] if argument.startswith(b"-") and b"=" in argument else argument
        is_output = previous in (b"-o", b"--output") or argument.startswith(b"--output=")
        previous = argument
        if is_output:
            continue
        if (name.startswith(own) or not name.startswith(system)) and os.path.isfile(name):
            result.append(name)
    return result


def main(record: str, build_root: str, temporary: str, system: str, arguments: list[str]) -> None:
    """Write the expanded arguments to ``record``/argv and the files they name to ``record``/inputs, NUL after each."""
    expanded = expand([os.fsencode(argument) for argument in arguments])
    own = (os.fsencode(build_root) + b"/", os.fsencode(temporary) + b"/")
    files = named_files(expanded, own, tuple(os.fsencode(system).split(b":")))
    for name, rows in (("argv", expanded), ("inputs", files)):
        with open(os.path.join(record, name), "wb") as file:
            file.write(b"".join(row + b"\0" for row in rows))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
