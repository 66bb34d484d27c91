#!/usr/bin/env bash
# Run every fuzz target of the module for a while.
#
#   tools/fuzz.sh [TIME]      TIME per target, as go test -fuzztime takes it; default 20s
#
# Targets run as many at a time as there are CPUs, with one worker each, which
# tests as much as one after the other with all workers and waits less for
# compiling. GO names the go command. Prints one line per target, all output of
# one that failed. Exit status: 0 all passed and there was at least one.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go} FUZZTIME=${1:-20s}
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

# go test -list prints the names of a package's targets and then its "ok" line.
list=$("$GO" test -list '^Fuzz' ./...) || { echo "$list"; exit 1; }
targets=$(awk '/^Fuzz/ {names[n++] = $1} /^ok/ {for (i = 0; i < n; i++) print $2, names[i]} /^(ok|\?)/ {n = 0}' <<<"$list")
[ -n "$targets" ] || { echo "fuzz: no target found" >&2; exit 1; }

fuzz() { # package target
  local out
  # When the time is up in an unlucky moment, go test calls that a failure of
  # the target: "context deadline exceeded" and nothing else below the name. A
  # real failure always shows its input or a reason of its own.
  if out=$("$GO" test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -parallel 1 "$1" 2>&1) ||
    [ "$(grep -A 2 -e '^--- FAIL' <<<"$out" | tail -n +2)" = $'    context deadline exceeded\nFAIL' ]; then
    echo "ok    $1 $2: $(grep -E '^fuzz: elapsed' <<<"$out" | tail -n 1)"
  else
    printf 'FAIL  %s %s\n%s\n' "$1" "$2" "$out"
    return 1
  fi
}
export -f fuzz
xargs -P "$jobs" -L 1 bash -c 'fuzz "$@"' fuzz <<<"$targets"
