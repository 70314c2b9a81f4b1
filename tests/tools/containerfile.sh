#!/usr/bin/env bash
# Do what Containerfile says in a bare system of the release that it names, without a container engine, and execute the
# commands that are given in it, as its user and in its directory.
#
# usage: containerfile.sh [COMMAND ...]     (needs root; each COMMAND is one word for `sh -c`; default: layoutrand --help)
#
# It knows FROM of a Debian, RUN, COPY of everything, USER, ENV of one variable, WORKDIR, ENTRYPOINT and CMD; another
# instruction is an error.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
die() { printf 'containerfile.sh: %s\n' "$1" >&2; exit 1; }

base=$(mktemp -d /var/tmp/layoutrand-container.XXXXXX)
trap 'rm -rf --one-file-system "$base"' EXIT
root=$base/root
user=root directory=/ entry='' command=''
variables=()

inside() {  # as the user of now, in the directory of now, with the variables of now
    # Installing certificates has replaced those that this machine's network needs (fresh_root.sh).
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    fi
    local become=("$here/inside.sh" --root "$root" env "${variables[@]}")
    if [ "$user" = root ]; then "${become[@]}" sh -c "cd '$directory' && $1"
    else "${become[@]}" setpriv --reuid "$user" --regid "$user" --init-groups env "HOME=/home/$user" sh -c "cd '$directory' && $1"
    fi
}

mapfile -t instructions < <(sed -e '/^ *#/d' -e '/^ *$/d' "$checkout/Containerfile" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}')
for line in "${instructions[@]}"; do
    rest=${line#* }
    case $line in
        'FROM '*) release=${rest##*:}; "$here/fresh_root.sh" "${release%-slim}" "$root" ;;
        'COPY . '*)
            target=$root${rest#. }
            mkdir -p "$target"
            git -c safe.directory="$checkout" -C "$checkout" ls-files -z --cached --others --exclude-standard |
                grep -zv '^tests/' | tar --create --ignore-failed-read --directory "$checkout" --null --files-from - |
                tar --extract --directory "$target" --no-same-owner ;;
        'RUN '*) inside "$rest" > "$base/said" 2>&1 || { tail -n 20 "$base/said" >&2; die "failed: $rest"; } ;;
        'USER '*) user=$rest ;;
        'ENV '*) variables+=("$rest") ;;
        'WORKDIR '*) directory=$rest; mkdir -p "$root$rest" ;;
        'ENTRYPOINT '*) entry=$(printf '%s' "$rest" | tr -d '[],"') ;;
        'CMD '*) command=$(printf '%s' "$rest" | tr -d '[],"') ;;
        *) die "what is this? $line" ;;
    esac
done
[ $# -gt 0 ] || set -- "$entry $command"
for each in "$@"; do
    echo "== $each"
    inside "$each"
done
