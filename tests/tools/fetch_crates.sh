#!/usr/bin/env bash
# Fetch crates that this machine's Debian does not package, such as divan, with all that they depend on: packages of the
# next release are unpacked into a directory of their own, which cargo takes as a source ("directory" in its
# configuration).  Nothing is installed, no root is needed.
#
# usage: fetch_crates.sh DIRECTORY CRATE...      leaves DIRECTORY/registry/CRATE-VERSION
set -euo pipefail
# shellcheck source=tests/tools/other_release.sh
. "$(dirname "$0")/other_release.sh"
[ $# -ge 2 ] || { echo "usage: $0 DIRECTORY CRATE..." >&2; exit 2; }
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
missing=()
for crate in "$@"; do compgen -G "$directory/registry/$crate-[0-9]*" > /dev/null || missing+=("librust-$crate-dev"); done
[ ${#missing[@]} -gt 0 ] || exit 0

mkdir -p "$directory/apt" "$directory/registry"
: > "$directory/apt/status"  # as if nothing were installed, so that whatever a crate depends on is listed
other_release "$directory" "${SUITE:-forky}"
# Of what those packages need crates alone are wanted: not the rustc of that release.
mapfile -t packages < <(apt-get install --yes --no-install-recommends --print-uris "${missing[@]}" |
  sed -nE "s!^'[^']*' (librust-[^_ ]*)_.*!\1!p")
cd "$apt/debs"
apt-get download -qq "${packages[@]}"
for deb in ./*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$directory/registry" --strip-components=5 ./usr/share/cargo/registry; done
cd "$directory"
rm -rf "$apt"
for crate in "$@"; do ls -d "registry/$crate"-[0-9]*; done
