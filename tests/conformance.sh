#!/usr/bin/env bash
# The official conformance suite (npm, pinned) drives our client through every scenario two revisions require.
# `make conformance`; needs npm. What it prints is kept in docs/conformance.md by hand.
set -eu
cd "$(dirname "$0")/.."
LAB=.venvs/conformance
CLIENT="$PWD/.venv/bin/python -m inspector conformance"
VERSION=0.2.0-alpha.12
if [ "$(cat "$LAB/.version" 2>/dev/null)" != "$VERSION" ]; then
  mkdir -p "$LAB"
  (cd "$LAB" && npm init -y >/dev/null && npm install --silent --no-fund --no-audit node@22 "@modelcontextprotocol/conformance@$VERSION")
  echo "$VERSION" >"$LAB/.version"
fi
export PYTHONPATH=$PWD
failed=0
for revision in 2026-07-28 2025-11-25; do
  echo "== client scenarios required by $revision, suite $VERSION"
  # Our own expectations are none: an exception would stand in docs/conformance.md with its reason.
  "$LAB/node_modules/.bin/node" "$LAB/node_modules/@modelcontextprotocol/conformance/dist/index.js" client \
    --command "$CLIENT" --requirements "$revision" --timeout 60000 -o "$LAB/results-$revision" || failed=1
done
exit $failed
