#!/usr/bin/env bash
# Builds diffsim_ros by colcon with a distribution's own ament_cmake, and runs ament_lint_auto on it:
# in a temporary Debian 13, whose archive has both, from what is committed.
#   tools/ament_check.sh    as root; needs mmdebstrap and a mirror of Debian; about 10 minutes
# Prints one line a linter: 'ament_lint xmllint: ok'. Exits 1 at the first thing that is wrong.
# diffsim_interfaces is not built: Debian has no packages of ROS 2 messages.
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
PACKAGES=(ca-certificates cmake g++ make ament-cmake ament-cmake-pytest ament-cmake-ros ament-lint
  ament-cmake-lint-cmake ament-cmake-xmllint libxml2-utils colcon python3-colcon-ros
  python3-colcon-cmake python3-colcon-test-result libeigen3-dev pybind11-dev libopenvdb-dev
  python3-dev python3-numpy python3-scipy python3-yaml)
LINTERS=(lint_cmake xmllint)
work=$(mktemp -d)
trap 'umount "$work/debian/proc" 2> /dev/null || true; rm -rf --one-file-system "$work"' EXIT
fail() { tail -n 20 "$2" >&2; printf 'ament_lint %s\n' "$1" >&2; exit 1; }

mmdebstrap --variant=apt --include="$(IFS=,; echo "${PACKAGES[*]}")" trixie "$work/debian" \
  "$MIRROR" > "$work/debian.log" 2>&1 || fail "Debian 13" "$work/debian.log"
mount --bind /proc "$work/debian/proc"
mkdir -p "$work/debian/ws/src/diffsim_ros"
git -C "$ROOT" archive HEAD | tar x -C "$work/debian/ws/src/diffsim_ros"
inside() { chroot "$work/debian" bash -c "cd /ws && $*"; }

inside colcon build > "$work/build.log" 2>&1 || fail "build" "$work/build.log"
names=$(IFS='|'; echo "${LINTERS[*]}")
inside "colcon test --event-handlers console_direct+ --ctest-args -R '^($names)\$'" \
  > "$work/test.log" 2>&1 || fail "colcon test" "$work/test.log"
for linter in "${LINTERS[@]}"; do  # one that CMake did not find would not fail
  grep -Eq "Test +#[0-9]+: $linter \.+ +Passed" "$work/test.log" || fail "$linter" "$work/test.log"
  printf 'ament_lint %s: ok\n' "$linter"
done
inside "colcon test-result" > "$work/result.log" || fail "test-result" "$work/result.log"
