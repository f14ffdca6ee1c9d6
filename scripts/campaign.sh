#!/usr/bin/env bash
# Measures strong scaling on one, two, four and eight devices, in parts that can be resumed after an interruption: every suite at sizes from small
# to filling, every strategy on all devices, one throttled device, the links, and headline cases with their predictions. Writes DIR/page.html
# (scripts/campaign_page.py) at the end and at the limit. Call it again with the same arguments until it says that it is complete.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'TEXT'
usage: campaign.sh [OPTION]... DIR

  --program FILE    the mgpu-bench to run (default: build/release/mgpu-bench)
  --devices SEL     the devices, as run -d takes them (default: gpu)
  --sub-devices N   split each CPU among them into N
  --counts N,..     with so many of them (default: 1, 2, 3, 4, 8, as far as there are devices)
  --suites NAME,..  of these suites only (default: all)
  --parts NAME,..   these parts only: calibrate, links, headline, strategies, scaling, slow (default: all, in this order)
  --limit TIME      interrupt what runs after so long, as timeout takes it (default: 8m); exit code 4: call again
  --quick           small sizes, to try it

Exit codes: 0 complete; 1 a part failed, after the others; 2 bad usage; 4 the limit came first.
TEXT
}

refuse() { echo "campaign.sh: $1" >&2; exit 2; }

program=$root/build/release/mgpu-bench devices=gpu counts="" suites="" limit=8m
parts=calibrate,links,headline,strategies,scaling,slow
split=() quick=() folder=""
while (($#)); do
  case $1 in
    --program | --devices | --sub-devices | --counts | --suites | --parts | --limit)
      (($# > 1)) || refuse "$1: a value is missing; see campaign.sh --help"
      case $1 in
        --program) program=$2 ;;
        --devices) devices=$2 ;;
        --sub-devices) split=(--sub-devices "$2") ;;
        --counts) counts=$2 ;;
        --suites) suites=$2 ;;
        --parts) parts=$2 ;;
        --limit) limit=$2 ;;
      esac
      shift ;;
    --quick) quick=(--quick) ;;
    -h | --help) usage; exit 0 ;;
    -*) refuse "there is no option $1; see campaign.sh --help" ;;
    *) [[ -z $folder ]] || refuse "one DIR is accepted, \"$folder\" and \"$1\" are two"; folder=$1 ;;
  esac
  shift
done
[[ -n $folder ]] || refuse "DIR is missing; see campaign.sh --help"
[[ -x $program ]] || refuse "--program: \"$program\" cannot be run; expected: a built mgpu-bench (cmake --build --preset release)"
[[ $limit =~ ^([0-9]+)([smh]?)$ && ${BASH_REMATCH[1]} != 0 ]] || refuse "--limit: \"$limit\" is not a time; expected: 90s, 8m, 1h"
case ${BASH_REMATCH[2]} in m) seconds=$((BASH_REMATCH[1] * 60)) ;; h) seconds=$((BASH_REMATCH[1] * 3600)) ;; *) seconds=${BASH_REMATCH[1]} ;; esac
for name in ${parts//,/ }; do
  [[ ,calibrate,links,headline,strategies,scaling,slow, == *",$name,"* ]] ||
    refuse "--parts: \"$name\" is none; expected: calibrate, links, headline, strategies, scaling, slow"
done
mkdir -p "$folder"

# All runs name their devices in the same way, and report missing ones themselves.
set_of=(-d "$devices" "${split[@]}")
there=$("$program" devices "${set_of[@]}" --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["devices"]))')
if [[ -z $counts ]]; then
  counts=1
  for count in 2 3 4 8; do ((count > there)) || counts+=,$count; done
fi
most=${counts##*,}
known=$("$program" list suites --json | python3 -c 'import json, sys; print(*(s["name"] for s in json.load(sys.stdin)["suites"]))')
suites=${suites:-${known// /,}}
for suite in ${suites//,/ }; do [[ " $known " == *" $suite "* ]] || refuse "--suites: there is no \"$suite\"; expected: ${known// /, }"; done

failed=0
is_wanted() { [[ ,$parts, == *",$1,"* ]]; }
has_suite() { [[ ,$suites, == *",$1,"* ]]; }
is_complete() {
  [[ -f $1 ]] && python3 - "$1" <<'PYTHON'
import gzip, json, sys
try:
    sys.exit(0 if json.loads(gzip.open(sys.argv[1]).read())["complete"] else 1)
except (OSError, EOFError, ValueError, KeyError):
    sys.exit(1)
PYTHON
}

# Usage: part NAME COMMAND...; its result is DIR/NAME.json.gz. A complete one is not measured again, an incomplete one is resumed. While the
# campaign is planned, only writes the name to DIR/parts.txt, from which the page says what is missing.
part() {
  local name=$1 file=$folder/$1.json.gz code=0 left=$((seconds - SECONDS)) where
  shift
  if ((planning)); then echo "$name" >>"$folder/parts.txt"; return; fi
  if is_complete "$file"; then return; fi
  ((left > 0)) || stop
  where=(-o "$file")
  if [[ $1 == run && (-f $file || -f $file.journal) ]]; then where=(--resume "$file"); fi
  echo "campaign: $name: mgpu-bench $*" | tee -a "$folder/commands.txt"
  timeout --signal=INT --kill-after=60 "$left" "$program" "$@" "${where[@]}" >"$folder/$name.log" 2>&1 || code=$?
  ((SECONDS < seconds)) || is_complete "$file" || stop
  # Cases that these devices cannot do are skipped or unsupported; the table says so.
  if ((code != 0)) && ! is_complete "$file"; then
    echo "campaign: $name failed with exit code $code: $(tail -n 1 "$folder/$name.log")" >&2
    failed=1
  fi
}

write_page() { python3 "$root/scripts/campaign_page.py" "$folder" -o "$folder/page.html"; }

stop() {
  if compgen -G "$folder/*-*.json.gz" >/dev/null; then write_page || true; fi
  echo "campaign: $limit limit reached; results so far are saved, run again to continue"
  exit 4
}

measure() {
  local name=$1
  shift
  part "$name" run "$@" "${set_of[@]}" "${quick[@]}" --verify sample
}

calibrate() {
  [[ ! -f $folder/calibrated ]] || return 0
  ((SECONDS < seconds)) || stop
  echo "campaign: calibrate: mgpu-bench calibrate" | tee -a "$folder/commands.txt"
  "$program" calibrate ${suites//,/ } "${set_of[@]}" >"$folder/calibrate.log" 2>&1 || { tail -n 1 "$folder/calibrate.log" >&2; exit 1; }
  touch "$folder/calibrated"
}

# Uses 50 ms of work or more on one H200, or the largest problem that fits; for msm several parts of one, with which n devices are compared.
headline() {
  has_suite "$1" || return 0
  local suite=$1 size=$2
  shift 2
  if ((${#quick[@]} > 0)); then set --; else set -- --size "$size" "$@"; fi
  measure "headline-$suite" "$suite" "$@" -s equal,auto --mode resident --device-counts "$counts" -n 11
  predict "headline-$suite"
}

# Simulates all device counts from what is known of the fewest of several devices before their first sample.
predict() {
  local file=$folder/$1.json.gz predicted=$folder/predicted-$1.json.gz from
  ((!planning)) && is_complete "$file" && ! is_complete "$predicted" || return 0
  from=$(python3 "$root/scripts/campaign_page.py" --case-to-grow "$file") || return 0
  "$program" simulate --from "$file" --case "$from" --as-predicted --grow-to "$most" --device-counts "$counts" -s equal,auto \
    --mode resident -n 1 -o "$predicted" >"$folder/predicted-$1.log" 2>&1 || { tail -n 1 "$folder/predicted-$1.log" >&2; failed=1; }
}

every_part() {
  local suite
  if is_wanted links && ((there > 1)); then part links links "${set_of[@]}" --quick; fi
  if is_wanted headline; then
    headline merkle 2^29
    headline matrix 16384
    headline fisher 2^21 --dim 1024
    headline msm 2^24,2^23,2^22,2^21
    headline stencil 16384
    headline lbm 512
    headline tropical 8192
    headline pac auto
  fi
  for suite in ${suites//,/ }; do
    if is_wanted strategies; then measure "strategies-$suite" "$suite" -s all,auto --mode both --device-counts "$most" -n 5; fi
  done
  for suite in ${suites//,/ }; do
    if is_wanted scaling && ((${#quick[@]} == 0)); then
      measure "scaling-$suite" "$suite" --size sweep -s equal,dynamic,auto --mode both --device-counts "$counts" -n 5
    fi
  done
  if is_wanted slow && has_suite merkle && ((there > 1)); then
    measure slow-merkle merkle -s all,auto --mode resident --slow 0=2 --device-counts "$most" -n 7
  fi
}

: >"$folder/parts.txt"
planning=1
every_part
planning=0
if is_wanted calibrate; then calibrate; fi
every_part

write_page || failed=1
# The files of a campaign that are committed.
bytes=$({ cat "$folder"/headline-*.json.gz "$folder"/predicted-*.json.gz "$folder/page.html" 2>/dev/null || true; } | wc -c)
if ((bytes > 4 << 20)); then
  echo "campaign: headline cases and page have $bytes bytes, more than 4 MiB" >&2
  failed=1
fi
((failed == 0)) || exit 1
echo "campaign: complete: $folder/page.html"
