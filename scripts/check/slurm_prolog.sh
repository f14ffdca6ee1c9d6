#!/usr/bin/env bash
# Prolog=/usr/share/mgpu-bench/scripts/check/slurm_prolog.sh in slurm.conf: a node whose devices are slow, missing, hung or wrong is
# drained with the finding as its reason. What cannot be told, exit code 4, drains nothing. MGPU_CHECK_BASELINE is a file of --save.
set -u
options=(--quiet --time "${MGPU_CHECK_TIME:-15s}")
baseline=${MGPU_CHECK_BASELINE:-/var/lib/mgpu-bench/check.json}
[[ -s $baseline ]] && options+=(--baseline "$baseline")
text=$(mgpu-bench check "${options[@]}" 2>&1)
code=$?
((code == 0 || code == 4)) && exit 0
reason=$(grep -m 1 '^check: ' <<<"$text" || echo "mgpu-bench check: exit code $code")
scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="$reason"
exit 1
