#!/usr/bin/env bash
# What has to pass before a change is merged, and all that CI runs: the release build with its tests, and the unit tests under the
# address, undefined-behaviour and thread sanitizers, where they find most and are therefore compiled only there. Works from any directory.
# Usage: test.sh [--thorough]
# Without --thorough this is the quick tier: every suite, command, option, refusal and kind of fault at least once. With it, for before a
# release, all tests: also what repeats those in other shapes, element types, sizes, numbers of devices and moments. Tests read
# MGPU_THOROUGH=1 from the environment (tests/support/thorough.hpp, tests/cli/binary.py).
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

case "$#:${1-}" in
  0:)
    unset MGPU_THOROUGH ;;
  1:--thorough)
    export MGPU_THOROUGH=1 ;;
  *)
    echo "usage: scripts/test.sh [--thorough]" >&2
    exit 2 ;;
esac

scripts/setup.sh --tests

echo "== release: property, OpenCL and command-line tests"
cmake --preset release -DMGPU_TESTS=ON -DMGPU_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target mgpu-bench property_tests suite_tests opencl_tests layer_tests
ctest --preset release -E '^(unit|microbench|cluster)_'

# The sanitizers are built for the tests that need no OpenCL: drivers are not instrumented, and their reports are not ours to mend.
# ThreadSanitizer of clang before 18, and of g++ before 14, dies at start under 32 random bits of address layout, the default of newer
# kernels: without any.
without_aslr=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  without_aslr=(setarch "$(uname -m)" -R)
fi
for preset in asan tsan; do
  echo "== $preset: unit tests"
  # Without line numbers, a fifth of what there is to compile: reports name functions, and the preset alone has the lines.
  cmake --preset $preset -DCMAKE_CXX_FLAGS_DEBUG=-O0 >/dev/null
  cmake --build --preset $preset --target unit_tests
  "${without_aslr[@]}" ctest --preset $preset -R '^unit_'
done
echo "== all passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
