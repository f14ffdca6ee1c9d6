#!/usr/bin/env bash
# From a bare machine to the main result: sets up, builds, and measures every suite under every strategy in both modes on the default
# devices (all GPUs; without one, the cores of the CPU with --quick). Prints tables, and says where the measurements and the timeline are.
# Arguments go to `mgpu-bench run` and win: scripts/bench.sh merkle -d gpu:2 --size 2^24
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/setup.sh"
(
  cd "$root"
  options=()
  # Once scripts/test.sh has configured this folder with the tests, it stays so: the target below leaves them alone anyway.
  [[ -f build/release/CMakeCache.txt ]] || options=(-DMGPU_TESTS=OFF)
  cmake --preset release "${options[@]}" >/dev/null
  cmake --build --preset release --target mgpu-bench
)
bench=$root/build/release/mgpu-bench

# Through the environment: a flag among the arguments wins over each of these.
export MGPU_BENCH_STRATEGY=${MGPU_BENCH_STRATEGY:-all}
export MGPU_BENCH_MODE=${MGPU_BENCH_MODE:-both}
export MGPU_BENCH_RESULT=${MGPU_BENCH_RESULT:-$root/mgpu-bench-result.json}
export MGPU_BENCH_TRACE=${MGPU_BENCH_TRACE:-$root/mgpu-bench-trace.json}
if [[ -z ${MGPU_BENCH_QUICK:-} ]]; then
  devices=$("$bench" devices --json)
  MGPU_BENCH_QUICK=$(python3 -c 'import json, sys
print("false" if any(d["type"] == "gpu" for d in json.load(sys.stdin)["devices"]) else "true")' <<<"$devices")
  export MGPU_BENCH_QUICK
fi

"$bench" devices
exec "$bench" run "$@"
