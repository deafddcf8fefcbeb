#!/usr/bin/env bash
# Makes a toolchain that can build the standard library for targets that rustup cannot download here, and prints its folder.
#
#   scripts/std_source.sh FOLDER
#
# rustup's component `rust-src` is used if it is installed. Otherwise the sources come from Debian's package `rust-src`, which
# must have exactly the version of the compiler. The toolchain is then a copy with the sources in it, where cargo looks for them;
# the installed one is not changed.
set -euo pipefail
folder=$1
suites=(trixie-backports forky sid)

root=$(rustc --print sysroot)
version=$(rustc --version | cut -d' ' -f2)
toolchain=$folder/toolchain-$version
source=lib/rustlib/src/rust
say() { echo "$*" >&2; }

has_source() { [ -f "$1/$source/library/std/Cargo.toml" ]; }

# Downloads the package with an apt of its own, so that the system's lists stay as they are.
from_debian() {
  local work site options suite
  work=$(mktemp -d)
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m1 '/debian$') ||
    { say "apt has no archive of Debian here; install the sources with: rustup component add rust-src" && return 1; }
  mkdir -p "$work/lists/partial" "$work/archives/partial"
  for suite in "${suites[@]}"; do echo "deb $site $suite main"; done >"$work/sources.list"
  options=(-q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2
  local package
  package=$(apt-cache "${options[@]}" madison rust-src | awk -v want="$version+" 'index($3, want) == 1 { print $3; exit }')
  [ -n "$package" ] || { say "Debian has no rust-src $version" && return 1; }
  (cd "$work" && apt-get "${options[@]}" download "rust-src=$package" >&2 && dpkg-deb -x ./*.deb unpacked)
  mkdir -p "$1/$source"
  cp -r "$work/unpacked/usr/src/rustc-$version/library" "$1/$source/"
  rm -rf "$work"
}

if has_source "$root"; then
  echo "$root"
  exit
fi
if ! has_source "$toolchain"; then
  say "making a toolchain with the sources of the standard library, once, in $toolchain"
  rm -rf "$toolchain.new" && mkdir -p "$toolchain.new"
  for part in bin lib libexec; do
    [ ! -d "$root/$part" ] || cp -al "$root/$part" "$toolchain.new/" 2>/dev/null || cp -a "$root/$part" "$toolchain.new/"
  done
  from_debian "$toolchain.new"
  rm -rf "$toolchain" && mv "$toolchain.new" "$toolchain"
fi
echo "$toolchain"
