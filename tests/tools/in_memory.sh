#!/usr/bin/env bash
# Execute tests with a temporary directory in memory, where there is enough of it: they make and remove a million small
# files, which take a third of their time where a disk has to write them down.  What failed tests left is kept, and said.
#
# usage: in_memory.sh COMMAND [WORD ...]       ($TMPDIR, where it is set, is what is used)
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 COMMAND [WORD ...]" >&2; exit 2; }
memory=/dev/shm wanted_kb=$((4 * 1024 * 1024))

available() {  # in kB; nothing where that is no directory for programs
    [ -d "$memory" ] && [ -w "$memory" ] || return 0
    local probe
    probe=$(mktemp "$memory/t.XXXX") || return 0
    printf '#!/bin/sh\n' > "$probe" && chmod 700 "$probe"
    # Containers have 64 MB there as a rule, and forbid programs.
    if "$probe" 2> /dev/null; then
        { df --output=avail "$memory" | tail -n 1; sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo; } | sort -n | head -n 1
    fi
    rm -f "$probe"
}

if [ -n "${TMPDIR-}" ]; then exec "$@"; fi
kb=$(available)
if [ "${kb:-0}" -lt "$wanted_kb" ]; then
    echo "tests write to ${TMPDIR:-/tmp}: $memory is not there, forbids programs, or has less than $((wanted_kb / 1024)) MB left" >&2
    exec "$@"
fi
# Short: a socket's path has at most 107 characters.
TMPDIR=$(mktemp -d "$memory/t.XXXX")
chmod 1777 "$TMPDIR"  # as of any directory for temporary files: some tests are another user
export TMPDIR PYTEST_ADDOPTS="--basetemp=$TMPDIR/b ${PYTEST_ADDOPTS-}"
# shellcheck disable=SC2317 # what EXIT calls
ended() {
    local status=$?
    if [ "$status" -eq 1 ]; then  # a test failed, as pytest says it; else it passed, or was stopped
        echo "what failed tests wrote is in $TMPDIR, which is memory: rm -r $TMPDIR" >&2
    else
        chmod -R u+rwX "$TMPDIR" || :  # tests take permissions away; of what is left all the same, rm tells
        rm -rf --one-file-system "$TMPDIR"
    fi
}
trap ended EXIT
"$@"
