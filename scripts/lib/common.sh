# shellcheck shell=bash disable=SC2034,SC2154  # the files of this folder and their users share variables
# What scripts/test and scripts/demo share: steps with progress, Debian packages, builds.
#
# A script that sources this file has set -euo pipefail, and calls begin first.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${RAILHEAD_CACHE:-/var/cache/railhead}

build_packages=(
    g++ cmake ninja-build ccache pkg-config
    libhwloc-dev libibverbs-dev libfmt-dev libexpected-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev
    catch2 lowdown libslurm-dev libyaml-cpp-dev libpugixml-dev zlib1g-dev
)
run_packages=(slurmctld slurmd slurm-client munge python3)

# begin: from here on nothing that we start or write outlives the script, however it ends.
begin() {
    cd "$root" || exit
    export RAILHEAD_BEGUN=${RAILHEAD_BEGUN:-$EPOCHSECONDS} # a script run by a script counts on
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/railhead-XXXXXX")
    logs=$scratch
    unfinished=() # folders that a failure must not leave
    trap finish EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    set -m # a process group for each background command: it can be ended with all that it started
}

finish() {
    local status=$? group groups
    trap '' HUP INT TERM
    [[ ! -t 1 ]] || printf '\r\e[K' # what follow() may have left there
    groups=$(jobs -p)
    disown -a # bash need not announce what we do now
    for group in $groups; do
        end_group "$group"
    done
    allow_daemons
    rm -rf --one-file-system "$scratch" "${unfinished[@]}"
    exit "$status"
}

end_group() {
    local tries
    kill -TERM -- "-$1" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
        kill -0 -- "-$1" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$1" 2>/dev/null || true
}

say() {
    printf '[%4d s] %s\n' $((EPOCHSECONDS - RAILHEAD_BEGUN)) "$*"
}

# die TEXT [STATUS]
die() {
    printf 'scripts/%s: %s\n' "${0##*/}" "$1" >&2
    exit "${2:-1}"
}

# run COMMAND...: in the background and waited for, since bash acts on a signal only between
# foreground commands.
run() {
    local status=0
    "$@" </dev/null &
    wait $! || status=$?
    return "$status"
}

# step TEXT COMMAND...: runs the command with its output in a log, of which a failure shows the end
# ($shown_lines of it).  On a terminal the log's last line is shown while it runs.
step() {
    local text=$1 status=0 job log
    shift
    mkdir -p "$logs"
    log=$logs/${text//[^[:alnum:].-]/_}.log
    log=${log:0:200}
    say "$text"
    "$@" >"$log" 2>&1 </dev/null &
    job=$!
    [[ ! -t 1 ]] || follow "$log" "$job"
    wait "$job" || status=$?
    if ((status)); then
        {
            tail -n "${shown_lines:-40}" "$log"
            printf 'scripts/%s: step failed: %s (exit status %d)\n' "${0##*/}" "$text" "$status"
            [[ $logs == "$scratch" ]] || printf '  see %s\n' "$log"
        } >&2
    fi
    return "$status"
}

follow() { # LOG JOB
    while kill -0 "$2" 2>/dev/null; do
        printf '\r\e[K         %.*s' $((${COLUMNS:-80} - 10)) "$(tail -n1 "$1" | tr -dc '[:print:]')"
        sleep 0.3
    done
    printf '\r\e[K'
}

# lock FILE: waits until no other script holds it; held until this one ends.
lock() {
    local fd
    mkdir -p "$(dirname "$1")"
    exec {fd}>>"$1"
    flock --nonblock "$fd" || { say "wait for another run: it holds $1" && run flock "$fd"; }
}

# -- Debian packages ------------------------------------------------------------------------

policy_rc=/usr/sbin/policy-rc.d
policy_rc_mark='# railhead: installing must start no daemon'

# The packages of slurmctld, slurmd and munge start Debian's own daemons unless this says no.
forbid_daemons() {
    [[ ! -e $policy_rc ]] || return 0 # the site's own rule stands
    printf '#!/bin/sh\n%s\nexit 101\n' "$policy_rc_mark" >"$policy_rc"
    chmod +x "$policy_rc"
}

allow_daemons() {
    if grep --quiet --no-messages --line-regexp --fixed-strings "$policy_rc_mark" "$policy_rc"; then
        rm -f "$policy_rc"
    fi
}

missing_packages() {
    comm -13 <(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' | awk '$2 == "installed" { print $1 }' | sort) \
        <(printf '%s\n' "$@" | sort)
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || die "needs root to install: ${missing[*]}"
    forbid_daemons
    step "install ${missing[*]}" apt_install "${missing[@]}"
    allow_daemons
}

apt_install() {
    # Old lists may do; if not, the install says so.
    apt_get update || true
    apt_get install --yes --no-install-recommends "$@"
}

apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 "$@"
}

# The chart library of the page that railhead report writes, as page/package-lock.json pins it.  A chroot, where page/
# cannot be written, has it from here.
fetch_chart_library() {
    local have=page/node_modules/.package-lock.json
    [[ ! $have -nt page/package-lock.json || ! $have -nt page/package.json ]] || return 0
    command -v npm >/dev/null || install_packages nodejs # which brings npm along, but in Debian
    command -v npm >/dev/null || install_packages npm
    mkdir -p build
    step "fetch the chart library of railhead report" \
        flock build/npm.lock npm --prefix page ci --ignore-scripts --no-audit --no-fund ||
        die "cannot fetch the chart library from the npm registry; -DRAILHEAD_REPORT=OFF builds without it"
}

# -- builds ---------------------------------------------------------------------------------

# build PRESET [TARGET]...: configures and builds in build/PRESET, which is ours until the script ends.
build() {
    local preset=$1 options=() targets=()
    shift
    (($# == 0)) || targets=(--target "$@")
    [[ -z ${RAILHEAD_WERROR:-} ]] || options+=("-DRAILHEAD_WERROR=$RAILHEAD_WERROR")
    [[ ! -w $cache ]] || export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 # objects of another checkout will do
    export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}   # five builds, and room for those of another branch
    [[ $preset == demo ]] || fetch_chart_library
    lock "$root/build/$preset/.lock"
    logs=$root/build/$preset/logs
    step "configure $preset" cmake --preset "$preset" "${options[@]}" &&
        step "build $preset" cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}"
}
