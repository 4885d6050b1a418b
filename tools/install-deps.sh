#!/bin/sh
# Installs the Debian packages that building and testing need; says first which. Does nothing, and
# quickly, when all are there. Needs root or sudo only when something is missing.
set -eu

packages="gcc libc6-dev make meson ninja-build pkg-config python3 python3-jsonschema python3-yaml
clang libclang-rt-14-dev
libcmocka-dev libjansson-dev libyaml-dev libxxhash-dev libsmartcols-dev
libsqlite3-dev libsodium-dev libuv1-dev libmicrohttpd-dev
libgnutls28-dev libcurl4-openssl-dev libsystemd-dev
tzdata"

if ! command -v dpkg-query >/dev/null; then
        echo "install-deps: this is no Debian; these packages (or their like) are needed:" $packages >&2
        exit 0
fi

present=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii *//p')
missing=
for package in $packages; do
        printf '%s\n' "$present" | grep -qx "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
                echo "install-deps: missing:$missing" >&2
                echo "install-deps: run this as root, or install them yourself:" >&2
                echo "  apt-get install --no-install-recommends$missing" >&2
                exit 1
        fi
        as_root=sudo
fi

echo "install-deps: installing with apt-get:$missing"
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends $missing
