#!/bin/sh
# The written GGUF against the real loader: llama.cpp, as npm's node-llama-cpp has it built. Nothing is downloaded here;
# tests/README.md has the line that installs it.
# MAKE_MODELS: the program; BUILD: the build folder; RATECAST_NODE_LLAMA: the folder that has node_modules
set -u
: "${MAKE_MODELS:?path of the program}" "${BUILD:?build folder}" "${REPO:?path of the repository}"
folder=${RATECAST_NODE_LLAMA:-$BUILD}
skip() {
    echo "SKIP gguf_loads: $1"
    exit 77
}
command -v node >/dev/null || skip "no node"
[ -d "$folder/node_modules/node-llama-cpp" ] || skip "no node-llama-cpp in $folder/node_modules (RATECAST_NODE_LLAMA names another folder)"
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
"$MAKE_MODELS" "$T" >"$T/models" || exit 1
node "$REPO/tests/loader/evaluate.mjs" "$folder" <"$T/models"
