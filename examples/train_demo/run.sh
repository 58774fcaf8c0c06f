#!/bin/sh
# `make demo-train`: four runs of the cpu tier are bound by a frozen plan, trained, evaluated, decided and rendered.
# One process, one core; about a quarter of an hour of processor time. Stopped at any moment, the same command continues it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
build=${BUILD:-build/demo-train}
case $build in /*) ;; *) build=$root/$build ;; esac
tier=${TIER:-cpu}
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive TRL_EXPERIMENTAL_SILENCE=1
mkdir -p "$build"
cd "$build"

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

if [ ! -d frozen/train-demo ]; then
  step '1. Resolve the four runs and freeze a plan that binds their configs.'
  mkdir -p configs
  for seed in 0 1; do
    for arm in paired independent; do
      [ -f "configs/$arm-s$seed.json" ] ||
        run study train --tier "$tier" --condition C2 --arm "$arm" --seed "$seed" --write-config "configs/$arm-s$seed.json"
    done
  done
  python "$here/bind.py" "$here/plan.yaml" configs >plan.yaml
  run prereg freeze plan.yaml --demo-tsa 2>freeze.log || { cat freeze.log; exit 1; }
fi

step '2. Train both arms of both seeds; the first run also makes the warm start that all of them share.'
for seed in 0 1; do
  for arm in paired independent; do
    out=registers/$arm-s$seed
    again=
    [ -f "$out/run.json" ] && again=--resume
    run study train --tier "$tier" --condition C2 --arm "$arm" --seed "$seed" --out "$out" $again \
      --step-zero step0 --study train-demo --index registers/runs.parquet
  done
done
run study status registers

step '3. Decide the frozen rules and render them.'
rm -rf decided
run prereg decide --register registers/runs.parquet --out decided
run prereg render decided/verdicts.json --format html --out decided/outcomes.html
printf '\nPages and curves:\n'
find "$build/decided" "$build/registers" -name '*.html' -o -name 'curves.png'
