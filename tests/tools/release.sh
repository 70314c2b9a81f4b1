#!/usr/bin/env bash
# Make what a release consists of, check it, and stop before anything is uploaded.
#
# usage: release.sh PYTHON [--draft]       PYTHON has build, hatchling, twine and cyclonedx-bom (`make release` sees to it)
#
# Leaves in dist/: sdist, wheel, SBOM (CycloneDX, of the wheel and the libraries it is tested with), notes, SHA256SUMS.
# --draft takes the working tree as it is and the notes under "Unreleased"; without it the tree must be committed and
# CHANGELOG.md must have a section of the version.
set -euo pipefail

die() {
    printf 'release.sh: %s\n' "$1" >&2
    exit 1
}

[ $# -ge 1 ] || { echo "usage: $0 PYTHON [--draft]" >&2; exit 2; }
python=$(realpath -s "$1")
draft=${2-}
case $draft in ''|--draft) ;; *) echo "usage: $0 PYTHON [--draft]" >&2; exit 2 ;; esac
cd "$(dirname "$0")/../.."
unset PYTHONPATH  # what is tried is what was installed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '== %s\n' "$1"; }
git() { command git -c safe.directory="$PWD" "$@"; }

say 'version and notes'
version=$("$python" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
grep -qx "__version__ = \"$version\"" src/layoutrand/version.py || die "version.py has another version than pyproject.toml ($version)"
grep -qx "version: $version" CITATION.cff || die "CITATION.cff has another version than pyproject.toml ($version)"
# shellcheck disable=SC2086 # an option or nothing
"$python" tests/tools/release_notes.py "$version" $draft > "$work/notes.md"
if [ -z "$draft" ] && [ -n "$(git status --porcelain)" ]; then
    git status --short | head -n 10 >&2
    die 'there are changes that are not committed (--draft takes them along)'
fi

say 'sdist and wheel, built twice'
# What is committed, or with --draft what lies here and is not ignored; the time is that of the last commit.
epoch=$(git log -1 --format=%ct)
if [ -z "$draft" ]; then
    git archive HEAD
else
    git ls-files -z --cached --others --exclude-standard | tar --create --ignore-failed-read --null --files-from -
fi > "$work/taken.tar"
build() {  # build NAME UMASK TIMEZONE SEED: from a copy of its own, in another place, under other circumstances
    local tree=$work/$1/tree
    (
        umask "$2"
        mkdir -p "$tree"
        tar --extract --no-same-permissions --directory "$tree" --file "$work/taken.tar"
        # The wheel is made from the sdist, as whoever installs from source does.
        cd "$tree"
        env SOURCE_DATE_EPOCH="$epoch" TZ="$3" LC_ALL=C PYTHONHASHSEED="$4" \
            "$python" -m build --no-isolation --outdir "$work/$1/dist" .
    ) > "$work/$1.log" 2>&1 || { tail -n 20 "$work/$1.log" >&2; die 'the build failed'; }
}
build one 022 UTC 1
build another-with-a-longer-name 027 Asia/Tokyo 2
# What a wheel from the sdist lacks, the sdist lacks.
(cd "$work/one/tree" && env SOURCE_DATE_EPOCH="$epoch" "$python" -m build --no-isolation --wheel --outdir "$work/direct" .) > "$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; die 'the build without sdist failed'; }
cmp "$work"/direct/*.whl "$work"/one/dist/*.whl || die 'the wheel from the sdist is not the wheel from the tree'
for file in "$work"/one/dist/*; do
    cmp "$file" "$work/another-with-a-longer-name/dist/${file##*/}" || die "${file##*/} is not reproducible"
done

say 'metadata'
"$python" -m twine check --strict "$work"/one/dist/* > "$work/twine.log" 2>&1 || { cat "$work/twine.log" >&2; die 'twine finds fault'; }

say 'installed, and what it brings along'
wheel=$(echo "$work"/one/dist/*.whl)
"$python" -m venv "$work/fresh"
"$work/fresh/bin/python" -m pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt "$wheel"
said=$(cd "$work" && fresh/bin/layoutrand --version)
[ "$said" = "layoutrand $version" ] || die "the installed command says '$said'"
(cd "$work" && fresh/bin/python -c 'import layoutrand; layoutrand.load')
# pip itself is no part of what is shipped.
"$work/fresh/bin/python" -m pip uninstall --quiet --yes pip setuptools 2> /dev/null
env SOURCE_DATE_EPOCH="$epoch" "$python" -m cyclonedx_py environment --output-reproducible --pyproject pyproject.toml \
    --mc-type application --output-format JSON --output-file "$work/sbom.json" "$work/fresh/bin/python"
"$python" - "$work/sbom.json" "$version" << 'END'
import json, sys
bom = json.load(open(sys.argv[1]))
names = {each["name"].lower() for each in bom["components"]}
assert {"numpy", "scipy", "pydantic", "typer"} <= names, f"the SBOM lacks libraries: {sorted(names)}"
assert bom["metadata"]["component"]["version"] == sys.argv[2], bom["metadata"]["component"]
END

rm -rf dist
mkdir dist
cp "$work"/one/dist/* dist/
cp "$work/sbom.json" "dist/layoutrand-$version.cdx.json"
cp "$work/notes.md" "dist/layoutrand-$version.notes.md"
(cd dist && sha256sum -- * > "$work/SHA256SUMS" && cp "$work/SHA256SUMS" .)
say 'dist/'
(cd dist && wc --bytes -- * | sed '$d; s/^/   /')
if [ -n "$draft" ]; then
    echo 'A draft: nothing of it is to be published.'
else
    cat << END
Nothing was uploaded.  What is left, by hand:
    git tag --annotate --file dist/layoutrand-$version.notes.md --cleanup=whitespace v$version && git push origin v$version
    twine upload dist/*.whl dist/*.tar.gz
END
fi
