#!/usr/bin/env bash
# build.sh FACTUM FOLDER: a wheel and an npm package that carry a program `factum`, in a folder. Needs pip and npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:?build.sh FACTUM FOLDER}"); mkdir -p "${2:?build.sh FACTUM FOLDER}"; out=$(realpath "$2")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$here/python" "$here/npm" "$work"; mkdir "$work/npm/bin"
cp "$here/README.md" "$work/python"; cp "$here/README.md" "$work/npm"
cp "$program" "$work/npm/bin/factum"
# What debuggers need is most of a program that was built for tests.
if command -v strip >/dev/null; then strip "$work/npm/bin/factum"; fi
chmod 755 "$work/npm/bin/factum"; ln "$work/npm/bin/factum" "$work/python/factum"
"${PYTHON:-python3}" -m pip wheel --disable-pip-version-check -q --no-deps -w "$out" "$work/python"
(cd "$work/npm" && npm pack --silent --pack-destination "$out" >/dev/null)
ls "$out"/factum_engine-*.whl "$out"/factum-engine-*.tgz
