#!/bin/sh
# Builds sdist and wheel as a release is built, installs the wheel with all it needs from the registry into a fresh
# environment, and runs it there, through uvx and through pipx. Needs the network. Leaves dist/ behind.
set -eu
cd "$(dirname "$0")/.."
tools=.venvs/release
[ -x "$tools/bin/pip" ] || "${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --upgrade build uv pipx
rm -rf dist
"$tools/bin/python" -m build --outdir dist . >/dev/null
wheel=$(ls "$PWD"/dist/mcp_loupe-*.whl)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools="$PWD/$tools/bin"
cd "$scratch"
export HOME="$scratch/home" PIPX_HOME="$scratch/pipx" UV_CACHE_DIR="$scratch/uv"
mkdir "$HOME"

check() { # what it is called, then the command: it has to list the demo
  name=$1; shift
  tools_seen=$("$@" list --json demo:flat 2>"$scratch/stderr" | "$tools/python" -c 'import json, sys; print(json.load(sys.stdin)["totals"]["tools"])') ||
    { cat "$scratch/stderr" >&2; echo "$name: failed" >&2; exit 1; }
  echo "$name: $("$@" --version), demo:flat has $tools_seen tools"
}

"$tools/python" -m venv fresh
fresh/bin/pip install --quiet "$wheel[code,fast,otel]"
check "fresh environment" fresh/bin/mcp-loupe
check uvx "$tools/uvx" --quiet --from "$wheel" mcp-loupe
check "pipx run" "$tools/pipx" run --quiet --spec "$wheel" mcp-loupe
ls -l "$(dirname "$wheel")" | awk 'NR > 1 {print $NF ": " $5 " bytes"}'
