#!/usr/bin/env bash
# The host binary runs on any x86-64: no instruction beyond SSE2 outside generated code, but in functions whose names end
# with _avx2, which are called where the processor was asked.
set -euo pipefail
binary=$1
export LC_ALL=C  # the listing is 60 MB of ASCII
listing=$(mktemp)
trap 'rm -f "$listing"' EXIT
objdump -d --no-show-raw-insn "$binary" | awk '/^[0-9a-f]+ </ { is_named = /_avx2/ } !is_named' >"$listing"
[ "$(grep -c '^ ' "$listing")" -gt 10000 ] || { echo "objdump listed too little of $binary"; exit 1; }
# TZCNT is left out: GCC writes BSF with a REP prefix, which every processor without BMI runs as BSF.
# AVX and later name ymm, zmm, opmask registers or have a v-prefixed mnemonic on xmm; the rest are SSE3 to SSE4.2 and BMI.
if beyond=$(grep -E '%[yz]mm|%k[0-7]|\sv[a-z0-9]+\s.*%xmm|\s(pshufb|palignr|phadd|pmulhrsw|pblendw|pmulld|pminu[wd]|pmaxu[wd]|pmaxs[bd]|pmins[bd]|ptest|round[sp][sd]|pcmpestr|pcmpistr|crc32|popcnt|lzcnt|andn|bextr|pdep|pext|mulx|sarx|shlx|shrx|haddp|movddup|movshdup|lddqu|insertps|extractps|dpp[sd])\b' "$listing" | grep -vE 'verr|verw|vmcall'); then
    echo "$binary has instructions beyond SSE2:"
    head -20 <<<"$beyond"
    exit 1
fi
echo "$binary: SSE2 only"
