#!/usr/bin/env bash
# Runs everything that must pass before a change is merged. Installs missing packages, builds, and
# tests. Works from any directory.
# Usage: test.sh [--sanitizers | --thorough]
#   (without)     the release build and the quick tier of its tests: every suite, command, option,
#                 refusal and kind of fault once
#   --sanitizers  the unit tests under the address and undefined-behaviour sanitizers, and those of
#                 threads under the thread sanitizer; the profiling layer under both
#   --thorough    before a release: both, with all tests in other shapes, types, sizes and numbers
#                 of devices (tests read MGPU_THOROUGH=1), microbenchmarks, the overview on every
#                 OpenCL implementation that is installed, and build and overview on Debian 13
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

case "$#:${1-}" in
  0: | 1:--sanitizers | 1:--thorough) what=${1-} ;;
  *)
    echo "usage: scripts/test.sh [--sanitizers | --thorough]" >&2
    exit 2
    ;;
esac

scripts/setup.sh --tests
# Ninja would start two units more than there are cores, which takes a tenth longer.
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
# Warnings are errors in CI, never for users: their compilers may have other warnings.
werror=(-DMGPU_WERROR="${CI:+ON}")
# Runs two tests at once per two cores, plus one of those that wait (tests/CMakeLists.txt:
# PROCESSORS).
run_tests() {
  ctest --test-dir "build/$1" --output-on-failure --no-tests=error -j "$((2 * $(nproc) + 1))" \
    "${@:2}"
}

test_release() {
  echo "== release: unit, property, OpenCL and command-line tests"
  cmake --preset release "${werror[@]}" -DMGPU_TESTS=ON -DMGPU_BENCHMARKS=ON >/dev/null
  if [[ $what == --thorough ]]; then
    export MGPU_THOROUGH=1
    cmake --build --preset release
    run_tests release
    echo "== other OpenCL implementations"
    tests/implementations.sh build/release/mgpu-bench
  else
    unset MGPU_THOROUGH
    cmake --build --preset release --target test_programs
    run_tests release -LE thorough
  fi
}

# Runs only unit tests, which need no OpenCL: drivers are not instrumented, and this project cannot
# fix what sanitizers report about them. But the profiling layer is for the programs of others.
test_sanitizers() {
  # ThreadSanitizer of clang before 18, and of g++ before 14, dies at start with 32 random bits of
  # address layout, the default of newer kernels; it therefore runs without randomisation.
  local without_aslr=()
  if setarch "$(uname -m)" -R true 2>/dev/null; then
    without_aslr=(setarch "$(uname -m)" -R)
  fi
  for preset in asan tsan; do
    echo "== $preset: unit tests"
    # Without line numbers, a fifth of what there is to compile: reports name functions, and the
    # preset alone has the lines.
    cmake --preset $preset "${werror[@]}" -DCMAKE_CXX_FLAGS_DEBUG=-O0 >/dev/null
    cmake --build --preset $preset --target unit_tests profile_layer_tests
    "${without_aslr[@]}" bash -c "$(declare -f run_tests); run_tests $preset -R '^unit_|^profile_layer'"
  done
}

[[ $what == --sanitizers ]] || test_release
[[ -z $what ]] || test_sanitizers
if [[ $what == --thorough ]]; then
  echo "== Debian 13: the documented build; PoCL 6, rusticl, and both in one set"
  scripts/ci/on_debian.sh trixie "scripts/setup.sh && cmake --preset release -DMGPU_TESTS=OFF &&
    cmake --build --preset release && apt-get install -y -qq --no-install-recommends \
    pocl-opencl-icd mesa-opencl-icd && tests/implementations.sh"
fi
echo "== all passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
