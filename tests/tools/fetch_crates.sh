#!/usr/bin/env bash
# Fetch crates that this machine's Debian does not package, such as divan, with all that they depend on: packages of the
# next release are unpacked into a directory of their own, which cargo takes as a source ("directory" in its
# configuration).  Nothing is installed, no root is needed.
#
# usage: fetch_crates.sh DIRECTORY CRATE...      leaves DIRECTORY/registry/CRATE-VERSION
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 DIRECTORY CRATE..." >&2; exit 2; }
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
missing=()
for crate in "$@"; do compgen -G "$directory/registry/$crate-[0-9]*" > /dev/null || missing+=("librust-$crate-dev"); done
[ ${#missing[@]} -gt 0 ] || exit 0

apt=$directory/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources" "$apt/debs" "$directory/registry"
# The mirror that this machine has its own packages from.
mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | sort | xargs cat |
  sed -nE 's!^(URIs:|deb( \[[^]]*\])?) +(https?://[^ ]*/debian)/?( .*)?$!\3!p' | sed 1q)
[ -n "$mirror" ] || { echo "$0: no Debian mirror in /etc/apt" >&2; exit 1; }
cat > "$apt/sources/next.sources" <<END
Types: deb
URIs: $mirror
Suites: ${SUITE:-forky}
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
: > "$apt/status"  # as if nothing were installed, so that whatever a crate depends on is listed
cat > "$apt/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/sources";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::status "$apt/status";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "";
END
export APT_CONFIG=$apt/apt.conf
apt-get update -qq
# Of what those packages need crates alone are wanted: not the rustc of that release.
mapfile -t packages < <(apt-get install --yes --no-install-recommends --print-uris "${missing[@]}" |
  sed -nE "s!^'[^']*' (librust-[^_ ]*)_.*!\1!p")
cd "$apt/debs"
apt-get download -qq "${packages[@]}"
for deb in ./*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$directory/registry" --strip-components=5 ./usr/share/cargo/registry; done
cd "$directory"
rm -rf "$apt"
for crate in "$@"; do ls -d "registry/$crate"-[0-9]*; done
