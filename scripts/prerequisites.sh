#!/usr/bin/env bash
# Makes sure that what Tapeline is built and tested with is there.
#
#   scripts/prerequisites.sh [build]   C compiler, libclang, libuuid, libbsd and
#                                      a CMake of 3.30 or later
#   scripts/prerequisites.sh demo      C compiler alone: without a media driver
#   scripts/prerequisites.sh bench     also iproute2 and nftables, for the rows that
#                                      are measured over a network that loses
#   scripts/prerequisites.sh peers     also Go, libzmq, a JDK 17 and Maven, for the other
#                                      systems that are measured in turns
#   scripts/prerequisites.sh tools     also the tools that the host tools are measured
#                                      beside: sockperf, fio, iperf3, rt-tests
#   scripts/prerequisites.sh exchange  also what the exchange is measured beside: a JDK 17 and
#                                      Maven, QuickFIX for C++, valgrind
#   scripts/prerequisites.sh test      also those, a JDK 17, Maven, Chromium, Python 3,
#                                      faketime, tmux, promtool
#   scripts/prerequisites.sh quickfix  QuickFIX for C++ by its Python module, which is
#                                      built for some ten minutes: for interop/fix
#
# On Debian and Ubuntu, root gets the missing packages installed; anyone else
# is told what to install. CMake and QuickFIX go to .tools, for this project only.
# When all is there, nothing is done. Missing test tools fail the call in continuous
# integration (CI is set); elsewhere the tests, and the rows, that need them are
# left out.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:-build}
cmake_least=3.30
quickfix=1.16.0
tools=.tools
# Where ip and nft are, also for those who do not have it in their path.
PATH=$PATH:/usr/sbin:/sbin

has_command() { type -P "$1" > /dev/null; }

# $1 is at least $2.
at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -1) == "$2" ]]; }

cmake_version() { "$1" --version 2> /dev/null | sed -n '1s/^cmake version //p'; }

good_cmake() { has_command "$1" && at_least "$(cmake_version "$1")" "$cmake_least"; }

# A header of a library: what a -dev package brings.
has_header() { echo "#include <$1>" | cc -E -x c - > /dev/null 2>&1; }

has_header_cxx() { echo "#include <$1>" | c++ -std=c++14 -w -E -x c++ - > /dev/null 2>&1; }

# The library that bindgen loads, where its loader looks for it.
has_libclang() {
    [[ -n ${LIBCLANG_PATH:-} ]] && return
    ldconfig -p 2> /dev/null | grep -Eq 'libclang(-[0-9.]+)?\.so' && return
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' > /dev/null
}

# The headers that libclang itself needs to read any C file: stddef.h and such.
has_clang_headers() {
    compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' > /dev/null ||
        compgen -G '/usr/lib/clang/*/include/stddef.h' > /dev/null
}

has_python_venv() { python3 -c 'import ensurepip, venv' > /dev/null 2>&1; }

has_python_headers() {
    local headers
    headers=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2> /dev/null) &&
        [[ -f $headers/Python.h ]]
}

has_jdk() {
    has_command javac && [[ $(javac -version 2>&1) =~ ([0-9]+) ]] && ((BASH_REMATCH[1] >= 17))
}

missing=()
need() { # package, then the check that it is there
    local package=$1
    shift
    "$@" || missing+=("$package")
}

# Installs the packages that are missing, or says which.
# Returns 1 when some are still missing.
install_missing() {
    ((${#missing[@]})) || return 0
    if [[ $(id -u) == 0 ]] && has_command apt-get; then
        echo "installing: ${missing[*]}"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            "${missing[@]}" > /dev/null
        return
    fi
    echo "missing; as root: apt-get install ${missing[*]}" >&2
    return 1
}

compiler() {
    need gcc has_command cc
    need libc6-dev has_header stdio.h
}

demo_tools() {
    missing=()
    compiler
    install_missing
}

build_tools() {
    missing=()
    compiler
    need make has_command make
    need pkg-config has_command pkg-config
    need libclang-dev has_libclang
    has_clang_headers || [[ " ${missing[*]} " == *" libclang-dev "* ]] || missing+=(libclang-dev)
    need uuid-dev has_header uuid/uuid.h
    need libbsd-dev has_header bsd/stdlib.h
    if ! good_cmake "$tools/cmake/bin/cmake" && ! good_cmake cmake; then
        need python3-venv has_python_venv
    fi
    install_missing
}

# A CMake of the project's own, unless the system's will do.
local_cmake() {
    good_cmake "$tools/cmake/bin/cmake" && return
    good_cmake cmake && return
    echo "installing CMake into $tools/cmake"
    rm -rf "$tools/cmake"
    mkdir -p "$tools"
    python3 -m venv "$tools/cmake"
    "$tools/cmake/bin/pip" install --quiet --disable-pip-version-check "cmake>=$cmake_least,<4"
    good_cmake "$tools/cmake/bin/cmake" || {
        echo "$tools/cmake/bin/cmake does not run" >&2
        return 1
    }
}

# A FIX engine that nobody here wrote, in a Python of its own. What pip has built once it
# keeps, for other clones.
local_quickfix() {
    "$tools/quickfix/bin/python" -c 'import quickfix' 2> /dev/null && return
    echo "installing QuickFIX for C++ into $tools/quickfix, which is built for some ten minutes"
    rm -rf "$tools/quickfix"
    mkdir -p "$tools"
    python3 -m venv "$tools/quickfix"
    "$tools/quickfix/bin/pip" install --quiet --disable-pip-version-check "quickfix==$quickfix"
}

network_tools() {
    need iproute2 has_command ip
    need nftables has_command nft
}

bench_tools() {
    missing=()
    network_tools
    install_missing || echo "without them, the rows that need them are missing" >&2
}

peer_tools() {
    missing=()
    network_tools
    need golang-go has_command go
    need pkg-config has_command pkg-config
    need libzmq3-dev has_header zmq.h
    need openjdk-17-jdk-headless has_jdk
    need maven has_command mvn
    install_missing || echo "without them, the rows that need them are missing" >&2
}

# cyclictest is in /usr/bin or /usr/sbin. sfnt-pingpong and sysjitter are used where they are, and
# never fetched.
rival_tools() {
    missing=()
    need python3 has_command python3
    need sockperf has_command sockperf
    need fio has_command fio
    need iperf3 has_command iperf3
    need rt-tests has_command cyclictest
    install_missing || echo "without them, the rows that need them are missing" >&2
}

test_tools() {
    missing=()
    need openjdk-17-jdk-headless has_jdk
    need maven has_command mvn
    need chromium has_command chromium
    need python3 has_command python3
    network_tools
    need faketime has_command faketime
    need tmux has_command tmux
    need prometheus has_command promtool
    if ! install_missing; then
        if [[ -n ${CI:-} ]]; then
            return 1
        fi
        echo "without them, the tests that need them are left out" >&2
    fi
}

exchange_tools() {
    missing=()
    need openjdk-17-jdk-headless has_jdk
    need maven has_command mvn
    need g++ has_command c++
    need libquickfix-dev has_header_cxx quickfix/Message.h
    need valgrind has_command valgrind
    install_missing || echo "without them, the rows that need them are missing" >&2
}

quickfix_tools() {
    missing=()
    need python3 has_command python3
    need python3-venv has_python_venv
    need g++ has_command c++
    need python3-dev has_python_headers
    install_missing
}

case $level in
    build)
        build_tools
        local_cmake
        ;;
    demo)
        demo_tools
        ;;
    bench)
        build_tools
        local_cmake
        bench_tools
        ;;
    peers)
        build_tools
        local_cmake
        peer_tools
        ;;
    exchange)
        build_tools
        local_cmake
        exchange_tools
        ;;
    tools)
        build_tools
        local_cmake
        rival_tools
        ;;
    test)
        build_tools
        local_cmake
        test_tools
        ;;
    quickfix)
        quickfix_tools
        local_quickfix
        ;;
    *)
        echo "usage: scripts/prerequisites.sh [build|demo|bench|peers|tools|exchange|test|quickfix]" >&2
        exit 2
        ;;
esac
