#!/usr/bin/env bash
# Fetch linkers that are newer than Debian 12's, for tests of what only they can do: GNU ld >= 2.43
# (--section-ordering-file) and lld >= 20 (--randomize-section-padding).  Debian 13's packages are unpacked into a
# directory of their own, together with the C library that they need; nothing is installed, no root is needed.
#
# usage: fetch_new_linkers.sh DIRECTORY      leaves DIRECTORY/ld.bfd-new and DIRECTORY/ld.lld-new
set -euo pipefail
# shellcheck source=tests/tools/other_release.sh
. "$(dirname "$0")/other_release.sh"
[ $# -eq 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
directory=$(cd "$1" && pwd)
if [ -x "$directory/ld.bfd-new" ] && [ -x "$directory/ld.lld-new" ]; then exit 0; fi

root=$directory/root
mkdir -p "$root"
other_release "$directory" trixie

# The newest lld of that release, and all that the two linkers need to run.
lld=$(apt-cache pkgnames lld- | grep -E '^lld-[0-9]+$' | sort -t- -k2 -n | while read -r name; do
  if [[ $(apt-cache policy "$name") == *"Candidate: "[0-9]* ]]; then echo "$name"; fi; done | tail -n 1)
mapfile -t packages < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances --no-pre-depends --important binutils-x86-64-linux-gnu "$lld" | grep -E '^(lib|zlib)' | sort -u)
packages+=(binutils-x86-64-linux-gnu "$lld")
cd "$apt/debs"
# One by one: some of the names are virtual, and what is missing shows at the end.
for package in "${packages[@]}"; do apt-get download -qq "$package" 2> /dev/null || true; done
for deb in ./*.deb; do dpkg-deb -x "$deb" "$root"; done
cd "$directory"
rm -rf "$apt"

loader=$(find "$root" -name 'ld-linux-x86-64.so.2' -print -quit)
libraries=$(find "$root" -name '*.so*' -path '*x86_64-linux-gnu*' -printf '%h\n' | sort -u | tr '\n' ':')
wrap() {  # wrap NAME PROGRAM ARGV0
  printf '#!/bin/sh\nexec "%s" --argv0 "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$3" "$libraries" "$2" > "$directory/$1"
  chmod +x "$directory/$1"
  "$directory/$1" --version | head -n 1
}
wrap ld.bfd-new "$root/usr/bin/x86_64-linux-gnu-ld.bfd" ld.bfd
wrap ld.lld-new "$root/usr/lib/llvm-${lld#lld-}/bin/lld" ld.lld
