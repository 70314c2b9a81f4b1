#!/bin/sh
# Runs the workloads of inputs/workloads and compares their output with inputs/NAME.out.
#
#     check.sh QS [--update]      --update writes the reference outputs instead
set -eu

qs=$1
mode=${2:-}
inputs=$(dirname "$0")/inputs
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

while read -r name script arguments; do
    case $name in '' | '#'*) continue ;; esac
    # The arguments are separate words.
    # shellcheck disable=SC2086
    if ! "$qs" "$inputs/$script" $arguments >"$out" </dev/null; then
        echo "FAILED  $name: exit status"
        failed=1
    elif [ "$mode" = --update ]; then
        cat "$out" >"$inputs/$name.out"
        echo "wrote   $name.out"
    elif cmp -s "$out" "$inputs/$name.out"; then
        echo "ok      $name"
    else
        echo "FAILED  $name: unexpected output"
        failed=1
    fi
done <"$inputs/workloads"
exit $failed
