#!/usr/bin/env bash
# Fetch linkers that are newer than Debian 12's, for tests of what only they can do: GNU ld >= 2.43
# (--section-ordering-file) and lld >= 20 (--randomize-section-padding).  Debian 13's packages are unpacked into a
# directory of their own, together with the C library that they need; nothing is installed, no root is needed.
#
# usage: fetch_new_linkers.sh DIRECTORY      leaves DIRECTORY/ld.bfd-new and DIRECTORY/ld.lld-new
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
directory=$(cd "$1" && pwd)
if [ -x "$directory/ld.bfd-new" ] && [ -x "$directory/ld.lld-new" ]; then exit 0; fi

apt=$directory/apt root=$directory/root
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources" "$apt/debs" "$root"
# The mirror that this machine has its own packages from.
mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | sort | xargs cat |
  sed -nE 's!^(URIs:|deb( \[[^]]*\])?) +(https?://[^ ]*/debian)/?( .*)?$!\3!p' | sed 1q)
[ -n "$mirror" ] || { echo "$0: no Debian mirror in /etc/apt" >&2; exit 1; }
cat > "$apt/sources/debian13.sources" <<END
Types: deb
URIs: $mirror
Suites: trixie
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
cat > "$apt/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/sources";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "";
END
export APT_CONFIG=$apt/apt.conf
apt-get update -qq

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
