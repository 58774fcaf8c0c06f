#!/bin/sh
# The two scripted agents: a plan is frozen, the episodes are played, the plan is decided. Called by `make demo`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-build/demo}/scripted
rm -rf "$build"
mkdir -p "$build"
cd "$build"

run() { printf '$ %s\n' "$*"; "$@"; }
play() { run study evaluate "$@" --plan frozen/scripted-agents/plan.yaml --out registers; }

run prereg freeze "$here/plan.yaml" --demo-tsa 2>freeze.log || { cat freeze.log; exit 1; }
for seed in 0 1 2; do
  for agent in recovering naive; do
    play --policy $agent --regime clean --regime faults_p25 --pool test --tasks 200 --condition agents --seed $seed
  done
  for arm in paired independent; do
    play --policy recovering --regime grader_flips --pool validation --tasks 150 --schedules 3 --group-size 8 --arm $arm --condition flips --seed $seed
  done
done
run prereg decide --register registers/runs.parquet --out decided
run prereg render decided/verdicts.json --format html --out decided/outcomes.html
printf '\nOne of the failures, call by call:\n'
run study play --pool test --task 3 --regime faults_p25 --policy naive
