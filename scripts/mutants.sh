#!/usr/bin/env bash
# Mutates deed-core and holds the result to two promises: at least 90 % of the mutants are caught, and
# every survivor is explained in server/core/mutants.md (by its name without line and column, which
# move with every edit). Options are passed on to cargo-mutants.
set -euo pipefail
cd "$(dirname "$0")/.."

LEAST_PERCENT=90
EXPLAINED=server/core/mutants.md
OUT=${CARGO_TARGET_DIR:-target}/mutants
mkdir -p "$OUT"

status=0
cargo mutants --package deed-core --output "$OUT" "$@" || status=$?
# 2: some were missed, 3: some timed out. Anything else says that there is no result to judge.
if [[ $status -ne 0 && $status -ne 2 && $status -ne 3 ]]; then
    echo "mutants: cargo-mutants ended with $status; its logs are in $OUT/mutants.out" >&2
    exit "$status"
fi

result=$OUT/mutants.out
missed=$(wc -l <"$result/missed.txt")
caught=$(cat "$result/caught.txt" "$result/timeout.txt" | wc -l)
total=$((caught + missed))
[[ $total -gt 0 ]] || { echo "mutants: none were tried" >&2; exit 1; }
percent=$((caught * 100 / total))

unexplained=0
while IFS= read -r line; do
    # server/core/src/decide.rs:10:5: replace f -> bool with true
    name=$(sed -E 's/^([^:]+):[0-9]+:[0-9]+: /\1: /' <<<"$line")
    grep -qF -- "$name" "$EXPLAINED" && continue
    echo "mutants: survivor without an explanation in $EXPLAINED: $name" >&2
    unexplained=$((unexplained + 1))
done <"$result/missed.txt"

echo "mutants: $caught of $total caught ($percent %), $missed survived, $unexplained of them unexplained"
[[ $percent -ge $LEAST_PERCENT && $unexplained -eq 0 ]]
