#!/usr/bin/env bash
# Proves that bloom, which releases ROS packages, can write a Debian package of each of ours: in a
# temporary copy of what is committed, with the rosdep keys of tools/rosdep.yaml alone.
#   tools/bloom_check.sh [FOLDER]    FOLDER: where the debian/ folders are left to be looked at
# Prints one line a package: 'bloom NAME: ok'. Exits 1 at the first thing that is wrong.
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
BLOOM=0.14.4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'bloom %s\n' "$*" >&2; exit 1; }

if ! command -v bloom-generate > /dev/null; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check "bloom==$BLOOM"
  export PATH=$work/venv/bin:$PATH
fi

# A distribution's index without packages: all that ours need stands in tools/rosdep.yaml.
mkdir -p "$work/index/jazzy" "$work/sources" "$work/home"
cat > "$work/index/index-v4.yaml" <<EOF
%YAML 1.1
---
distributions:
  jazzy:
    distribution: [jazzy/distribution.yaml]
    distribution_cache: file://$work/index/jazzy-cache.yaml.gz
    distribution_status: active
    distribution_type: ros2
    python_version: 3
type: index
version: 4
EOF
printf '%%YAML 1.1\n---\nrelease_platforms: {ubuntu: [noble]}\nrepositories: {}\n' \
  > "$work/index/jazzy/distribution.yaml"
printf 'type: distribution\nversion: 2\n' >> "$work/index/jazzy/distribution.yaml"
{
  printf 'name: jazzy\ntype: cache\nversion: 2\nrelease_package_xmls: {}\ndistribution_file:\n- '
  sed -n '3,$s/^/  /p' "$work/index/jazzy/distribution.yaml" | sed '1s/^  //'
} | gzip > "$work/index/jazzy-cache.yaml.gz"
printf 'yaml file://%s\n' "$ROOT/tools/rosdep.yaml" > "$work/sources/20-default.list"
export HOME=$work/home ROS_HOME=$work/home ROSDEP_SOURCE_PATH=$work/sources
export ROSDISTRO_INDEX_URL=file://$work/index/index-v4.yaml
rosdep update --rosdistro jazzy > "$work/rosdep.log" 2>&1 || { cat "$work/rosdep.log" >&2; exit 1; }
# Our interfaces are released first.
{
  cat "$ROOT/tools/rosdep.yaml"
  echo 'diffsim_interfaces: {ubuntu: [ros-jazzy-diffsim-interfaces]}'
} > "$work/keys.yaml"

release() {  # NAME TREE: of git
  local name=$1 copy=$work/$1 debian
  mkdir "$copy"
  git -C "$ROOT" archive "$2" | tar x -C "$copy"
  git -C "$copy" init -q
  git -C "$copy" -c user.name=- -c user.email=- commit -q --allow-empty -m -
  # Without a terminal bloom asks nothing, and ends where it would ask.
  (cd "$copy" && bloom-generate rosdebian --ros-distro jazzy --os-name ubuntu --os-version noble) \
    > "$work/$name.log" 2>&1 < /dev/null || { tail -n 20 "$work/$name.log" >&2; fail "$name"; }
  if grep -E 'WARNING|[Cc]ould not|No CHANGELOG' "$work/$name.log"; then fail "$name: warned"; fi
  debian=$copy/debian
  [[ -s $debian/copyright ]] || fail "$name: without a licence"
  grep -q "^Package: ros-jazzy-${name//_/-}\$" "$debian/control" || fail "$name: $debian/control"
  [[ $# -lt 3 ]] || { mkdir -p "$3/$name"; cp -r "$debian" "$3/$name/"; }
  printf 'bloom %s: ok\n' "$name"
}

release diffsim_interfaces HEAD:interfaces "$@"
printf 'yaml file://%s\n' "$work/keys.yaml" > "$work/sources/20-default.list"
rosdep update --rosdistro jazzy > "$work/rosdep.log" 2>&1 || { cat "$work/rosdep.log" >&2; exit 1; }
release diffsim_ros HEAD "$@"
