# Shared by quickstart and run-tests: which Debian packages the build and the tests take, and how to build.

BUILD_PACKAGES=(g++ cmake ninja-build pkgconf
    libxbyak-dev libasmjit-dev libzydis-dev libfmt-dev libcli11-dev nlohmann-json3-dev
    libpcre2-dev libutf8proc-dev libxxhash-dev libhwloc-dev libmsgpack-cxx-dev libyaml-dev libtomlplusplus-dev
    libhdf5-dev libcairo2-dev libedit-dev libminizip-dev zlib1g-dev fonts-dejavu-core libcpp-httplib-dev)
# llvm-19 re-assembles listings and judges RDNA code, and llvm-22 what 19 does not know; clang-19 and lld-19 compile RDNA kernels to run; binutils and gdb read our objects; python3 and strace drive the program from outside. clang-tools-19 makes offload bundles, groff-base reads the man page.
TEST_PACKAGES=(libgtest-dev libgmock-dev llvm-19 llvm-22 clang-19 lld-19 clang-tools-19 groff-base binutils gdb strace python3 python3-venv python3-numpy python3-h5py xz-utils)

install_missing() {
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    echo "Installing: ${missing[*]}" >&2
    local sudo=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "error: not root and no sudo; install: ${missing[*]}" >&2; exit 1; }
        sudo=(sudo)
    fi
    "${sudo[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# build PRESET TARGET
build() {
    cmake --preset "$1" -DRIFTJIT_BUILD_TESTS="$([ "$2" = all ] && echo ON || echo OFF)" >&2
    cmake --build --preset "$1" --target "$2" >&2
}
