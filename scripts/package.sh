#!/usr/bin/env bash
# Builds the program and makes every package of a release, into dist/. Publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'END'
Usage: scripts/package.sh [OPTION...]

  --target TARGET        a target to build for; may be repeated
                         [default: x86_64-unknown-linux-musl and aarch64-unknown-linux-musl]
  --features LIST        cargo features of the program in the packages [default: none]
  --image-features LIST  cargo features of the program in the images [default: gateway, if there is that feature]
  --program FILE         package this program instead of building one; may be repeated
  --image-program FILE   the same for the images
  --out DIR              the folder to write [default: dist]
  --fast                 compress little; for tests
  --allow-dirty          build although there are changes that are not committed

Writes npm packages, wheels, archives for downloads and cargo binstall, the sources, images, a formula for Homebrew, a
CycloneDX SBOM for each target, and SHA256SUMS. One build for each target goes into all packages. The images get one of
their own with the gateway, which is what they are for, if that is a feature.
END
}

targets=() programs=() image_programs=() features='' image_features='' others=() allow_dirty=
while [ $# -gt 0 ]; do
  case $1 in
    --target) targets+=("$2") && shift 2 ;;
    --features) features=$2 && shift 2 ;;
    --image-features) image_features=$2 && shift 2 ;;
    --program) programs+=("$2") && shift 2 ;;
    --image-program) image_programs+=("$2") && shift 2 ;;
    --out) others+=(--out "$2") && shift 2 ;;
    --fast) others+=(--fast) && shift ;;
    --allow-dirty) allow_dirty=1 && shift ;;
    -h | --help) usage && exit ;;
    *) echo "no option \`$1\`; scripts/package.sh --help lists them" >&2 && exit 2 ;;
  esac
done

[ ${#targets[@]} -gt 0 ] || targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
if [ -z "$image_features" ] && grep -q '^gateway *=' crates/cli/Cargo.toml; then image_features=gateway; fi
[ "$image_features" != "$features" ] || image_features=

if [ ${#programs[@]} -eq 0 ]; then
  # The packages name a commit, so they must be what it gives.
  if [ -z "$allow_dirty" ] && [ -n "$(git status --porcelain)" ]; then
    echo "there are changes that are not committed; commit them, or use --allow-dirty for a trial" >&2 && exit 1
  fi
  # The builds of one target with different features share a folder, so each program is put aside.
  aside=$(mktemp -d)
  trap 'rm -rf "$aside"' EXIT
  for target in "${targets[@]}"; do
    if [ -n "$image_features" ]; then
      cp "$(scripts/build.sh "$target" "$image_features")" "$aside/image-$target"
      image_programs+=("$aside/image-$target")
    fi
    cp "$(scripts/build.sh "$target" "$features")" "$aside/$target"
    programs+=("$aside/$target")
  done
fi

# The certificates of this machine may include private ones, so those of a package are used, pinned as they are part of the images.
venv=${TIDEGATE_CHECK_CACHE:-.cache}/packaging
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps -r /dev/stdin <<<"\
certifi==2026.10.18 --hash=sha256:73191c47aaa79da394e8fee2dbc2ec827432cab56311122c9e47abf79e390f62"
certificates=$("$venv/bin/python" -c 'import certifi; print(certifi.where())')

"$venv/bin/python" scripts/package.py --features "$features" --image-features "$image_features" --certificates "$certificates" \
  "${programs[@]/#/--program=}" ${image_programs[@]+"${image_programs[@]/#/--image-program=}"} "${others[@]}"
