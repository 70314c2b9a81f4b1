#!/usr/bin/env bash
# Make a bare system of another release to try things in: what debootstrap calls minbase, an ordinary user `dev` and the
# packages that are named.  The bare system is kept packed, so that the next one takes seconds.
#
# usage: fresh_root.sh RELEASE DIRECTORY [PACKAGE ...]     (needs root)
#
# RELEASE is a release of Debian (bookworm, trixie, sid) or Ubuntu (noble, resolute).  DIRECTORY must not exist; it may
# be removed with `rm -rf --one-file-system` at any time: nothing stays mounted in it.  $LAYOUTRAND_ROOTS is where packed
# systems are kept (~/.cache/layoutrand-roots).
set -euo pipefail

die() {
    printf 'fresh_root.sh: %s\n' "$1" >&2
    exit 1
}

[ $# -ge 2 ] || { echo "usage: $0 RELEASE DIRECTORY [PACKAGE ...]" >&2; exit 2; }
release=$1 root=$2
shift 2
[ "$(id -u)" -eq 0 ] || die 'needs root: another system is entered with chroot'
command -v debootstrap > /dev/null || die 'needs debootstrap: sudo apt-get install debootstrap'
[ ! -e "$root" ] || die "$root exists already"

components=main
case $release in
    bookworm|trixie|forky|sid) distribution=debian script='' ;;
    noble|resolute) distribution=ubuntu script=gutsy components=main,universe ;;
    *) die "which distribution has a release called $release?" ;;
esac
case $distribution in
    debian)
        # The mirror that this machine has its own packages from, if it is a Debian; else debootstrap knows one.
        mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | sort | xargs cat |
            sed -nE 's!^(URIs:|deb( \[[^]]*\])?) +(https?://[^ ]*/debian)/?( .*)?$!\3!p' | sed 1q)
        key=/usr/share/keyrings/debian-archive-keyring.gpg ;;
    ubuntu)
        mirror='' key=/usr/share/keyrings/ubuntu-archive-keyring.gpg ;;
esac
if [ "$script" ] && [ -e "/usr/share/debootstrap/scripts/$script" ]; then
    script=/usr/share/debootstrap/scripts/$script
fi

here=$(cd "$(dirname "$0")" && pwd)
roots=${LAYOUTRAND_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/layoutrand-roots}
mkdir -p "$roots"
packed=$roots/$release.tar
if [ ! -e "$key" ] && [ "$distribution" = ubuntu ]; then
    # Debian 13 has Ubuntu's keys in a package that it signs; Debian 12 has not.
    key=$roots/ubuntu-archive-keyring.gpg
    if [ ! -e "$key" ]; then
        "$0" trixie "$roots/keys.$$" ubuntu-keyring
        cp "$roots/keys.$$/usr/share/keyrings/ubuntu-archive-keyring.gpg" "$key"
        rm -rf --one-file-system "$roots/keys.$$"
    fi
fi
[ -e "$key" ] || die "there are no keys of $distribution: sudo apt-get install $distribution-archive-keyring"

(
    flock 9
    # sid moves every day, and security updates reach the others: a week is how old a packed system gets.
    if [ -z "$(find "$packed" -mtime -7 2> /dev/null)" ]; then
        rm -rf --one-file-system "$roots/$release.new"
        debootstrap --variant=minbase --include=ca-certificates --components="$components" --keyring="$key" \
            "$release" "$roots/$release.new" "$mirror" ${script:+"$script"} > "$roots/$release.log" 2>&1 ||
            { tail -n 5 "$roots/$release.log" >&2; die "debootstrap failed for $release, $roots/$release.log says why"; }
        rm -f "$roots/$release.new"/var/cache/apt/archives/*.deb
        tar --create --numeric-owner --file "$packed.new" --directory "$roots/$release.new" .
        mv "$packed.new" "$packed"
        rm -rf --one-file-system "$roots/$release.new"
    fi
) 9> "$roots/$release.lock"

mkdir -p "$root"
tar --extract --numeric-owner --file "$packed" --directory "$root"
# The network as it is here: names, and certificates that this machine trusts beside the public ones.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
fi
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"  # no package starts a service
chmod 755 "$root/usr/sbin/policy-rc.d"
# A mirror may be a snapshot that is older than its promise.
printf 'APT::Install-Recommends "false";\nAcquire::Retries "3";\nAcquire::Check-Valid-Until "false";\n' > "$root/etc/apt/apt.conf.d/90fresh"
"$here/inside.sh" --root "$root" sh -c 'id dev > /dev/null 2>&1 || useradd --create-home --shell /bin/bash dev'
if [ $# -gt 0 ]; then
    "$here/inside.sh" --root "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"' \
        sh "$@" > "$root/var/log/fresh_root.log" 2>&1 || { tail -n 5 "$root/var/log/fresh_root.log" >&2; die "cannot install $*"; }
fi
