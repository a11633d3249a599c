#!/usr/bin/env bash
# The engine under sanitizers (docs/explanation/security.md), built and run beside the usual one:
#   ./run bash tools/sanitize.sh address,undefined python -m pytest -q tests/native
#   ./run bash tools/sanitize.sh thread python -m pytest -q tests/native/test_rollout.py
# SANITIZE_BUILD=folder picks the build folder (default: build/sanitize/NAME).
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kind=${1:?address,undefined or thread}; shift
BUILD=${SANITIZE_BUILD:-$ROOT/build/sanitize/${kind/,/-}}

cmake -S "$ROOT" -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDIFFSIM_AMENT=OFF \
  -DPython3_EXECUTABLE="$(command -v python)" -DDIFFSIM_ARCH= \
  -DDIFFSIM_SANITIZE="$kind" > /dev/null
cmake --build "$BUILD" --target _engine

# A package whose engine is this one and whose every other file is the checkout's.
site=$BUILD/site/diffsim_ros
rm -rf "$site"
mkdir -p "$site"
for entry in "$ROOT"/diffsim_ros/*; do
  [[ $entry == *_engine* || $entry == *__pycache__ ]] || ln -s "$entry" "$site/"
done
ln -s "$BUILD"/_engine*.so "$site/"

library=asan
[[ $kind != thread ]] || library=tsan
# The C++ library beside it: the sanitizer looks __cxa_throw up when it starts.
export LD_PRELOAD="$(gcc -print-file-name=lib$library.so) $(gcc -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=report_signal_unsafe=0:exitcode=66${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export PYTHONSAFEPATH=1 PYTHONPATH=$BUILD/site:$ROOT${PYTHONPATH:+:$PYTHONPATH} PYTHONMALLOC=malloc
exec "$@"
