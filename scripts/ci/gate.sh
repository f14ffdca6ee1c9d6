#!/usr/bin/env bash
# A performance gate for CI, to copy and adapt: exits with 3 when something became slower, 4 when it may have, with Markdown in the job's summary.
#
#   gate.sh baseline FILE           against a committed result: only on the machine that made FILE (a runner of one's own). Without FILE it
#                                   is made, for someone to look at and commit, and the job fails: nothing was compared. What was
#                                   measured is kept beside FILE, as FILE with .new before .json.
#   gate.sh interleaved OLD NEW     two builds interleaved, on any machine: on shared runners, where a saved baseline says little
#
# Variables: MGPU_BENCH (the program; default: mgpu-bench), GATE_RUN (what to measure), GATE_COMPARE (more options of compare), GATE_ROUNDS (rounds
# of both builds; default: 12, without a GPU 48, of which each counts with its minimum, and a floor of 10 %). Exit codes are those of
# `mgpu-bench compare`: 0 nothing became slower, 2 not comparable (another host or driver, too few samples), 3 regression or a missing case,
# 4 slower without a verdict: measure again, with more samples or on a quieter machine. Only 0 may pass. A container needs a permanent host name.
set -euo pipefail

bench=${MGPU_BENCH:-mgpu-bench}
run=${GATE_RUN:-merkle matrix -s equal,dynamic --mode both --time-limit 10m}
read -r -a more <<<"${GATE_COMPARE:-}"
summary=()
[[ -z ${GITHUB_STEP_SUMMARY:-} ]] || summary=(--markdown "$GITHUB_STEP_SUMMARY")

usage() {
  sed -n '4,8p' "$0" | cut -c 3- >&2
  exit 2
}

case ${1-} in
  baseline)
    (($# == 2)) || usage
    read -r -a arguments <<<"$run"
    if [[ ! -e $2 ]]; then
      mkdir -p "$(dirname "$2")"
      # The file gets its name only if everything was measured: a case without figures would guard nothing.
      first=${2%.json}.failed.json
      rm -f "$first"
      "$bench" run "${arguments[@]}" --strict -o "$first"
      mv "$first" "$2"
      echo "gate: nothing was compared: $2 did not exist and was made; look at it and commit it" >&2
      exit 2
    fi
    new=${2%.json}.new.json
    echo "gate: measurements are kept in $new" >&2
    # Uses the sizes of FILE: the sizes that this machine would choose now might leave nothing to compare.
    sizes=(--sizes-of "$2")
    [[ " $run " != *" --size"* && " $run " != *" --input"* ]] || sizes=()
    "$bench" run "${arguments[@]}" "${sizes[@]}" --strict -o "$new"
    # A case that looks slower is measured twice more before it counts.
    "$bench" compare "$2" "$new" --confirm 2 "${summary[@]}" "${more[@]}"
    ;;
  interleaved | turns)  # turns: its name until version 0.1
    (($# == 3)) || usage
    rounds=12 value=()
    # On shared CPUs, rounds of one build differ by a third: 48 rounds, and their minimum times, reveal 20 %; with a floor below 10 %, one of 20
    # unchanged cases nearly always looks slower without a verdict (results/gate.md).
    if [[ " $run " == *" -d cpu"* || $("$bench" devices --json) != *'"type": "gpu"'* ]]; then
      rounds=48
      [[ " ${more[*]} " == *" --round-value"* ]] || value=(--round-value minimum)
      [[ " ${more[*]} " == *" --floor"* ]] || value+=(--floor 10%)
    fi
    "$bench" compare "$2" "$3" --interleave "${GATE_ROUNDS:-$rounds}" --with "$run -n 5" "${value[@]}" "${summary[@]}" "${more[@]}"
    ;;
  *) usage ;;
esac
