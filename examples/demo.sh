#!/bin/sh
# `make demo`: a plan is frozen, stamped, verified and decided, then the published study. PATH holds the venv.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=${BUILD:-build/demo}
case $build in /*) ;; *) build=$root/$build ;; esac
rm -rf "$build"
mkdir -p "$build"
cd "$build"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
run() { printf '$ %s\n' "$*"; "$@"; }

step '1. Freeze a plan. The embedded demo authority stamps it, which proves nothing about time.'
run prereg freeze "$here/small_study/plan.yaml" --demo-tsa 2>freeze.log || { cat freeze.log; exit 1; }
tail -n 1 freeze.log

step '2. Verify digests and tokens, offline.'
run prereg verify-timestamps . --allow-demo

step '3. Draw the episodes from a stated model, then decide the frozen rules on them.'
run python "$here/small_study/draw.py" registers frozen/small-study/plan.yaml
run prereg decide --register registers/runs.parquet --out decided
run prereg render decided/verdicts.json --format html --out decided/outcomes.html

step '4. The published study, decided from its printed figures.'
cd "$root"
run prereg decide --register registers/runs.parquet --out "$build/published"
run prereg render "$build/published/verdicts.json" --format html --out "$build/published/outcomes.html"

if [ -f "$here/scripted_agents/run.sh" ]; then
  step '5. Two scripted agents in the simulator: frozen, played, decided.'
  BUILD=$build sh "$here/scripted_agents/run.sh"
fi

step 'Pages to open:'
find "$build" -name '*.html'
