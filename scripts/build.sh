#!/usr/bin/env bash
# Builds the program for one target as releases have it, and prints its path.
#
#   scripts/build.sh TARGET [FEATURES]          cargo build --release
#   scripts/build.sh --check TARGET [FEATURES]  cargo check, for targets that cannot be linked here
#
# The bytes depend on the commit, the compiler and the linker alone: paths of this machine are replaced. zig (by
# cargo-zigbuild) compiles the C code and links. Without the target's standard library (`rustup target add TARGET`), it is
# built from source.
set -euo pipefail
cd "$(dirname "$0")/.."
verb=zigbuild
[ "${1:-}" != --check ] || { verb=check && shift; }
target=${1:?the target, such as x86_64-unknown-linux-musl}
features=${2:-}
cache=$(realpath -m "${TIDEGATE_CHECK_CACHE:-.cache}")/cross
zig=0.17.0 zigbuild=0.24.0

say() { echo "$*" >&2; }

if [ ! -x "$cache/venv-$zig-$zigbuild/bin/cargo-zigbuild" ]; then
  say "installing zig $zig and cargo-zigbuild $zigbuild, once"
  mkdir -p "$cache" && rm -rf "$cache"/venv-*
  python3 -m venv "$cache/venv-$zig-$zigbuild"
  "$cache/venv-$zig-$zigbuild/bin/pip" install --quiet --disable-pip-version-check "ziglang==$zig" "cargo-zigbuild==$zigbuild"
fi
export PATH=$cache/venv-$zig-$zigbuild/bin:$PATH CARGO_INCREMENTAL=0

has_std() { compgen -G "$(rustc --print sysroot)/lib/rustlib/$target/lib/libstd-*.rlib" >/dev/null; }

options=(--release --locked --package tidegate --target "$target")
[ -z "$features" ] || options+=(--features "$features")
flags="--remap-path-prefix=$PWD=/tidegate --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
if ! has_std; then
  toolchain=$(scripts/std_source.sh "$cache")
  export PATH=$toolchain/bin:$PATH RUSTC_BOOTSTRAP=1
  # The target's own start files and C library would come with its standard library; zig has them too.
  flags+=" --remap-path-prefix=$toolchain/lib/rustlib/src/rust=/rust -C link-self-contained=no"
  options+=(-Z build-std=std,panic_unwind)
  say "building the standard library for $target from source"
fi
# mimalloc says when it was compiled for Windows, which zig takes for an error: the bytes would not be reproducible.
[ "$verb" != check ] || export CFLAGS="${CFLAGS:-} -Wno-date-time"
RUSTFLAGS="$flags ${RUSTFLAGS:-}" cargo-zigbuild "$verb" "${options[@]}" >&2
[ "$verb" = check ] || echo "${CARGO_TARGET_DIR:-$PWD/target}/$target/release/tidegate"
