#!/usr/bin/env bash
# Makes sure that what the other systems are built with is there.
#
# On Debian and Ubuntu, root gets the missing packages installed; anyone else is told what to
# install. Whatever is still missing leaves its system out of the comparison, no more.
set -euo pipefail

missing=()
pkg-config --exists libzmq 2>/dev/null || missing+=(libzmq3-dev)
command -v javac >/dev/null || missing+=(openjdk-17-jdk-headless)
command -v mvn >/dev/null || missing+=(maven)
# nats-server says in its go.mod which Go it needs; Debian's may be older.
command -v go >/dev/null || missing+=(golang-go)

((${#missing[@]})) || exit 0
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "installing: ${missing[*]}" >&2
    if apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            "${missing[@]}" >/dev/null; then
        exit 0
    fi
fi
echo "missing; as root: apt-get install ${missing[*]}" >&2
