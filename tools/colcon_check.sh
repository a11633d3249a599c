#!/usr/bin/env bash
# Proves `colcon build` of both packages, plain and with --symlink-install, in a temporary copy of
# the checkout. Call it inside the environment: ./run tools/colcon_check.sh [plain|symlink ...]
# Prints one line a mode: 'colcon MODE: ok, N s'. Exits 1 at the first thing that is wrong.
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
: "${VIRTUAL_ENV:?call me through ./run}"
modes=("$@")
((${#modes[@]})) || modes=(plain symlink)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'colcon %s: %s\n' "$mode" "$*" >&2; exit 1; }

copy_checkout() {
  mkdir -p "$1"
  (cd "$ROOT" && git ls-files -coz --exclude-standard 2> /dev/null || find . -type f \
    -not -path './.venv/*' -not -path './build/*' -not -path './.git/*' -print0) |
    (cd "$ROOT" && xargs -0 cp --parents -t "$1" 2> /dev/null) || true  # deleted, not yet committed
}

check_install() {  # in a shell that has sourced only install/setup.bash over the underlay
  cd /
  set +u
  source "$1/install/setup.bash"
  set -u
  python3 - "$1" "$2" <<'PY'
import importlib
import os
import subprocess
import sys
from pathlib import Path

from ament_index_python.packages import get_package_prefix, get_package_share_directory

checkout, mode = Path(sys.argv[1]), sys.argv[2]
install = checkout / "install"
for name in ("diffsim_ros", "diffsim_ros._engine", "diffsim_interfaces.action"):
    path = Path(importlib.import_module(name).__file__)
    assert path.is_relative_to(install), f"{name} comes from {path}"
source = (install / "diffsim_ros").rglob("diffsim_ros/__init__.py")
linked = next(source).is_symlink()
assert linked == (mode == "symlink"), f"__init__.py is a symlink: {linked}"

from diffsim_interfaces.action import Estimate
from rclpy.type_support import check_for_type_support

check_for_type_support(Estimate)
prefix = Path(get_package_prefix("diffsim_ros"))
assert prefix.is_relative_to(install), prefix
for node in (
    "replay", "observer", "estimator", "visualizer", "planner", "driver", "mock_controller",
    "simulator", "execute", "experiment",
):
    program = prefix / "lib/diffsim_ros" / node
    assert os.access(program, os.X_OK), f"{program} is not executable"
    said = subprocess.run([program, "--help"], capture_output=True, text=True)
    assert said.returncode == 0 and node in said.stdout, f"{program} --help: {said}"
share = Path(get_package_share_directory("diffsim_ros"))
for folder in ("launch", "config", "urdf", "data"):
    if (checkout / folder).is_dir():
        files = [f for f in (checkout / folder).rglob("*") if f.is_file()]
        missing = [f for f in files if not (share / f.relative_to(checkout)).exists()]
        assert not missing, f"not installed: {missing[0]}"
if (checkout / "diffsim_ros/cli.py").exists():
    subprocess.run([prefix / "bin/diffsim", "--help"], check=True, stdout=subprocess.DEVNULL)
PY
}

for mode in "${modes[@]}"; do
  case $mode in
    plain) options=() ;;
    symlink) options=(--symlink-install) ;;
    *) fail "no such mode: plain, symlink" ;;
  esac
  checkout=$work/$mode
  copy_checkout "$checkout"
  cmake_args=(-DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_PROJECT_INCLUDE=$checkout/tools/wheels_fix.cmake")  # for the wheels; else no effect
  start=$SECONDS
  (
    cd "$checkout"
    colcon --log-level error build --base-paths . interfaces --executor sequential \
      "${options[@]}" \
      --cmake-args "${cmake_args[@]}"
  ) > "$work/$mode.log" 2>&1 || { tail -n 40 "$work/$mode.log" >&2; fail "build failed"; }
  built=$((SECONDS - start))
  (check_install "$checkout" "$mode") || fail "what it installed is wrong"
  printf 'colcon %s: ok, %d s\n' "$mode" "$built"
done
