#!/bin/sh
# Says which Debian packages jvm-suite needs and lacks; with --install, installs them (as root, or through sudo).
set -eu
cd "$(dirname "$0")"
mode=${1:-}
missing=
need() { # PACKAGE TEST...
    package=$1
    shift
    case " $missing " in *" $package "*) return ;; esac
    "$@" > /dev/null 2>&1 || missing="$missing $package"
}
while read -r package jar; do
    case $package in '#'*) continue ;; esac
    need "$package" test -e "/usr/share/java/$jar"
done < packages
need openjdk-17-jdk-headless command -v javac
need openjdk-17-jdk-headless command -v jar
[ -n "$missing" ] || exit 0

# shellcheck disable=SC2086 # several words, on purpose
set -- apt-get install --yes --no-install-recommends $missing
if [ "$mode" = --install ]; then
    if [ "$(id -u)" -ne 0 ]; then set -- sudo "$@"; fi
    exec "$@"
fi
echo "jvm-suite needs packages that are not installed; run: $*" >&2
exit 1
