#!/usr/bin/env bash
# Measures the cost of messages between ranks on this machine, with each MPI whose plug-in was built: prints a table and writes
# OUT/messages-MPI.json for each. Needs a build with -DMGPU_BENCHMARKS=ON. Works from any directory.
# Usage: cluster_bench.sh [--quick] [BUILD [OUT]]
set -euo pipefail

quick=()
if [[ ${1:-} == --quick ]]; then quick=(--quick); shift; fi
build=${1:-$(dirname -- "${BASH_SOURCE[0]}")/../build/release} out=${2:-}
program=$build/mgpu-cluster-bench
[[ -x $program ]] || { echo "cluster_bench.sh: $program is not there; build it with -DMGPU_BENCHMARKS=ON, or name another folder" >&2; exit 2; }
# Open MPI requires this if everything runs as root, as in containers.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Each rank has a CPU of one core: results do not depend on this, costs do.
export POCL_DEVICES=${POCL_DEVICES:-"pthread pthread"} POCL_MAX_PTHREAD_COUNT=${POCL_MAX_PTHREAD_COUNT:-1}
ran=0
for mpi in openmpi mpich; do
  [[ -e $build/mgpu-bench-$mpi.so ]] || continue
  case $mpi in
    openmpi) launcher=(mpirun.openmpi --oversubscribe --bind-to none) ;;
    mpich) launcher=(mpiexec.hydra) ;;
  esac
  type -P "${launcher[0]}" > /dev/null || continue
  "${launcher[@]}" -n 2 "$program" "${quick[@]}" ${out:+--json "$out/messages-$mpi.json"}
  ran=1
done
((ran)) || { echo "cluster_bench.sh: no plug-in of an MPI in $build, or no launcher for it" >&2; exit 2; }
