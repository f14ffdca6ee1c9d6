#!/usr/bin/env bash
# Runs a shell command in a fresh clone of HEAD on a bare Debian of any release, which mmdebstrap
# creates and removes afterwards. Must run as root; needs the package mmdebstrap, the network and 2
# GB below TMPDIR.
# Usage: on_debian.sh RELEASE COMMAND
#        on_debian.sh trixie 'scripts/setup.sh && cmake --preset release'
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

if (($# != 2)); then
  echo "usage: scripts/ci/on_debian.sh RELEASE COMMAND" >&2
  exit 2
fi
if ! command -v mmdebstrap >/dev/null; then
  echo "on_debian.sh: needs mmdebstrap: apt-get install mmdebstrap" >&2
  exit 1
fi
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone -q . "$clone/project"
# shellcheck disable=SC2016  # "$1" is the root of that Debian, for the hook's shell
inside='chroot "$1" /bin/bash -c "cd /root/project && $MGPU_COMMAND"'
MGPU_COMMAND=$2 mmdebstrap --quiet --variant=apt --include=ca-certificates,git --format=null \
  --customize-hook="copy-in $clone/project /root" --customize-hook="$inside" "$1" /dev/null
