#!/usr/bin/env bash
# Puts nats-server into the cache of this project and prints its path. Needs no root, changes nothing else.
#   scripts/nats-server.sh                  a current one, for everything
#   scripts/nats-server.sh --distribution   the one of this release of the distribution, for tests on an old server
# Works on Debian and what descends from it. A server that is there already is left alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A release that carries a current server; packages of it run on older ones, as the server is linked statically.
readonly suite=forky
kind=current
if [ "${1:-}" = --distribution ]; then kind=distribution; fi
readonly kind
readonly target="$PWD/.cache/nats/$kind"

if [ -x "$target/nats-server" ]; then
  printf '%s\n' "$target/nats-server"
  exit 0
fi

elsewhere() {
  cat >&2 <<'TEXT'
nats-server cannot be fetched here: that takes Debian's apt-get and dpkg. Install version 2.12 or later (most package
managers have it as nats-server, and NATS publishes a binary for every platform), and put it into PATH or name it
by NATS_SERVER_BIN.
TEXT
  exit 1
}
for tool in apt-get apt-config dpkg; do
  command -v "$tool" >/dev/null || elsewhere
done

mkdir -p "$PWD/.cache/nats"
work="$(mktemp -d "$PWD/.cache/nats/fetch.XXXXXX")"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"

# The addresses of the release this machine takes its packages from, whatever mirror that is.
mirrors() {
  local parts main
  eval "$(apt-config shell parts Dir::Etc::sourceparts/d main Dir::Etc::sourcelist/f)"
  # One line an address in *.list; fields in *.sources, where comments begin with # too.
  cat "$parts"/*.sources 2>/dev/null | sed -n 's/^URIs:[[:space:]]*//p' | tr ' ' '\n'
  cat "$main" "$parts"/*.list 2>/dev/null | sed -nE 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\2/p'
}
mirror="$(mirrors | grep -vE 'security|/node_|updates' | grep -m1 -E '/debian/?$' || true)"

# Not as the user _apt, which may not read this folder; with bounds, as a machine may be offline.
options=(
  -o "Dir::State::Lists=$work/lists"
  -o "Dir::Cache::Archives=$work/archives"
  -o "Dir::Cache::pkgcache="
  -o "Dir::Cache::srcpkgcache="
  -o "APT::Sandbox::User="
  -o "APT::Get::List-Cleanup=0"
  -o "Acquire::Languages=none"
  -o "Acquire::Retries=2"
  -o "Acquire::http::Timeout=20"
  -o "Acquire::https::Timeout=20"
)
if [ "$kind" = current ]; then
  [ -n "$mirror" ] || elsewhere
  # The keys of the distribution alone: what is fetched has to carry its signature.
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$suite" \
    >"$work/sources.list"
  options+=(-o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-")
fi

cd "$work"
apt-get "${options[@]}" -qq update >&2
apt-get "${options[@]}" -qq download nats-server >&2
dpkg -x nats-server_*.deb "$work/root"
binary="$(find "$work/root" -type f -name nats-server -perm -u+x | head -n1)"
[ -n "$binary" ] || { echo 'the package holds no nats-server' >&2; exit 1; }
"$binary" --version >&2
# Renamed into place whole: two that fetch at once do not disturb each other.
mkdir "$work/done"
mv "$binary" "$work/done/nats-server"
mv -T "$work/done" "$target" 2>/dev/null || [ -x "$target/nats-server" ]
printf '%s\n' "$target/nats-server"
