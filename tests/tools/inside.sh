#!/usr/bin/env bash
# Execute a command in a system that fresh_root.sh made, as its ordinary user `dev` in that user's home directory, with
# /proc, /dev and /sys there for as long as it takes.  The exit status is the command's.
#
# usage: inside.sh [--root] [--bind FROM TO] DIRECTORY COMMAND [WORD ...]     (needs root)
#
# --root executes it as root; --bind shows a directory of this machine, which can be written, at a path in there.
set -euo pipefail

user=dev home=/home/dev binds=()
while :; do
    case ${1-} in
        --root) user=root home=/root; shift ;;
        --bind) binds+=("$2" "$3"); shift 3 ;;
        *) break ;;
    esac
done
[ $# -ge 2 ] || { echo "usage: $0 [--root] [--bind FROM TO] DIRECTORY COMMAND [WORD ...]" >&2; exit 2; }
root=$(cd "$1" && pwd)
shift
# Of this machine's environment only how packages are got: the rest is what a login gives.
kept=()
for name in http_proxy https_proxy no_proxy PIP_CERT PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
    if [ -n "${!name-}" ]; then kept+=("$name=${!name}"); fi
done
export INSIDE_ROOT=$root INSIDE_USER=$user INSIDE_HOME=$home
# A mount namespace and a process namespace of its own: with the command everything in there ends, and nothing stays
# mounted.
# shellcheck disable=SC2016 # the inner shell expands
exec unshare --mount --pid --fork --kill-child --mount-proc bash -euo pipefail -c '
    mount --make-rprivate /
    count=$1; shift
    mount --bind "$INSIDE_ROOT" "$INSIDE_ROOT"
    cd "$INSIDE_ROOT"
    while [ "$count" -gt 0 ]; do
        mkdir -p "./$2"
        mount --bind "$1" "./$2"
        shift 2
        count=$((count - 2))
    done
    mount -t proc proc ./proc
    mount --rbind /dev ./dev
    mount --rbind /sys ./sys
    exec chroot --userspec="$INSIDE_USER" . env -i "HOME=$INSIDE_HOME" "USER=$INSIDE_USER" "LOGNAME=$INSIDE_USER" \
        SHELL=/bin/bash LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        "$@"
' inside "${#binds[@]}" "${binds[@]}" "${kept[@]}" sh -c 'cd && exec "$@"' sh "$@"
