#!/usr/bin/env bash
# Brings what builds and tests need and this machine lacks. Names what it does, does nothing twice:
# every part is looked for before anything is installed, so a second run takes no time.
#
#   scripts/setup.sh [base] [pooler] [faketime] [nextest] [deny] [mutants]
#   (without arguments: base pooler faketime nextest deny)
set -euo pipefail

POSTGRES_OLDEST=14
# Versions that are installed where the tool is missing; a version that is already there is kept.
NEXTEST=0.9.143
DENY=0.20.2
MUTANTS=27.1.0

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

postgres_found() {
    local candidate major
    for candidate in "$(command -v initdb || true)" \
        "$(pg_config --bindir 2>/dev/null || true)/initdb" \
        /usr/lib/postgresql/*/bin/initdb; do
        [[ -x $candidate ]] || continue
        # "initdb (PostgreSQL) 15.8 (Debian ...)": the number before the first dot.
        major=$("$candidate" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
        [[ $major -ge $POSTGRES_OLDEST ]] && return 0
    done
    return 1
}

base() {
    local -a missing=()
    postgres_found || missing+=(postgresql)
    # Rust links with the C compiler; nothing of ours is written in C.
    { command -v cc && command -v make; } >/dev/null || missing+=(build-essential)
    install_packages "PostgreSQL $POSTGRES_OLDEST or newer (the server's programs: initdb, postgres), a C compiler and make" \
        "${missing[@]}"
    postgres_found || fail "the distribution's PostgreSQL is older than $POSTGRES_OLDEST; install a newer one (https://www.postgresql.org/download/linux/debian/)"
}

# Only a test needs it: servers behind a transaction pooler.
pooler() {
    # Debian puts it where only root's PATH looks.
    PATH=$PATH:/usr/sbin command -v pgbouncer >/dev/null || install_packages "PgBouncer" pgbouncer
}

# Only a test needs it: servers whose clocks are wrong.
faketime() {
    local -a found=()
    # A library that is preloaded, in a directory that no linker searches.
    mapfile -t found < <(compgen -G '/usr/lib*/faketime/libfaketime.so.1' || true;
        compgen -G '/usr/lib/*/faketime/libfaketime.so.1' || true)
    [[ ${#found[@]} -gt 0 ]] || install_packages "libfaketime" libfaketime
}

# Only measured against.
redis() {
    command -v redis-server >/dev/null || install_packages "Redis" redis-server
}

# install_packages WORDS [PACKAGE...]: what they are, for people who have other packages.
install_packages() {
    local words=$1
    local -a missing=("${@:2}") as_root=()
    [[ ${#missing[@]} -eq 0 ]] && return 0

    if ! command -v apt-get >/dev/null; then
        say "missing here: ${missing[*]}"
        fail "this is no Debian; install $words, then run this again"
    fi
    if [[ $(id -u) -ne 0 ]]; then
        command -v sudo >/dev/null || fail "neither root nor sudo; as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing Debian packages: ${missing[*]}"
    local log
    log=$(mktemp)
    # Lists may be absent or too old for what they name; another apt may hold the lock for a while.
    if ! { "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
            install --yes --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        fail "apt-get failed; the whole log is in $log"
    fi
    rm -f "$log"
}

cargo_tool() {
    local name=$1 version=$2
    shift 2
    # Cargo finds its tools in its own directory also where that is not on PATH.
    local own=${CARGO_HOME:-~/.cargo}/bin/$name
    if command -v "$name" >/dev/null || [[ -x $own ]]; then return 0; fi
    say "building $name $version (once, some minutes)"
    # Tools run for seconds here: a quick build is worth more than quick code. Their build is kept
    # out of this workspace's target directory.
    env -u CARGO_TARGET_DIR \
        CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo install --quiet --locked --version "$version" "$@" "$name"
}

command -v cargo >/dev/null || fail "cargo is missing; install Rust (https://rustup.rs), then run this again"
[[ $# -gt 0 ]] || set -- base pooler faketime nextest deny
for part in "$@"; do
    case $part in
        base) base ;;
        pooler) pooler ;;
        redis) redis ;;
        faketime) faketime ;;
        nextest) cargo_tool cargo-nextest "$NEXTEST" --no-default-features --features default-no-update ;;
        deny) cargo_tool cargo-deny "$DENY" --no-default-features ;;
        mutants) cargo_tool cargo-mutants "$MUTANTS" ;;
        *) fail "unknown part: $part (base, pooler, faketime, nextest, deny, mutants)" ;;
    esac
done
