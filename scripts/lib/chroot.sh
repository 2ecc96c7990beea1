# shellcheck shell=bash disable=SC2034,SC2154  # the files of this folder and their users share variables
# Other Debian releases, for the Slurm that they carry: made with debootstrap, kept in the cache, and
# entered in namespaces of their own, so that no mount and no process outlives a run.
#
# After common.sh.  To have one made afresh, remove its folder.

releases=(24.11 26.05)
declare -A suites=([24.11]=trixie [26.05]=forky)

# make_chroot RELEASE: makes it if it is not there.  An interrupted run leaves no half of one, since
# it grows under another name.
make_chroot() {
    local suite=${suites[$1]} dir=$cache/slurm-$1 partial=$cache/slurm-$1.partial
    lock "$dir.lock"
    [[ ! -e $dir ]] || return 0
    ((EUID == 0)) || die "needs root to make a chroot"
    rm -rf --one-file-system "$partial" # of a run that was killed outright
    unfinished+=("$partial")
    step "make a Debian $suite chroot" bootstrap "$suite" "$partial" &&
        step "install the compiler and Slurm $1 in the $suite chroot" enter_chroot "$partial" scripts/test --install &&
        mv "$partial" "$dir"
}

bootstrap() { # SUITE DIR
    local options=(--variant=minbase) script=/usr/share/debootstrap/scripts/$1 url
    url=$(mirror)
    [[ $url != https:* ]] || options+=(--include=ca-certificates)
    [[ -e $script ]] || script=${script%/*}/sid # a suite newer than our debootstrap
    debootstrap "${options[@]}" "$1" "$2" "$url" "$script"
}

# The Debian mirror of this machine: the first source ".../debian" that has main of our own release.
mirror() {
    local codename
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    {
        find /etc/apt -name '*.sources' -exec cat {} + | deb822_lines
        find /etc/apt -name '*.list' -exec sed -nE 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]*)?//p' {} +
        echo "http://deb.debian.org/debian $codename main"
    } | awk -v suite="$codename" '
        $1 ~ "^https?://.*/debian/?$" && $2 == suite && / main( |$)/ && !found++ { print $1 }'
}

# "URI suite components" for each URI and suite of deb822 sources, as one-line sources have it.
deb822_lines() {
    awk '
        function flush(   u, s, nu, ns, us, ss) {
            nu = split(uris, us); ns = split(suites, ss)
            for (u = 1; u <= nu; u++) for (s = 1; s <= ns; s++) print us[u], ss[s] components
            uris = suites = components = ""
        }
        /^#/ { next }
        NF == 0 || $1 == "Types:" { flush() }
        $1 == "URIs:" { $1 = ""; uris = $0 }
        $1 == "Suites:" { $1 = ""; suites = $0 }
        $1 == "Components:" { $1 = ""; components = $0 }
        END { flush() }'
}

# enter_chroot DIR COMMAND...: with the checkout as /railhead/main, read-only but for build/, which lies
# in the cache.  The command is the first process of a namespace: when it ends, all others do.
enter_chroot() {
    local dir=$1 builds=${1%.partial}.build
    shift
    mkdir -p "$builds" "$cache/ccache" "$root/build" "$dir"/railhead/{main,shared,ccache}
    # Objects of another checkout could be newer than the sources of this one, and ninja would keep
    # them.  The compiler's cache makes up for it.
    if [[ $(cat "$builds/.checkout" 2>/dev/null) != "$root" ]]; then
        rm -rf --one-file-system "${builds:?}"/*
        printf '%s\n' "$root" >"$builds/.checkout"
    fi
    cp --dereference /etc/hosts /etc/resolv.conf "$dir/etc/"
    # shellcheck disable=SC2016  # expanded by the inner shell
    unshare --mount --pid --fork --kill-child --propagation private bash -euc '
        dir=$1 root=$2 builds=$3 ccache=$4
        shift 4
        mount -t proc proc "$dir/proc"
        mount --rbind /sys "$dir/sys"
        mount --rbind /dev "$dir/dev"
        mount -t tmpfs tmpfs "$dir/tmp"
        mount -t tmpfs -o mode=755 tmpfs "$dir/run"
        mount --bind "$root" "$dir/railhead/main"
        mount -o remount,bind,ro "$dir/railhead/main"
        mount --bind "$builds" "$dir/railhead/main/build"
        mount --bind "$ccache" "$dir/railhead/ccache"
        if [ -d "$root/../shared" ]; then
            mount --bind "$root/../shared" "$dir/railhead/shared"
            mount -o remount,bind,ro "$dir/railhead/shared"
        fi
        exec chroot "$dir" /usr/bin/env --chdir=/railhead/main "$@"
    ' enter_chroot "$dir" "$root" "$builds" "$cache/ccache" \
        --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        CCACHE_DIR=/railhead/ccache RAILHEAD_CHROOT=1 PYTHONDONTWRITEBYTECODE=1 RAILHEAD_BEGUN="$RAILHEAD_BEGUN" \
        RAILHEAD_WERROR="${RAILHEAD_WERROR:-}" \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        "$@"
}
