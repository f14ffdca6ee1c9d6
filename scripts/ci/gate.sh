#!/usr/bin/env bash
# A performance gate for CI, to copy and adapt: `mgpu-bench gate` with its arguments from variables. Exits with 3 when something became
# slower, 4 when it may have, with Markdown in the job's summary.
#
#   gate.sh baseline FILE...        against committed results: only on the machine that made them (a runner of one's own). A FILE that
#                                   does not exist is made, for someone to look at and commit, and the job fails: nothing was compared.
#                                   Three files show by how much runs differ; one leaves that to a guess.
#   gate.sh interleaved OLD NEW     two builds interleaved, on any machine: on shared runners, where a saved baseline says little
#
# Variables: MGPU_BENCH (the program; default: mgpu-bench), GATE_RUN (what to measure), GATE_COMPARE (more options of gate), GATE_ROUNDS
# (rounds of both builds). Exit codes are those of `mgpu-bench compare`: 0 nothing became slower, 2 not comparable (another host or driver,
# too few samples), 3 regression or a missing case, 4 slower without a verdict: measure again, with more samples or on a quieter machine.
# Only 0 may pass. A container needs a permanent host name.
set -euo pipefail

bench=${MGPU_BENCH:-mgpu-bench}
run=${GATE_RUN:-merkle matrix -s equal,dynamic --mode both --time-limit 10m}
read -r -a more <<<"${GATE_COMPARE:-}"

mode=${1-}
(($#)) && shift
case $mode in
  baseline)
    (($#)) || exec "$bench" gate
    exec "$bench" gate "${more[@]}" --with "$run" "$@"
    ;;
  interleaved | turns)  # turns: its name until version 0.1
    exec "$bench" gate --interleave ${GATE_ROUNDS:+--rounds "$GATE_ROUNDS"} "${more[@]}" --with "$run" "$@"
    ;;
  *)
    sed -n '5,8p' "$0" | cut -c 3- >&2
    exit 2
    ;;
esac
