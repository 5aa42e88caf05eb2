#!/usr/bin/env python3
"""Writes tests/data/quantize/types.json: which type llama-quantize gives each tensor of some shapes, by its --dry-run
(make_quantize_types.py LLAMA_BIN, the folder with llama-quantize; gguf-py is taken from its source or from PyPI). Of a
tensor that layers have, "q6_k*4 q4_k" lists the types layer by layer. What stays as it is in every kind of file is f16 or,
of one dimension, f32, and not listed."""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

binaries = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(binaries.parents[1] / "gguf-py"))
import gguf  # noqa: E402

KINDS = (
    "Q1_0 Q2_0 Q4_0 Q4_1 MXFP4_MOE Q5_0 Q5_1 IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ1_S IQ1_M TQ1_0 TQ2_0 Q2_K Q2_K_S IQ3_XXS IQ3_S IQ3_M "
    "Q3_K IQ3_XS Q3_K_S Q3_K_M Q3_K_L IQ4_NL IQ4_XS Q4_K Q4_K_S Q4_K_M Q5_K Q5_K_S Q5_K_M Q6_K Q8_0 F16 BF16 F32 COPY"
).split()


def model(architecture, layers, heads, kv_heads, width, blocks, experts=0, tied=False, more=()):
    """`blocks`: names within a layer, with the number of dimensions, and the width where it is another."""
    tensors = {"token_embd.weight": [width, 4], "output_norm.weight": [width]}
    if not tied:
        tensors["output.weight"] = [width, 4]
    for layer in range(layers):
        for name, shape in blocks.items():
            tensors[f"blk.{layer}.{name}"] = shape
    keys = {"block_count": layers, "context_length": 64, "embedding_length": width, "feed_forward_length": width}
    keys |= {"attention.head_count": heads, "attention.head_count_kv": kv_heads}
    if experts:
        keys |= {"expert_count": experts, "expert_used_count": 2, "expert_feed_forward_length": width}
    return {"architecture": architecture, "keys": keys | dict(more), "layers": layers, "blocks": blocks, "tensors": tensors}


def dense(width, attention=("attn_q", "attn_k", "attn_v")):
    names = [*attention, "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    return {"attn_norm.weight": [width], **{f"{name}.weight": [width, 2] for name in names}}


def experts(width, count):
    names = ["ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"]
    attention = {f"{name}.weight": [width, 2] for name in ["attn_q", "attn_k", "attn_v", "attn_output"]}
    return attention | {"ffn_gate_inp.weight": [width, count], **{f"{name}.weight": [width, 2, count] for name in names}}


EPSILON = {"attention.layer_norm_rms_epsilon": 1e-5}
LAYER_NORM = {"attention.layer_norm_epsilon": 1e-5}
MODELS = {
    "llama, 32 layers, 4 queries to a key": model("llama", 32, 32, 8, 256, dense(256), more=EPSILON),
    "llama, 80 layers, 8 queries to a key": model("llama", 80, 64, 8, 256, dense(256), more=EPSILON),
    "llama, tied, 13 layers, width 96": model("llama", 13, 4, 4, 96, dense(96), tied=True, more=EPSILON),
    "llama, width 80": model("llama", 3, 4, 4, 80, dense(80), more=EPSILON),
    "falcon, 32 layers": model("falcon", 32, 71, 1, 256, dense(256, ["attn_qkv"]), more=LAYER_NORM),
    "mixtral, 32 layers, 8 experts": model("llama", 32, 32, 8, 256, experts(256, 8), 8, more=EPSILON),
    "qwen3moe, 24 layers, 16 experts": model("qwen3moe", 24, 32, 4, 256, experts(256, 16), 16, more=EPSILON),
    "gemma, tied, 18 layers": model("gemma", 18, 8, 1, 256, dense(256), tied=True, more=EPSILON),
    "gpt2, fused": model(
        "gpt2", 12, 12, 12, 256, {"attn_qkv.weight": [256, 2], "attn_output.weight": [256, 2], "ffn_up.weight": [256, 2],
                                  "ffn_down.weight": [256, 2], "attn_qkv.bias": [256]}, tied=True, more=LAYER_NORM),
    "lfm2, convolutions": model(
        "lfm2", 4, 4, 2, 256, {**dense(256), "shortconv.conv.weight": [256, 3], "shortconv.in_proj.weight": [256, 6]},
        tied=True, more={**EPSILON, "shortconv.l_cache": 3}),
}


def write(path, spec):
    writer = gguf.GGUFWriter(path, spec["architecture"])
    for key, value in spec["keys"].items():
        add = writer.add_float32 if isinstance(value, float) else writer.add_uint32
        add(f"{spec['architecture']}.{key}", value)
    for name, shape in spec["tensors"].items():
        writer.add_tensor(name, numpy.zeros(shape[::-1], numpy.float32 if len(shape) == 1 else numpy.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def types_of(path, spec, kind):
    done = subprocess.run([binaries / "llama-quantize", "--dry-run", path, kind], capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(binaries)}, timeout=60)
    found = {}
    for name, old, rest in re.findall(r"\[ *\d+/ *\d+\] +(\S+) +- \[[^\]]*\], type = +(\S+), (.*)", done.stdout + done.stderr):
        new = re.search(r"\((\S+)\)$", rest.strip())
        found[name] = (new[1] if new else old).lower()
    if "no tensor type fallback" in done.stdout + done.stderr:
        return None
    if len(found) != len(spec["tensors"]):
        sys.exit(f"{kind}: {done.stdout}{done.stderr}")
    return found


def listed(types, layers, blocks):
    """Types by name, those of layers in one text."""
    texts = {name: type for name, type in types.items() if not name.startswith("blk.")}
    for name in blocks:
        runs = itertools.groupby(types[f"blk.{layer}.{name}"] for layer in range(layers))
        counted = [(type, len(list(run))) for type, run in runs]
        texts[name] = " ".join(type + (f"*{count}" if count > 1 else "") for type, count in counted)
    return texts


recorded = {}
with tempfile.TemporaryDirectory() as folder:
    for title, spec in MODELS.items():
        path = pathlib.Path(folder) / "model.gguf"
        write(path, spec)
        kinds = {}
        for kind in KINDS:
            if found := types_of(path, spec, kind):  # not where llama-quantize refuses the width
                kinds[kind] = listed(found, spec["layers"], spec["blocks"])
        kept = {name for name, shape in kinds["COPY"].items() if all(kind[name] == shape for kind in kinds.values())}
        recorded[title] = {
            "architecture": spec["architecture"], "keys": spec["keys"], "layers": spec["layers"], "blocks": spec["blocks"],
            "others": {name: shape for name, shape in spec["tensors"].items() if not name.startswith("blk.")},
            "types": {kind: {name: text for name, text in each.items() if name not in kept} for kind, each in kinds.items()}}
out = pathlib.Path(__file__).resolve().parents[1] / "quantize"
out.mkdir(exist_ok=True)
(out / "types.json").write_text(json.dumps(recorded, separators=(",", ":")).replace('},"', '},\n"') + "\n")
