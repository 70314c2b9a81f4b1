#!/usr/bin/env bash
# The tests of `make test`, and what builds programs, with other versions of the libraries than .ci/constraints.txt has.
#
# usage: versions.sh PYTHON lowest|newest [OPTION OF PYTEST ...]
#
# lowest: what layoutrand needs itself at the oldest versions that pyproject.toml allows (.ci/constraints-lowest.txt),
# and of what only tests need whatever fits those.  newest: everything at today's versions, nothing locked.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 PYTHON lowest|newest [OPTION OF PYTEST ...]" >&2; exit 2; }
python=$1 which=$2
shift 2
cd "$(dirname "$0")/../.."
case $which in
    lowest) chosen=(--constraint .ci/constraints-lowest.txt) ;;
    newest) chosen=(--upgrade --upgrade-strategy eager) ;;
    *) echo "$0: lowest or newest, not $which" >&2; exit 2 ;;
esac
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "${chosen[@]}" -e '.[test]'
echo "$which versions, $("$environment/bin/python" --version): $("$environment/bin/python" -m pip list --format=freeze --disable-pip-version-check |
    grep -iE '^(numpy|scipy|pydantic|typer|click|distributed|submitit|reportlab|psutil)==' | tr '\n' ' ')"
tests/tools/in_memory.sh "$environment/bin/pytest" -n auto --dist worksteal -m "not slow and not perf" "$@"
