#!/usr/bin/env bash
# Runs the program on every OpenCL implementation for CPUs that is installed: the overview of all
# suites on PoCL, on rusticl (llvmpipe), and on both in one set, and one suite under Oclgrind. An
# implementation that is not installed is skipped. Takes 10 to 20 min on two cores.
# Usage: implementations.sh [PROGRAM] [NAME...]    PROGRAM: build/release/mgpu-bench;
#                                                  NAME: pocl, rusticl, both, oclgrind (all)
#        apt-get install pocl-opencl-icd mesa-opencl-icd oclgrind   (Debian 13 has no oclgrind)
# Exit code: 0 none failed, 1 one failed, 2 bad arguments.
set -euo pipefail

program=${1:-$(dirname -- "${BASH_SOURCE[0]}")/../build/release/mgpu-bench}
names=("${@:2}")
if [[ ! -x $program ]]; then
  echo "usage: tests/implementations.sh [PROGRAM] [pocl|rusticl|both|oclgrind]..." >&2
  exit 2
fi
((${#names[@]})) || names=(pocl rusticl both oclgrind)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder/cache XDG_STATE_HOME=$folder/state XDG_CONFIG_HOME=$folder/config
export RUSTICL_ENABLE=llvmpipe
mkdir -p "$XDG_CACHE_HOME"

# Prints the library of an implementation's driver; nothing if it is not installed.
driver_of() {
  local vendors=/etc/OpenCL/vendors
  case $1 in
    pocl | rusticl) [[ ! -r $vendors/$1.icd ]] || head -n 1 "$vendors/$1.icd" ;;
    oclgrind) find /usr/lib /usr/local/lib -name liboclgrind-rt-icd.so -print -quit 2>/dev/null ;;
  esac
}

# Runs the program on the drivers that are named, and on no other. $1: name of the test; $2: most
# seconds; $3: drivers; then arguments.
failed=0
run_on() {
  local name=$1 most=$2 drivers=$3 icd=$folder/$1 code=0 began=$SECONDS
  mkdir -p "$icd"
  for driver in $drivers; do
    if [[ -z $(driver_of "$driver") ]]; then
      echo "skipped: $name ($driver is not installed)"
      return
    fi
    driver_of "$driver" >"$icd/$driver.icd"
  done
  OCL_ICD_VENDORS=$icd timeout -k 10 "$most" "$program" "${@:4}" \
    -o "$folder/$name.json" >"$folder/$name.txt" 2>&1 || code=$?
  if ((code == 0)); then
    local what
    if what=$(summary_of "$folder/$name.json"); then
      echo "passed: $name, $((SECONDS - began)) s: $what"
      return
    fi
  fi
  failed=1
  echo "FAILED: $name, exit code $code after $((SECONDS - began)) s"
  tail -n 30 "$folder/$name.txt"
}

# Prints the devices of a result and its cases by status. Fails unless every case was verified, or
# is unsupported for a reason that is named.
summary_of() {
  python3 - "$1" <<'PYTHON'
import collections, json, sys

result = json.load(open(sys.argv[1], encoding="utf-8"))
devices = "; ".join(sorted({f"{d['platform']} {d['driver_version']}" for d in result["devices"]}))
cases = collections.Counter()
# A device that was lost leaves rows that passed without it.
bad = [f"{fault['device']}: {fault['what']}" for fault in result["faults"]]
for run in result["runs"]:
    words = run["status"] if run["status"] != "ok" else run["verify"]["status"]
    cases[words] += 1
    if words == "unsupported":
        print(f"{run['suite']}: {run['reason']}", file=sys.stderr)
    if words not in ("passed", "unsupported") or (words == "unsupported" and not run["reason"]):
        bad.append(f"{run['suite']} {run['strategy']}: {words} {run.get('reason') or ''}")
print(f"{devices}: " + ", ".join(f"{count} {words}" for words, count in sorted(cases.items())))
if bad or not cases["passed"]:
    sys.exit("\n".join(bad) or "no case passed")
PYTHON
}

# On a busy machine llvmpipe may take longer than the default for the first trial of a size, and
# rusticl answers questions about a command once it has ended.
patient=(--timeout 10m)

for name in "${names[@]}"; do
  case $name in
    pocl) run_on pocl 1200 pocl run ;;
    rusticl) run_on rusticl 1200 rusticl run "${patient[@]}" ;;
    both) run_on both 2400 "pocl rusticl" run -d cpu "${patient[@]}" ;;
    # Reaches its first sample, calibration included, within a minute.
    oclgrind) run_on oclgrind 120 oclgrind run merkle --size 64 -n 1 ;;
    *)
      echo "implementations.sh: $name: expected pocl, rusticl, both or oclgrind" >&2
      exit 2
      ;;
  esac
done
exit "$failed"
