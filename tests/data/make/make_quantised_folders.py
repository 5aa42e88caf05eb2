#!/usr/bin/env python3
"""Makes tests/data/quantised/NAME: tiny folders whose matrices are quantised as fp8, GPTQ, AWQ or MLX have them, and
golden.safetensors, what they stand for, in float64 by the formulas of those programs.

    python make_quantised_folders.py

Needs numpy, torch (for its fp8) and safetensors."""
import json, pathlib, shutil
import numpy, torch
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, FFN, HEADS, DIM, TOKENS = 32, 64, 4, 8, 288
MATRICES = {"self_attn.q_proj": ("attn_q", WIDTH, WIDTH), "self_attn.k_proj": ("attn_k", WIDTH, WIDTH),
            "self_attn.v_proj": ("attn_v", WIDTH, WIDTH), "self_attn.o_proj": ("attn_output", WIDTH, WIDTH),
            "mlp.gate_proj": ("ffn_gate", FFN, WIDTH), "mlp.up_proj": ("ffn_up", FFN, WIDTH),
            "mlp.down_proj": ("ffn_down", WIDTH, FFN)}
random = numpy.random.default_rng(5)


def fp8(name, rows, width, block):
    weight = torch.from_numpy(random.normal(size=(rows, width)).astype("f")).mul(60).to(torch.float8_e4m3fn)
    if rows == FFN: weight.view(torch.uint8).reshape(-1)[:9] = torch.tensor([0, 1, 7, 8, 0x80, 0x81, 0x7e, 0xfe, 0x77],
                                                                            dtype=torch.uint8)
    shape = [-(-rows // block[0]), -(-width // block[1])] if block else []
    scale = torch.from_numpy(numpy.asarray(random.uniform(0.001, 0.004, size=shape), "f"))
    spread = scale.double().numpy() if not block else \
        numpy.kron(scale.double().numpy(), numpy.ones(block))[:rows, :width]
    return {name + ".weight": weight, name + ".weight_scale_inv": scale}, weight.double().numpy() * spread


def pack_rows(codes, bits):  # 32 / bits rows become one of words
    per_word = 32 // bits
    words = numpy.zeros((codes.shape[0] // per_word, codes.shape[1]), numpy.uint32)
    for i in range(per_word): words |= codes[i::per_word].astype(numpy.uint32) << numpy.uint32(bits * i)
    return torch.from_numpy(words.view(numpy.int32))


def gptq(name, rows, width, group, bits, ordered=False, is_v2=False):
    codes = random.integers(0, 1 << bits, size=(width, rows))
    zeros = random.integers(1, 1 << bits, size=(width // group, rows))
    scales = random.uniform(0.01, 0.03, size=zeros.shape).astype(numpy.float16)
    order = numpy.arange(width) // group
    if ordered: random.shuffle(order)
    stored = zeros - (0 if is_v2 else 1)
    tensors = {name + ".qweight": pack_rows(codes, bits), name + ".qzeros": pack_rows(stored.T.copy(), bits).T.contiguous(),
               name + ".scales": torch.from_numpy(scales)}
    if ordered: tensors[name + ".g_idx"] = torch.from_numpy(order.astype(numpy.int32))
    return tensors, (scales.astype("d")[order] * (codes - zeros[order])).T


def awq(name, rows, width, group):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    def pack(codes):
        words = numpy.zeros((codes.shape[0], codes.shape[1] // 8), numpy.uint32)
        for i, column in enumerate(order): words |= codes[:, column::8].astype(numpy.uint32) << numpy.uint32(4 * i)
        return torch.from_numpy(words.view(numpy.int32))
    codes = random.integers(0, 16, size=(width, rows))
    zeros = random.integers(0, 16, size=(width // group, rows))
    scales = random.uniform(0.01, 0.03, size=zeros.shape).astype(numpy.float16)
    spread = numpy.arange(width) // group
    return {name + ".qweight": pack(codes), name + ".qzeros": pack(zeros), name + ".scales": torch.from_numpy(scales)}, \
        (scales.astype("d")[spread] * (codes - zeros[spread])).T


def affine(name, rows, width, group, bits):
    codes = random.integers(0, 1 << bits, size=(rows, width))
    stream = ((codes[:, :, None] >> numpy.arange(bits)) & 1).reshape(rows, -1)
    words = numpy.packbits(stream.astype(numpy.uint8), axis=1, bitorder="little").view(numpy.uint32)
    scales = torch.from_numpy(random.uniform(0.01, 0.03, size=(rows, width // group)).astype("f")).bfloat16()
    biases = torch.from_numpy(random.uniform(-0.3, 0, size=(rows, width // group)).astype("f")).bfloat16()
    spread = numpy.arange(width) // group
    return {name + ".weight": torch.from_numpy(words.copy()).view(torch.uint32), name + ".scales": scales,
            name + ".biases": biases}, scales.double().numpy()[:, spread] * codes + biases.double().numpy()[:, spread]


def settings(method, **more): return {"quantization_config": dict(quant_method=method, **more)}
def mlx(bits): return {"quantization": dict(group_size=32, bits=bits), "quantization_config": dict(group_size=32, bits=bits)}

SCHEMES = {
    "fp8_blocks": (settings("fp8", weight_block_size=[16, 24]), lambda *m: fp8(*m, (16, 24))),
    "fp8_whole": (settings("fp8"), lambda *m: fp8(*m, None)),
    "gptq_4": (settings("gptq", bits=4, group_size=32), lambda *m: gptq(*m, 32, 4)),
    "gptq_4_ordered": (settings("gptq", bits=4, group_size=16, desc_act=True), lambda *m: gptq(*m, 16, 4, True)),
    "gptq_8_v2": (settings("gptq", bits=8, group_size=32, checkpoint_format="gptq_v2"),
                  lambda *m: gptq(*m, 32, 8, False, True)),
    "awq_4": (settings("awq", bits=4, group_size=16, version="gemm", zero_point=True), lambda *m: awq(*m, 16)),
    "mlx_4": (mlx(4), lambda *m: affine(*m, 32, 4)),
    "mlx_6": (mlx(6), lambda *m: affine(*m, 32, 6)),
    "mlx_8": (mlx(8), lambda *m: affine(*m, 32, 8)),
}

for name, (own, quantise) in SCHEMES.items():
    folder = ROOT / "quantised" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tensors = {"model.embed_tokens.weight": torch.randn(TOKENS, WIDTH).half(), "model.norm.weight": torch.ones(WIDTH).half(),
               "model.layers.0.input_layernorm.weight": torch.ones(WIDTH).half(),
               "model.layers.0.post_attention_layernorm.weight": torch.ones(WIDTH).half(),
               "model.layers.0.self_attn.q_norm.weight": torch.ones(DIM).half(),
               "model.layers.0.self_attn.k_norm.weight": torch.ones(DIM).half()}
    golden = {}
    for theirs, (ours, rows, width) in MATRICES.items():
        made, values = quantise("model.layers.0." + theirs, rows, width)
        tensors |= made
        golden[f"blk.0.{ours}.weight"] = torch.from_numpy(numpy.ascontiguousarray(values, "d"))
    save_file(tensors, folder / "model.safetensors")
    save_file(golden, folder / "golden.safetensors")
    (folder / "config.json").write_text(json.dumps(dict(
        architectures=["Qwen3ForCausalLM"], vocab_size=TOKENS, hidden_size=WIDTH, intermediate_size=FFN,
        num_hidden_layers=1, num_attention_heads=HEADS, num_key_value_heads=HEADS, head_dim=DIM, rms_norm_eps=1e-6,
        max_position_embeddings=512, hidden_act="silu", rope_theta=10000.0, tie_word_embeddings=True, eos_token_id=285) |
        own, indent=1) + "\n")
    for file in ("tokenizer.json", "tokenizer_config.json"): shutil.copy(ROOT / "folders/qwen3" / file, folder / file)
