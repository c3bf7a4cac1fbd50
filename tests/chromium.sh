#!/bin/sh
# Brings a Chromium for the browser tests where there is none: the system's package, else Playwright's own build.
set -eu
cd "$(dirname "$0")/.."
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if .venv/bin/python tests/browser_path.py >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null && exit 0
fi
exec .venv/bin/playwright install chromium
