#!/usr/bin/env bash
# Tests runs over ranks of MPI on this machine, more of them than CI has time for: 2, 3 and 4 ranks, every suite, ranks killed at 20 random moments
# and at 20 of iterative work (with 2 ranks in that of each suite), with each MPI whose plug-in was built. Takes one or two hours. Works from any
# directory.
# Usage: cluster_test.sh [BINARY]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

binary=${1:-build/release/mgpu-bench}
[[ -x $binary ]] || { echo "cluster_test.sh: $binary is not there; build it, or name another" >&2; exit 2; }
export MGPU_CLUSTER_SUITES=matrix,msm,fisher,pac,tropical,geometric,pipeline
export MGPU_THOROUGH=1 MGPU_KILLS=20 MGPU_KILL_SEED=${MGPU_KILL_SEED:-$RANDOM}
for ranks in 2 3 4; do
  echo "== $ranks ranks"
  MGPU_RANKS=$ranks python3 tests/cli/cluster_test.py "$binary"
done
for suite in lbm tropical pinn; do
  echo "== ranks that are lost in rounds of $suite"
  MGPU_CLUSTER_LOSSES=$suite python3 tests/cli/cluster_test.py "$binary" LossesInRounds
done
