#!/usr/bin/env bash
# Install the wheel as users do, with pip, pipx and uvx, in bare systems whose Pythons differ, and use it.
#
# usage: installs.sh [RELEASE ...]      (RELEASE: as for fresh_root.sh, which needs root; none for the Python here)
#
# bookworm has Python 3.11, noble 3.12, trixie 3.13, resolute 3.14.  uv comes from PyPI, pipx too where it is not there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
unset PYTHONPATH  # what is tried is what was installed
work=$(mktemp -d /var/tmp/layoutrand-installs.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT

# hatchling alone builds it: no compiler, and no file of the tree is written.
"${PYTHON:-python3}" -m venv "$work/builder"
"$work/builder/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$checkout/.ci/constraints.txt" build
"$work/builder/bin/python" -m build --wheel --outdir "$work/given" "$checkout" > "$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
cp "$checkout/examples/notebook/quickstart.csv" "$work/given/"
cat > "$work/given/ways.sh" << 'END'
# usage: ways.sh DIRECTORY PYTHON       what a user does, in an empty home; DIRECTORY holds the wheel
set -eu
given=$1 python=$2
wheel=$(echo "$given"/layoutrand-*.whl)
export HOME="$PWD/home" PIP_DISABLE_PIP_VERSION_CHECK=1 PIPX_DEFAULT_PYTHON="$python" UV_PYTHON_DOWNLOADS=never
mkdir -p "$HOME"
# uv has its own names for what pip is told of an index and of certificates.
if [ -n "${PIP_INDEX_URL-}" ]; then export UV_DEFAULT_INDEX="$PIP_INDEX_URL"; fi
if [ -n "${PIP_CERT-}" ]; then export SSL_CERT_FILE="$PIP_CERT"; fi
used() {  # used WAY COMMAND ...: the version, help, and an answer
    way=$1; shift
    "$@" --version > said
    grep -q '^layoutrand [0-9]' said || { echo "$way: --version said: $(cat said)" >&2; exit 1; }
    "$@" --help > said
    grep -q compare said || { echo "$way: --help does not name compare" >&2; exit 1; }
    "$@" compare O2 O3 --import "$given/quickstart.csv" --json > said 2> complaints
    grep -q '"verdict": "equivalent"' said || { echo "$way: no verdict: $(cat said complaints)" >&2; exit 1; }
    echo "   $way: $("$@" --version), $("$python" --version)"
}
"$python" -m venv tools
tools/bin/pip install --quiet pipx uv
"$python" -m venv own
own/bin/pip install --quiet "$wheel"
used 'pip install' own/bin/layoutrand
own/bin/python -c "import layoutrand; print('   library:', [row.verdict for row in layoutrand.load_files('$given/quickstart.csv').compare()])"
PIPX_HOME="$HOME/pipx" PIPX_BIN_DIR="$HOME/bin" tools/bin/pipx install --quiet "$wheel" > pipx.log 2>&1 || { cat pipx.log >&2; exit 1; }
used 'pipx install' "$HOME/bin/layoutrand"
used uvx tools/bin/uvx --quiet --python "$python" --from "$wheel" layoutrand
END

if [ $# -eq 0 ]; then
    mkdir "$work/here"
    python=$(command -v "${PYTHON:-python3}")
    (cd "$work/here" && sh "$work/given/ways.sh" "$work/given" "$python")
fi
for release in "$@"; do
    echo "== $release"
    "$here/fresh_root.sh" "$release" "$work/root" python3 python3-venv
    "$here/inside.sh" --bind "$work/given" /given "$work/root" sh -c 'mkdir try && cd try && sh /given/ways.sh /given /usr/bin/python3'
    rm -rf --one-file-system "$work/root"
done
