#!/usr/bin/env bash
# test.sh python|outbox|crewai|typescript|packages: the tests of a client against the command that FACTUM names, in front of a testbed. With the word `install`
# behind it installs what they need under LAB_CACHE, and does no more. CrewAI pins versions that others do not go with: it stands alone.
# For `outbox` SERVER names a PostgreSQL server whose user may make databases.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../labs/lib.sh"
pytest='pytest==9.2.0 pytest-asyncio==1.5.0'
case ${1:?test.sh python, outbox, crewai, typescript or packages} in
  python)
    # shellcheck disable=SC2086
    lab_venv client-python httpx==0.28.1 pydantic==2.14.4 $pytest mypy==2.4.1 ruff==0.17.6 \
      langchain==1.5.2 openai-agents==0.24.0 pydantic-ai-slim==2.68.0 claude-agent-sdk==0.2.189
    ;;
  outbox)
    # shellcheck disable=SC2086
    lab_venv client-outbox httpx==0.28.1 pydantic==2.14.4 $pytest 'psycopg[binary]==3.3.4' sqlalchemy==2.0.44
    ;;
  crewai)
    # shellcheck disable=SC2086
    lab_venv client-crewai httpx==0.28.1 $pytest crewai==1.15.30
    ;;
  typescript | packages)
    lab_apt node nodejs; lab_apt npm npm
    modules=$LAB_CACHE/client-typescript
    if ! cmp -s "$here/typescript/package-lock.json" "$modules/ready"; then
      mkdir -p "$modules"
      cp "$here/typescript/package.json" "$here/typescript/package-lock.json" "$modules"
      (cd "$modules" && npm ci --silent --no-audit --no-fund >&2)
      cp "$here/typescript/package-lock.json" "$modules/ready"
    fi
    ;;
  *) echo "test.sh python, outbox, crewai, typescript or packages" >&2; exit 2 ;;
esac
if [ "${2:-}" = install ]; then exit 0; fi
FACTUM_BIN=$(realpath "${FACTUM:?names the command factum}"); export FACTUM_BIN

# tutorial NAME PROGRAM FOLDER: what the tutorial's page says, with the commands of a folder, in a folder of its own.
tutorial() {
  mkdir -p "$copy/tutorial/bin"; ln -s "$FACTUM_BIN" "$copy/tutorial/bin/factum"
  (cd "$copy/tutorial" && PATH=$PWD/bin:$3:$PATH python3 "$here/tutorial.py" "$here/../docs/tutorial-$1.md" "$2")
}

# Tests may leave files; a source folder is no place for them.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
case $1 in
  python | outbox | crewai)
    cp -r "$here/python/." "$copy"; cd "$copy"
    bin=$LAB_CACHE/client-$1/bin
    export PYTHONPATH=$copy/src PYTHONDONTWRITEBYTECODE=1 CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true HOME=$copy
    if [ "$1" = crewai ]; then "$bin/python" -m pytest -q -W ignore tests/test_adapter_crewai.py tests/test_adapter_checks.py; exit; fi
    if [ "$1" = outbox ]; then : "${SERVER:?names a server}"; "$bin/python" -m pytest -q tests/test_outbox.py; exit; fi
    "$bin/ruff" check src tests
    # CrewAI is not in this environment.
    "$bin/mypy" --strict --exclude 'adapters/crewai' src
    "$bin/python" -m pytest -q
    tutorial python agent.py "$bin"
    ;;
  typescript)
    (cd "$here/typescript" && tar c --exclude=node_modules --exclude=dist .) | tar x -C "$copy"
    ln -s "$modules/node_modules" "$copy/node_modules"
    cd "$copy"
    node_modules/.bin/tsc
    node --test dist/tests/
    mkdir -p tutorial/node_modules; ln -s "$copy" tutorial/node_modules/factum-client
    tutorial typescript agent.mjs "$modules/node_modules/.bin"
    ;;
  packages)
    # Into environments that have nothing else, without a word about where the program is.
    unset FACTUM_BIN
    python3 -m venv "$copy/venv"; pip=("$copy/venv/bin/pip" install --disable-pip-version-check -q)
    PYTHON=$copy/venv/bin/python "$here/engine/build.sh" "$FACTUM" "$copy/dist"
    cp -r "$here/python" "$copy/python"
    "${pip[@]}" "$copy"/dist/factum_engine-*.whl "$copy/python"
    (cd "$copy" && PATH=/usr/bin:/bin venv/bin/python "$here/engine/try.py")
    (cd "$here/typescript" && mkdir "$copy/typescript" && tar c --exclude=node_modules --exclude=dist .) | tar x -C "$copy/typescript"
    (cd "$copy/typescript" && ln -s "$modules/node_modules" node_modules && node_modules/.bin/tsc && rm node_modules && npm pack --silent --pack-destination "$copy/dist" >/dev/null)
    mkdir "$copy/app"; cp "$here/engine/try.mjs" "$copy/app"; cd "$copy/app"
    npm install --silent --no-audit --no-fund "$copy"/dist/factum-engine-*.tgz "$copy"/dist/factum-client-*.tgz
    npx --no-install factum --version
    node try.mjs
    ;;
esac
