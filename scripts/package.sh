#!/usr/bin/env bash
# Makes the Debian packages in build/release/packages: mgpu-bench_*.deb (the program, its manual page and completions, the scripts that read result
# files), libmgpu-bench-dev_*.deb (libraries, headers, CMake package), mgpu-bench-openmpi_*.deb and mgpu-bench-mpich_*.deb (plug-ins for runs over
# several nodes). With --check it also tests them without installing: lintian finds no error, the scripts find all files that they need, and
# scripts/consumer builds and runs against the contents. Works from any directory.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

check=no
case ${1-} in
  '') ;;
  --check) check=yes ;;
  *) echo "usage: package.sh [--check]" >&2; exit 2 ;;
esac

scripts/setup.sh --package
options=(-DCMAKE_INSTALL_PREFIX=/usr)
[[ -f build/release/CMakeCache.txt ]] || options+=(-DMGPU_TESTS=OFF -DMGPU_BENCHMARKS=OFF)
cmake --preset release "${options[@]}" >/dev/null
cmake --build --preset release --target mgpu-bench mgpu_texts mgpu_session mgpu_suites mgpu_kernels
rm -rf build/release/packages
# The target `package` is not used: it would build the tests too if they are configured.
(cd build/release && cpack --config CPackConfig.cmake >packages.log) || { cat build/release/packages.log >&2; exit 1; }
ls -l build/release/packages/*.deb
[[ $check == yes ]] || exit 0

command -v lintian >/dev/null || { echo "package.sh: --check needs the package lintian" >&2; exit 1; }
user=()
((EUID != 0)) || user=(--allow-root)
lintian "${user[@]}" --fail-on error build/release/packages/*.deb

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
for package in build/release/packages/*.deb; do dpkg-deb -x "$package" "$room/root"; done
results=$PWD/results
scripts=$room/root/usr/share/mgpu-bench/scripts
page=$("$room/root/usr/bin/mgpu-bench" init suites/kernel/examples/saxpy/saxpy.cl 2>/dev/null | grep -o '/usr/share/doc/[a-z/-]*\.md')
[[ -f $room/root$page ]] || { echo "package.sh: the page $page that mgpu-bench init names is missing" >&2; exit 1; }
(cd / && "$scripts/recompute.py" "$results/h200/merkle-2-slow3.json.gz" >/dev/null)
for drawn in matplotlib:plot.py:h200/merkle-2-slow3:plots matplotlib:plot.py:h100/nodes-matrix:plots matplotlib:plot.py:h100/campaign/links:plots \
  plotly:report_html.py:h200/merkle-2-slow3:page.html; do
  IFS=: read -r needs script result output <<<"$drawn"
  ! /usr/bin/python3 -c "import $needs" 2>/dev/null || (cd / && /usr/bin/python3 "$scripts/$script" "$results/$result.json.gz" -o "$room/$output" >/dev/null)
done
cmake -S scripts/consumer -B "$room/build" -G Ninja -DCMAKE_PREFIX_PATH="$room/root/usr" >/dev/null
cmake --build "$room/build"
"$room/build/consumer"
