#!/usr/bin/env bash
# 1. The official conformance suite (npm, pinned) drives our client through every scenario two revisions require, one
#    after the other: its own `--requirements` starts all at once, which two cores do not get through in its time-outs.
# 2. The doctor looks at the server of each of its client scenarios. 3. Our own stdio suite judges our client, and for
#    comparison the SDK's, whose verdict counts for nothing.
# `make conformance`; needs npm. Exit 1 when a scenario fails; docs/conformance.md keeps what it printed.
set -u
cd "$(dirname "$0")/.."
LAB=.venvs/conformance
VERSION=0.2.0-alpha.12
if [ "$(cat "$LAB/.version" 2>/dev/null)" != "$VERSION" ]; then
  mkdir -p "$LAB"
  (cd "$LAB" && npm init -y >/dev/null && npm install --silent --no-fund --no-audit node@22 "@modelcontextprotocol/conformance@$VERSION") || exit 1
  echo "$VERSION" >"$LAB/.version"
fi
export PYTHONPATH=$PWD
PYTHON=$PWD/.venv/bin/python
NODE=$PWD/$LAB/node_modules/.bin/node
SUITE=$PWD/$LAB/node_modules/@modelcontextprotocol/conformance/dist/index.js
suite() { "$NODE" "$SUITE" "$@" 2>&1; }
failed=0
for revision in 2026-07-28 2025-11-25; do
  scenarios=$(suite list --client --requirements "$revision" | sed -n '/^Client scenarios/,/^$/p' | sed -n 's/^  - //p')
  [ -n "$scenarios" ] || { echo "the suite lists no scenario for $revision"; exit 1; }
  passed=0 count=0
  echo "== client scenarios required by $revision, suite $VERSION"
  for scenario in $scenarios; do
    count=$((count + 1))
    log="$LAB/$revision-${scenario//\//_}.txt"
    suite client --command "$PYTHON -m inspector conformance" --scenario "$scenario" \
      --spec-version "$revision" --timeout 60000 >"$log"
    checks=$(sed -n 's/^Passed: //p' "$log")
    if grep -q 'OVERALL: PASSED' "$log"; then
      passed=$((passed + 1))
      echo "pass  $scenario  ($checks)"
    else
      failed=1
      echo "FAIL  $scenario  ($checks); see $log"
    fi
  done
  echo "$passed of $count pass"
done
echo "== the doctor at the servers of the client scenarios"
"$PYTHON" tests/conformance_doctor.py "$NODE" "$SUITE" || failed=1
echo "== stdio scenarios, our client"
"$PYTHON" -m inspector conformance --stdio -- "$PYTHON" -m inspector conformance -- || failed=1
echo "== stdio scenarios, the SDK's client (for comparison)"
"$PYTHON" -m inspector conformance --stdio -- "$PYTHON" tests/servers/sdk_stdio_client.py
exit $failed
