#!/usr/bin/env bash
# Installs the missing build dependencies of mgpu-bench, from the packages of Debian 12, Debian 13 or Ubuntu 24.04; with --tests also those of the
# tests, with --package those of scripts/package.sh. Must run as root or with sudo. Ends quickly if nothing is missing. Works from any directory.
set -euo pipefail

usage() {
  echo "usage: setup.sh [--tests] [--pictures] [--package]"
}

packages=(g++ cmake ninja-build git ca-certificates python3 ocl-icd-opencl-dev opencl-headers opencl-clhpp-headers
          libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libfmt-dev libssl-dev libboost-dev zlib1g-dev)
for argument in "$@"; do
  case $argument in
    --tests) packages+=(doctest-dev libbenchmark-dev libgmp-dev libopenblas-dev libfftw3-dev python3-jsonschema python3-numpy jq
                        pkgconf libopenmpi-dev openmpi-bin libmpich-dev mpich
                        ccache clang-format pyflakes3 shellcheck) ;;
    # These are 350 MB that only plot.py, report_html.py and a few tests need; the tests are skipped without them.
    --pictures) packages+=(python3-matplotlib python3-plotly libbenchmark-tools python3-statsmodels) ;;
    --package) packages+=(dpkg-dev file gzip pkgconf libopenmpi-dev libmpich-dev) ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

# Installs a driver for the CPU only if there is no driver at all: next to a GPU's driver it would only be in the way.
if ! compgen -G "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/*.icd" >/dev/null; then
  if ldconfig -p 2>/dev/null | grep -q libnvidia-opencl.so.1; then
    echo "setup: libnvidia-opencl.so.1 is here, but /etc/OpenCL/vendors does not name it; to use the GPU:" >&2
    echo "  mkdir -p /etc/OpenCL/vendors && echo libnvidia-opencl.so.1 >/etc/OpenCL/vendors/nvidia.icd" >&2
  fi
  packages+=(pocl-opencl-icd)
fi

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian or Ubuntu; needed are the equivalents of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  echo "setup: nothing is missing"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: run this as root, or install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
