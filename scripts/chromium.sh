#!/usr/bin/env bash
# Installs the distribution's Chromium where the tests of the page have no browser. Needs apt-get and root.
set -euo pipefail

if [ -n "${CHROMIUM_PATH:-}" ]; then
  [ -x "$CHROMIUM_PATH" ] && exit 0
  printf 'CHROMIUM_PATH names no program: %s\n' "$CHROMIUM_PATH" >&2
  exit 1
fi
for program in chromium chromium-browser google-chrome; do
  if [ -x "/usr/bin/$program" ]; then exit 0; fi
done
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo 'No Chromium here, and none can be installed; set CHROMIUM_PATH to where one is.' >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update >&2
apt-get -qq install --yes --no-install-recommends chromium fonts-dejavu-core >&2
