#!/usr/bin/env bash
# Checks the form of the sources. C++ must be formatted by clang-format 14 (Debian 12's) with .clang-format; other versions format differently.
# pyflakes and shellcheck must find nothing. Tools that are not installed are skipped and named. Exit code 1 if something is wrong, else 77 if
# something was skipped, else 0. Works from any directory.
# Usage: check_style.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

code=0
listed() { git ls-files -co --exclude-standard -- "$@"; }
left_out() {
  echo "check_style: skipped: $1"
  ((code)) || code=77
}
wrong() {
  echo "check_style: $1" >&2
  code=1
}

version=$(clang-format --version 2>/dev/null || echo none)
if [[ $version != *"version 14."* ]]; then
  left_out "C++: needs clang-format 14, here is: $version"
elif ! listed '*.cpp' '*.hpp' | xargs -P "$(nproc)" -n 40 clang-format --dry-run -Werror; then
  wrong "to mend C++: git ls-files '*.cpp' '*.hpp' | xargs clang-format -i"
fi
if ! command -v pyflakes3 >/dev/null; then
  left_out "Python: needs pyflakes3"
elif ! listed '*.py' | xargs pyflakes3; then
  wrong "pyflakes3 finds the above"
fi
if ! command -v shellcheck >/dev/null; then
  left_out "scripts: needs shellcheck"
elif ! listed '*.sh' .ci/run | xargs shellcheck -S warning; then
  wrong "shellcheck finds the above"
fi
exit "$code"
