#!/usr/bin/env bash
# mk_local_setup.sh <venv>: give the wheel prefix the prefix-level local_setup.* files that a
# ROS distro has in /opt/ros/jazzy, so that colcon can chain to it as an underlay.
set -euo pipefail
V=$(cd "$1" && pwd)
cat > "$V"/local_setup.sh <<EOF
: \${AMENT_CURRENT_PREFIX:=$V}
_prefix_add() { eval "_v=\\\${\$1}"; case ":\$_v:" in *":\$2:"*) ;; *) eval "export \$1=\"\$2\${_v:+:\$_v}\"";; esac; unset _v; }
_prefix_add AMENT_PREFIX_PATH "$V"
_prefix_add CMAKE_PREFIX_PATH "$V"
_prefix_add PATH "$V/bin"
unset -f _prefix_add
export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
unset AMENT_CURRENT_PREFIX
EOF
for s in bash zsh; do echo ". $V/local_setup.sh" > "$V/local_setup.$s"; done
for s in sh bash zsh; do echo ". $V/local_setup.sh" > "$V/setup.$s"; done
