# Sourced by `run`, which gives ROOT and YES: set_up and claim_ros_domain.
# `set_up tools` installs what tests, benchmarks and linters need beside what the package needs,
# `set_up docs` what builds the documentation.
#
# The set-up is a row of stages. Each has a key, a digest of all that its result depends on, kept in
# .venv/.stages; a stage whose key has not changed is skipped, so that a second run costs a few
# digests. Everything is written into .venv/ and build/ of the checkout.

VENV=$ROOT/.venv
BUILD=$ROOT/build
REQUIREMENTS=$ROOT/tools/requirements
ROS_ROOT=${DIFFSIM_ROS_ROOT:-/opt/ros/jazzy}
APT=(apt-get install -y --no-install-recommends)
OPENVDB=(libopenvdb-dev libboost-dev)  # Debian's libopenvdb-dev forgets that it needs Boost's headers
OPEN3D=(libusb-1.0-0 libgl1 libegl1 libgomp1)  # what Open3D's wheel does not bring
# -march of the engine: native, or x86-64-v2, x86-64-v3 ... for another machine, or to compare.
ENGINE_ARCH=${DIFFSIM_ARCH:-native}
OVERLAY=(tf2_msgs mocap4r2_msgs motion_capture_tracking_interfaces control_msgs ur_msgs)
# Enough of a distribution to run the nodes and to build our interfaces (all in ros-base).
ROS_NEEDS=(rclpy rmw_fastrtps_cpp sensor_msgs nav_msgs visualization_msgs diagnostic_msgs std_srvs
  trajectory_msgs ament_cmake ament_cmake_python rosidl_default_generators)

say() { printf '[setup] %s\n' "$*" >&2; }
die() { printf 'run: %s\n' "$*" >&2; exit 2; }

set_up() {
  local lock absent key venv_key package folder process beside=()
  [[ $ENGINE_ARCH =~ ^[A-Za-z0-9.+-]+$ ]] ||
    die "DIFFSIM_ARCH=$ENGINE_ARCH: must be native, x86-64-v2, x86-64-v3 or another -march"
  forget_callers_environment
  choose_ros
  mkdir -p "$BUILD/log"
  touch "$BUILD/COLCON_IGNORE"
  exec {lock}> "$BUILD/.lock"
  flock -n "$lock" || { say "waiting for another set-up of this checkout"; flock "$lock"; }
  [[ -z ${PYTHON-} || $PYTHON == "$(read_stamp interpreter)" ]] || rm -f "$VENV/.stages/venv"
  compgen -G "$ROOT/diffsim_ros/_engine*.so" > /dev/null || rm -f "$VENV/.stages/native"

  install_system_packages
  has_openvdb || ask_once openvdb install_openvdb
  has_open3d_libraries || ask_once open3d install_open3d_libraries
  absent=$(absent_overlay_packages)
  venv_key=$(digest "$REQUIREMENTS" <<< "$ROOT $ROS_MODE ${AMENT_PREFIX_PATH-} $absent")
  stage venv "$venv_key" "virtual environment" make_venv
  # The engine needs pybind11 alone: it is compiled while the other packages come. A generator of
  # interfaces keeps one core busy at most.
  stage native "$(native_key "$venv_key")" "C++ engine, 2-4 min the first time" build_native &
  beside+=($!)
  stage packages "$venv_key" "Python packages, 1-2 min" install_packages
  enter_environment
  stage bytecode "$venv_key" "bytecode of what the nodes import" compile_imports &
  beside+=($!)
  for package in $absent diffsim_interfaces; do
    folder=$ROOT/ros_overlay/$package
    [[ $package != diffsim_interfaces ]] || folder=$ROOT/interfaces
    key=$(digest "$folder" "$ROOT/tools/wheels_fix.cmake" <<< "$venv_key")
    stage "$package" "$key" "ROS interfaces $package" build_interfaces "$folder" &
    beside+=($!)
  done
  [[ ${1-} != tools ]] || stage tools "$venv_key" "tools of tests, benchmarks and linters" \
    install_tools
  [[ ${1-} != docs ]] || stage docs "$venv_key" "generator of the documentation" install_docs
  for process in "${beside[@]}"; do wait "$process" || exit 2; done
  key=$(digest "$ROOT"/{pyproject.toml,setup.py,package.xml} <<< "$venv_key")
  stage package "$key" "diffsim_ros, editable" install_package
  exec {lock}>&-
}

# --- stages -------------------------------------------------------------------------------------

# stage NAME KEY TEXT FUNCTION [ARGUMENTS...]
stage() {
  local name=$1 key=$2 text=$3 log=$BUILD/log/$1.log start=$SECONDS status
  [[ $key != "$(read_stamp "$name")" ]] || return 0
  shift 3
  say "$text ..."
  rm -f "$VENV/.stages/$name"
  set +e  # a subshell in a condition would ignore its own set -e
  (set -e; "$@") > "$log" 2>&1 < /dev/null
  status=$?
  set -e
  if ((status)); then
    tail -n 40 "$log" >&2
    die "set-up stage '$name' failed (whole log: $log)"
  fi
  mkdir -p "$VENV/.stages"
  printf '%s\n' "$key" > "$VENV/.stages/$name"
  say "  $name: $((SECONDS - start)) s"
}

read_stamp() { cat "$VENV/.stages/$1" 2> /dev/null || true; }

# digest PATH... < TEXT: of the text and of every file below the paths
digest() {
  { cat; find "$@" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0r sha256sum; } |
    sha256sum | cut -c1-32
}

# native_key KEY_OF_VENV
native_key() {
  digest "$ROOT/native" "$ROOT/CMakeLists.txt" \
    <<< "$1 $(cpu) $ENGINE_ARCH $(has_openvdb && echo OpenVDB)"
}

# -march=native: an engine from another kind of CPU could crash here.
cpu() { grep -m 2 -E '^(model name|flags|Features)' /proc/cpuinfo | sha256sum | cut -c1-16; }

make_venv() {
  local python constraints=$BUILD/constraints.txt
  python=$(find_python)
  rm -rf "$VENV"
  if [[ $ROS_MODE == distribution ]]; then
    "$python" -m venv --system-site-packages "$VENV"
    # The distribution's messages and colcon were made with its own NumPy: keep that one.
    grep -v -E '^(numpy|catkin-pkg|empy|lark-parser|ros-|colcon-)' \
      "$REQUIREMENTS/constraints.txt" > "$constraints"
    "$python" -c 'import numpy; print("numpy==" + numpy.__version__)' >> "$constraints"
  else
    "$python" -m venv "$VENV"
    cp "$REQUIREMENTS/constraints.txt" "$constraints"
  fi
  pip_install pybind11
  mkdir -p "$VENV/.stages"
  printf '%s\n' "${PYTHON:-$python}" > "$VENV/.stages/interpreter"
}

install_packages() {
  local options=()
  [[ $ROS_MODE != wheels ]] || options=(-r "$REQUIREMENTS/ros_wheels.txt")
  pip_install -r "$REQUIREMENTS/base.txt" "${options[@]}"
  [[ $ROS_MODE != wheels ]] || "$ROOT/tools/mk_local_setup.sh" "$VENV"
}

# Once here, or else in each of the processes that a launch starts together.
compile_imports() {
  "$VENV/bin/python" - <<'EOF'
import importlib

for name in (
    "matplotlib.pyplot", "meshio", "open3d", "rclpy", "rosbags.highlevel", "scipy.optimize",
    "scipy.sparse.linalg", "scipy.spatial.transform", "scipy.stats", "trimesh", "urchin",
):
    try:
        importlib.import_module(name)
    except ImportError as error:  # an optional one whose system library is missing
        print(error)
EOF
}

install_tools() { pip_install -r "$REQUIREMENTS/dev.txt" -r "$REQUIREMENTS/docs.txt"; }
install_docs() { pip_install -r "$REQUIREMENTS/docs.txt"; }

# Of the versions that make_venv chose. Most of the 13 000 modules are never imported: pip is not to
# compile them.
pip_install() {
  "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
    --no-compile \
    -c "$BUILD/constraints.txt" "$@"
}

build_native() {
  local build=$BUILD/native library
  grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$build/CMakeCache.txt" || rm -rf "$build"
  cmake -S "$ROOT" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDIFFSIM_AMENT=OFF \
    -DPython3_EXECUTABLE="$VENV/bin/python" -DDIFFSIM_CPU="$(cpu)" -DDIFFSIM_ARCH="$ENGINE_ARCH"
  cmake --build "$build" --target _engine
  library=$(compgen -G "$build/_engine*.so")
  # Renamed into place: a process that has the old engine loaded keeps it.
  cp "$library" "$ROOT/diffsim_ros/.engine.tmp"
  rm -f "$ROOT"/diffsim_ros/_engine*.so
  mv "$ROOT/diffsim_ros/.engine.tmp" "$ROOT/diffsim_ros/$(basename "$library")"
}

build_interfaces() {  # FOLDER of one interface package: into the prefix .venv
  local build
  build=$BUILD/interfaces/$(basename "$1")
  rm -rf "$build"
  cmake -S "$1" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_PREFIX="$VENV" -DPython3_EXECUTABLE="$VENV/bin/python" \
    -DCMAKE_PROJECT_INCLUDE="$ROOT/tools/wheels_fix.cmake"  # changes nothing with a distribution
  cmake --build "$build" --parallel "$(nproc)"
  cmake --install "$build"
}

install_package() {
  local share=$VENV/share folder
  env -u PYTHONPATH DIFFSIM_ENGINE_BUILT=1 "$VENV/bin/python" -m pip install \
    --disable-pip-version-check --no-input --no-build-isolation --no-deps \
    --config-settings editable_mode=compat -e "$ROOT"
  # What colcon would install: the ament index then knows diffsim_ros and its share folder.
  install -D -m 644 "$ROOT/resource/diffsim_ros" \
    "$share/ament_index/resource_index/packages/diffsim_ros"
  mkdir -p "$share/diffsim_ros"
  for folder in package.xml launch config urdf data; do
    ln -sfn "$ROOT/$folder" "$share/diffsim_ros/$folder"
  done
}

# --- system packages ----------------------------------------------------------------------------

install_system_packages() {
  local missing=() python_packages=()
  command -v g++ > /dev/null || missing+=(g++)
  command -v cmake > /dev/null || missing+=(cmake)
  command -v ninja > /dev/null || missing+=(ninja-build)
  [[ -e /usr/include/eigen3/Eigen/Core || -e /usr/local/include/eigen3/Eigen/Core ]] ||
    missing+=(libeigen3-dev)
  if [[ ! -x $VENV/bin/python ]]; then
    if ! find_python > /dev/null; then
      check_python_can_come_from_apt
      python_packages=(python3 python3-venv python3-dev)
    fi
    missing+=("${python_packages[@]}")
    say "system packages needed: g++ cmake ninja-build libeigen3-dev, Python 3.11 or 3.12 with" \
      "venv and headers; missing: ${missing[*]:-none}"
  fi
  ((${#missing[@]})) || return 0

  command -v apt-get > /dev/null || die "missing system packages: ${missing[*]}"
  may_install ||
    die "install this as root, or through sudo with ./run --yes: ${APT[*]} ${missing[*]}"
  if ! apt_install "${missing[@]}"; then
    tail -n 15 "$BUILD/log/apt.log" >&2
    die "failed: ${APT[*]} ${missing[*]} (whole log: $BUILD/log/apt.log)"
  fi
  hash -r
  if [[ ! -x $VENV/bin/python ]] && ! find_python > /dev/null; then
    die "no usable Python after installing ${missing[*]}: set PYTHON=/path/to/python3 (3.11, 3.12)"
  fi
}

# As root always, else through sudo if that was agreed to.
may_install() {
  ((EUID == 0)) || { [[ $YES == true || $YES == 1 ]] && command -v sudo > /dev/null; }
}

apt_install() {  # PACKAGES...; what apt says goes to a log
  local sudo=() apt=("${APT[@]}" "$@")
  if ((EUID)); then
    sudo=(sudo)
    [[ -z ${CI-} ]] || sudo+=(-n)
  fi
  say "${apt[*]}"
  sudo+=(env DEBIAN_FRONTEND=noninteractive)
  { "${sudo[@]}" "${apt[@]}" || { "${sudo[@]}" apt-get update && "${sudo[@]}" "${apt[@]}"; }; } \
    > "$BUILD/log/apt.log" 2>&1 < /dev/null
}

# OpenVDB reads and writes level sets. All else works without it, so its absence stops nobody.
has_openvdb() {
  [[ -e /usr/include/openvdb/openvdb.h && -e /usr/include/boost/version.hpp ]]
}

install_openvdb() {
  if ! command -v apt-get > /dev/null || ! may_install || ! apt_install "${OPENVDB[@]}"; then
    say "no OpenVDB: .vdb files are refused and level sets not cached (${APT[*]} ${OPENVDB[*]})"
  fi
}

# Without them Open3D cannot be imported: point clouds are refused, all else works.
has_open3d_libraries() {
  local found library
  found=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p)
  for library in libusb-1.0.so.0 libGL.so.1 libEGL.so.1 libgomp.so.1; do
    [[ $found == *"$library"* ]] || return 1
  done
}

install_open3d_libraries() {
  if ! command -v apt-get > /dev/null || ! may_install || ! apt_install "${OPEN3D[@]}"; then
    say "no Open3D: point clouds are refused (${APT[*]} ${OPEN3D[*]})"
  fi
}

# ask_once NAME COMMAND...: what may fail and is not tried again in this checkout
ask_once() {
  [[ -e $BUILD/log/$1.asked ]] || { touch "$BUILD/log/$1.asked"; "${@:2}"; }
}

# Prints the interpreter for .venv: 3.11 or 3.12, with venv, pip and headers.
find_python() {
  local candidate candidates=(python3 python3.12 python3.11 /usr/bin/python3)
  [[ $ROS_MODE != distribution ]] || candidates=(/usr/bin/python3)
  [[ -z ${PYTHON-} ]] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if "$candidate" -c '
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)) or not os.path.exists(header))' \
      > /dev/null 2>&1; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# Ends with one line where installing Debian's python3 would not help.
check_python_can_come_from_apt() {
  local version
  [[ -z ${PYTHON-} ]] ||
    die "PYTHON=$PYTHON: must be Python 3.11 or 3.12 with venv, ensurepip and its headers"
  version=$(python_version /usr/bin/python3)
  [[ $version =~ ^(3\.11|3\.12|)$ ]] ||
    die "the system's Python is $version, the ROS wheels need 3.11 or 3.12: set PYTHON=/path/to/one"
}

python_version() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null || true
}

# --- ROS: a distribution or the wheels, never both ----------------------------------------------

# Sets ROS_MODE: distribution (sourced, or in /opt/ros/jazzy) or wheels.
choose_ros() {
  local why
  ROS_MODE=wheels
  if [[ -z ${AMENT_PREFIX_PATH-} && ${DIFFSIM_ROS-} != wheels && -f $ROS_ROOT/setup.bash ]]; then
    unset PYTHONPATH
    set +u
    source "$ROS_ROOT/setup.bash"
    set -u
  fi
  if [[ -n ${AMENT_PREFIX_PATH-} ]]; then
    why=$(why_not_distribution)
    [[ -n $why ]] || { ROS_MODE=distribution; return 0; }
    say "the ROS distribution in ${AMENT_PREFIX_PATH%%:*} is not used ($why): wheels of PyPI instead"
  fi
  forget_ros
}

why_not_distribution() {
  local package version
  [[ ${DIFFSIM_ROS-} != wheels ]] || { echo "DIFFSIM_ROS=wheels"; return; }
  [[ ${ROS_DISTRO-} == jazzy ]] || { echo "it is '${ROS_DISTRO-}', not jazzy"; return; }
  for package in "${ROS_NEEDS[@]}"; do
    has_ros_package "$package" || { echo "it lacks $package"; return; }
  done
  version=$(python_version "${PYTHON:-/usr/bin/python3}")
  has_ros_file "lib/python$version/site-packages/rclpy" ||
    echo "its rclpy is not for ${PYTHON:-/usr/bin/python3}, Python $version"
}

has_ros_package() { has_ros_file "share/ament_index/resource_index/packages/$1"; }

has_ros_file() {
  local prefix
  local IFS=:
  for prefix in ${AMENT_PREFIX_PATH-}; do
    [[ ! -e $prefix/$1 ]] || return 0
  done
  return 1
}

absent_overlay_packages() {
  local package absent=()
  for package in "${OVERLAY[@]}"; do
    has_ros_package "$package" || absent+=("$package")
  done
  echo "${absent[*]-}"
}

forget_ros() {
  local prefix
  while IFS= read -r -d: prefix; do
    [[ -z $prefix ]] || { drop_below PATH "$prefix"; drop_below LD_LIBRARY_PATH "$prefix"; }
  done <<< "${AMENT_PREFIX_PATH-}:"
  unset AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH PYTHONPATH \
    ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION
}

# --- environment --------------------------------------------------------------------------------

# Drops the caller's virtual environment, and our own where `run` was called inside `run`.
forget_callers_environment() {
  local variable
  for variable in PATH LD_LIBRARY_PATH AMENT_PREFIX_PATH CMAKE_PREFIX_PATH; do
    drop_below "$variable" "$VENV"
  done
  [[ -z ${VIRTUAL_ENV-} ]] || drop_below PATH "$VIRTUAL_ENV"
  unset VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONSTARTUP _ROS_WHEELS_BOOTSTRAP_COMPLETE
  [[ -n ${AMENT_PREFIX_PATH-} ]] || unset PYTHONPATH
}

# drop_below VARIABLE PREFIX: removes the entries of a search path that are PREFIX or below it
drop_below() {
  local entry kept=
  [[ -n ${!1-} ]] || return 0
  while IFS= read -r -d: entry; do
    [[ $entry == "$2" || $entry == "$2"/* ]] || kept+=${kept:+:}$entry
  done <<< "${!1}:"
  if [[ -n $kept ]]; then export "$1=$kept"; else unset "$1"; fi
}

enter_environment() {
  local folder libraries=$VENV/lib
  for folder in "$VENV"/lib/python3*/site-packages/ros_*.libs; do
    [[ ! -d $folder ]] || libraries+=:$folder
  done
  export VIRTUAL_ENV=$VENV
  export PATH=$VENV/bin:$PATH
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export AMENT_PREFIX_PATH=$VENV${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}
  export CMAKE_PREFIX_PATH=$VENV${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  [[ $ROS_MODE == wheels ]] || return 0
  # The wheels' start-up hook would set the library path by starting Python a second time.
  export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
  export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
}

# A ROS_DOMAIN_ID that no other run on this machine has; held until this process ends.
claim_ros_domain() {
  local id lock
  for id in $(shuf -i 1-100); do
    { exec {lock}> "${TMPDIR:-/tmp}/diffsim_ros_domain_$id.lock"; } 2> /dev/null || continue
    if flock -n "$lock"; then
      export ROS_DOMAIN_ID=$id
      return 0
    fi
    exec {lock}>&-
  done
  die "ROS_DOMAIN_ID: all of 1 to 100 are taken by other test runs"
}
