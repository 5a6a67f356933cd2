#!/usr/bin/env bash
# Builds one program that needs nothing of its system but a C library, and says which: packaging/build.sh [FOLDER]
#
# Where the target for musl and its compiler are installed, nothing is needed at all:
#   rustup target add x86_64-unknown-linux-musl, and a package with musl-gcc
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/dist}
triple=$(rustc -vV | sed -n 's/^host: //p')
musl=${triple%-gnu}-musl
if rustup target list --installed 2>/dev/null | grep -qx "$musl" && command -v musl-gcc >/dev/null; then triple=$musl; fi
cargo build --release --locked -p factum-cli --target "$triple"
built=${CARGO_TARGET_DIR:-target}/$triple/release/factum
mkdir -p "$out"
install -m 0755 "$built" "$out/factum"
install -m 0644 packaging/factum.default.toml packaging/systemd/factum.service "$out/"
"$out/factum" man "$out/man"
mkdir -p "$out/completions"
for shell in bash zsh fish; do "$out/factum" completions "$shell" >"$out/completions/factum.$shell"; done
case $triple in
  *-musl) echo "static: it needs nothing of its system" ;;
  *) # The newest version of a symbol is the oldest C library that has it.
    version=$(grep -aoE 'GLIBC_2\.[0-9]+' "$out/factum" | sort -uV | tail -n 1)
    echo "needs glibc ${version#GLIBC_} or newer, and libgcc" ;;
esac
(cd "$out" && sha256sum factum >factum.sha256 && cat factum.sha256)
