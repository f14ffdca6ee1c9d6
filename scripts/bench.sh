#!/usr/bin/env bash
# From a bare machine to the main result: sets up, builds, and runs the overview, one row per suite, on the default devices. Prints the paths of
# the measurements and the timeline. Arguments go to `mgpu-bench run`: scripts/bench.sh merkle -d gpu:2 --size 2^24
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

# Shortens ninja's output: progress, in place on a terminal and every 10 % elsewhere; and all errors.
progress() {
  local line count all said=0
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      count=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      if [[ -t 1 ]]; then
        printf '\r\033[Kbuilding: %d of %d' "$count" "$all"
        ((count < all)) || echo
      elif ((10 * count / all > said)); then
        echo "building: $count of $all"
        said=$((10 * count / all))
      fi
    elif [[ $line != "ninja: no work to do." ]]; then
      echo "$line"
    fi
  done
}

"$root/scripts/setup.sh"
(
  cd "$root"
  options=()
  # If scripts/test.sh has configured this folder with the tests, they stay configured: the target below does not build them.
  [[ -f build/release/CMakeCache.txt ]] || options=(-DMGPU_TESTS=OFF)
  cmake --preset release "${options[@]}" >/dev/null
  NINJA_STATUS='[%f/%t] ' cmake --build --preset release --target mgpu-bench -j "$(nproc)" |
    progress
)
bench=$root/build/release/mgpu-bench

# These are environment variables because a flag among the arguments overrides each of them.
export MGPU_BENCH_RESULT=${MGPU_BENCH_RESULT:-$root/mgpu-bench-result.json}
export MGPU_BENCH_TRACE=${MGPU_BENCH_TRACE:-$root/mgpu-bench-trace.json}

"$bench" devices
"$bench" run "$@"
if (($# == 0)); then
  echo
  echo "the program is $bench (--help); a page of these measurements, to be opened or sent as it is:"
  echo "  $root/scripts/setup.sh --pictures && $root/scripts/report_html.py $MGPU_BENCH_RESULT -o mgpu-bench.html"
fi
