#!/usr/bin/env bash
# test.sh python|crewai|typescript: the tests of a client against the command that FACTUM names, in front of a testbed. With the word `install`
# behind it installs what they need under LAB_CACHE, and does no more. CrewAI pins versions that others do not go with: it stands alone.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../labs/lib.sh"
pytest='pytest==9.2.0 pytest-asyncio==1.5.0'
case ${1:?test.sh python, crewai or typescript} in
  python)
    # shellcheck disable=SC2086
    lab_venv client-python httpx==0.28.1 pydantic==2.14.4 $pytest mypy==2.4.1 ruff==0.17.6 \
      langchain==1.5.2 openai-agents==0.24.0 pydantic-ai-slim==2.68.0 claude-agent-sdk==0.2.189
    ;;
  crewai)
    # shellcheck disable=SC2086
    lab_venv client-crewai httpx==0.28.1 $pytest crewai==1.15.30
    ;;
  typescript)
    lab_apt node nodejs; lab_apt npm npm
    modules=$LAB_CACHE/client-typescript
    if ! cmp -s "$here/typescript/package-lock.json" "$modules/ready"; then
      mkdir -p "$modules"
      cp "$here/typescript/package.json" "$here/typescript/package-lock.json" "$modules"
      (cd "$modules" && npm ci --silent --no-audit --no-fund >&2)
      cp "$here/typescript/package-lock.json" "$modules/ready"
    fi
    ;;
  *) echo "test.sh python, crewai or typescript" >&2; exit 2 ;;
esac
if [ "${2:-}" = install ]; then exit 0; fi
FACTUM_BIN=$(realpath "${FACTUM:?names the command factum}"); export FACTUM_BIN

# Tests may leave files; a source folder is no place for them.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
case $1 in
  python | crewai)
    cp -r "$here/python/." "$copy"; cd "$copy"
    bin=$LAB_CACHE/client-$1/bin
    export PYTHONPATH=$copy/src PYTHONDONTWRITEBYTECODE=1 CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true HOME=$copy
    if [ "$1" = crewai ]; then "$bin/python" -m pytest -q -W ignore tests/test_adapter_crewai.py; exit; fi
    "$bin/ruff" check src tests
    # CrewAI is not in this environment.
    "$bin/mypy" --strict --exclude 'adapters/crewai' src
    "$bin/python" -m pytest -q
    ;;
  typescript)
    (cd "$here/typescript" && tar c --exclude=node_modules --exclude=dist .) | tar x -C "$copy"
    ln -s "$modules/node_modules" "$copy/node_modules"
    cd "$copy"
    node_modules/.bin/tsc
    node --test dist/tests/
    ;;
esac
