#!/usr/bin/env bash
# What a newcomer does, in a bare system of a release: `make demo` and `make test` as an ordinary user, with the packages
# that README names and no others.  Before that, with nothing installed but make: both must say in one line what to
# install, and that command is what is installed then.
#
# usage: fresh.sh RELEASE [NAME=VALUE ...] [TARGET ...]       (needs root; TARGET: demo and test, unless others are named)
#
# NAME=VALUE is given to make with each target, such as PYTEST=--ignore=tests/stats.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 RELEASE [NAME=VALUE ...] [TARGET ...]" >&2; exit 2; }
release=$1 variables=()
shift
while [[ ${1-} == *=* ]]; do
    variables+=("$1")
    shift
done
targets=("$@")
[ $# -gt 0 ] || targets=(demo test)
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
base=$(mktemp -d /var/tmp/layoutrand-fresh.XXXXXX)
trap 'rm -rf --one-file-system "$base"' EXIT
root=$base/$release

"$here/fresh_root.sh" "$release" "$root" make
mkdir "$root/home/dev/layoutrand"
git -c safe.directory="$checkout" -C "$checkout" ls-files -z --cached --others --exclude-standard |
    tar --create --ignore-failed-read --directory "$checkout" --null --files-from - |
    tar --extract --directory "$root/home/dev/layoutrand" --no-same-owner
"$here/inside.sh" --root "$root" chown -R dev: /home/dev/layoutrand

for target in "${targets[@]}"; do
    status=0
    "$here/inside.sh" "$root" make --no-print-directory -C layoutrand "$target" > "$base/said" 2>&1 || status=$?
    if [ "$status" -ne 2 ] || ! grep -q '^    sudo apt-get install --yes ' "$base/said" || [ "$(wc -l < "$base/said")" -gt 3 ]; then
        echo "fresh.sh: make $target in a $release with make alone must say what to install, and said:" >&2
        cat "$base/said" >&2
        exit 1
    fi
done
mended=$(sed -n 's/^    sudo //p' "$base/said")
named=$(sed -n 's/^sudo apt-get install --yes //p' "$checkout/README.md")
[ "${mended#apt-get install --yes } make" = "$named" ] ||
    { echo "fresh.sh: README says to install '$named', make says '${mended#apt-get install --yes }'" >&2; exit 1; }
# shellcheck disable=SC2086 # several words
"$here/inside.sh" --root "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive "$@" -qq' sh $mended > "$base/installed" 2>&1 ||
    { cat "$base/installed" >&2; exit 1; }
for target in "${targets[@]}"; do
    echo "== $release: make $target"
    "$here/inside.sh" "$root" make -C layoutrand ${variables[@]+"${variables[@]}"} "$target"
done
