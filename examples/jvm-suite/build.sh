#!/bin/sh
# Makes jvm-suite.jar beside this script (or the file named) with javac and jar of JDK 17 or later; needs the packages of
# setup.sh.
set -eu
target=${1:-}
case $target in '' | /*) ;; *) target=$PWD/$target ;; esac
cd "$(dirname "$0")"
target=${target:-$PWD/jvm-suite.jar}
./setup.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
classes=$work/classes
mkdir "$classes"
path=$(sed -n 's|^[^#][^ ]*  *|/usr/share/java/|p' packages | paste -s -d : -)

find harness -name '*.java' > "$work/harness"
find workloads/suite -name '*.java' > "$work/workloads"
javac --release 17 -d "$classes" "@$work/harness"
javac --release 17 -nowarn -d "$classes/workloads" -cp "$classes:$path" "@$work/workloads"
cp workloads/resources/* "$classes/workloads"
cp -R cnf packages suite.properties "$classes"
cat > "$work/manifest" <<END
Main-Class: Harness
Specification-Title: jvm-suite
Implementation-Version: $(sed -n 's/^version=//p' suite.properties)
END
jar --create --file "$target" --manifest "$work/manifest" -C "$classes" .
