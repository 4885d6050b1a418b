#!/bin/sh
# Runs every fuzz target of a build folder for some seconds each: run.sh FOLDER SECONDS.
# Finds are kept in FOLDER/corpus/<target>; an input that breaks something, in FOLDER/crashes/.
set -eu
folder=$1
seconds=$2
mkdir -p "$folder/crashes"
failed=0
for program in "$folder"/tests/fuzz/fuzz_*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        target=$(basename "$program")
        target=${target#fuzz_}
        mkdir -p "$folder/corpus/$target"
        log=$folder/fuzz_$target.log
        if UBSAN_OPTIONS=print_stacktrace=1 "$program" -max_total_time="$seconds" -timeout=20 \
                -rss_limit_mb=2048 -print_final_stats=1 \
                -artifact_prefix="$folder/crashes/$target-" \
                "$folder/corpus/$target" "tests/corpus/$target" >"$log" 2>&1; then
                runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
                echo "fuzz $target: ok, $runs runs in $seconds s"
        else
                failed=$((failed + 1))
                grep -v '^#[0-9]' "$log" | tail -n 40
                echo "fuzz $target: FAILED; the input is in $folder/crashes/, all output in $log"
        fi
done
echo "fuzz: $failed targets failed"
[ "$failed" = 0 ]
