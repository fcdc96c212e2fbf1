#!/bin/sh
# Judges a pack on a dialect: run_eval.sh [PACK] [DIALECT] [options of `sqlassay run`].
# Ends with the exit code of sqlassay; its last line says the same.
set -eu

pack=${1:-demo}
dialect=${2:-sqlite}
[ "$#" -gt 0 ] && shift
[ "$#" -gt 0 ] && shift

if ! command -v sqlassay >/dev/null 2>&1; then
    echo 'sqlassay is not installed: see references/install.md' >&2
    exit 2
fi
exec sqlassay run "$pack" --dialect "$dialect" "$@"
