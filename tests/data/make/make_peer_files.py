#!/usr/bin/env python3
"""Makes tests/data/families/NAME.gguf and its golden for families that transformers has no class of.

    python make_peer_files.py --llama-cpp SOURCE --logits PROGRAM [NAME ...]

A checkpoint of random numbers is made of a table of names and shapes, and converted by llama.cpp's converter. The golden
is what the family's formulas give in float64, where written_families.py has them, else what llama.cpp computes of the
same weights in f32 (peer_logits.cpp, linked with libllama)."""
import argparse, json, math, pathlib, subprocess, sys, tempfile
import numpy, torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_tensors
import make_family_files as family
from borrowed_families import SIZES
from written_families import WRITTEN

WIDTH, FFN, HEADS, KV_HEADS, DIM, LAYERS, VOCABULARY, EXPERTS = 64, 96, 4, 2, 16, 3, 512, 6
KV = KV_HEADS * DIM


def linear(rows, width=WIDTH): return [rows, width]
def of_layers(prefix, names): return {f"{prefix}.{i}.{name}": shape for i in range(LAYERS) for name, shape in names.items()}
def of_experts(prefix, names, inner, layers=range(LAYERS)):
    return {f"{prefix.format(i)}.{e}.{name}.weight": shape for i in layers for e in range(EXPERTS)
            for name, shape in zip(names, ([inner, WIDTH], [inner, WIDTH], [WIDTH, inner]))}


ENDS = {"model.embed_tokens.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH], "lm_head.weight": [VOCABULARY, WIDTH]}
ATTENTION = {"input_layernorm.weight": [WIDTH], "self_attn.q_proj.weight": linear(WIDTH), "self_attn.k_proj.weight": linear(KV),
             "self_attn.v_proj.weight": linear(KV), "self_attn.o_proj.weight": linear(WIDTH),
             "post_attention_layernorm.weight": [WIDTH]}
MLP = {"mlp.gate_proj.weight": linear(FFN), "mlp.up_proj.weight": linear(FFN), "mlp.down_proj.weight": linear(WIDTH, FFN)}
SHARED = {"mlp.shared_experts.gate_proj.weight": linear(40), "mlp.shared_experts.up_proj.weight": linear(40),
          "mlp.shared_experts.down_proj.weight": linear(WIDTH, 40)}
NAMES = ("gate_proj", "up_proj", "down_proj")


def without(tensors, *parts): return {name: shape for name, shape in tensors.items() if not any(p in name for p in parts)}


BAILING = {"model.word_embeddings.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH],
           "lm_head.weight": [VOCABULARY, WIDTH]} | of_layers("model.layers", {
    "input_layernorm.weight": [WIDTH], "attention.query_key_value.weight": linear(WIDTH + 2 * KV),
    "attention.dense.weight": linear(WIDTH), "post_attention_layernorm.weight": [WIDTH]})
PLAMO_ENDS = {"model.embed_tokens.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH],
              "lm_head.weight": [VOCABULARY, WIDTH]}
PLAMO_NORMS = {"pre_mixer_norm.weight": [WIDTH], "post_mixer_norm.weight": [WIDTH], "pre_mlp_norm.weight": [WIDTH],
               "post_mlp_norm.weight": [WIDTH], "mlp.gate_up_proj.weight": linear(2 * FFN),
               "mlp.down_proj.weight": linear(WIDTH, FFN)}

NORM = {"weight": [WIDTH], "bias": [WIDTH]}
def norms(*names): return {f"{name}.{part}": shape for name in names for part, shape in NORM.items()}
ROW = [1, 1, WIDTH]
def goose(prefix, gates, ranks=(8, 8, 8)):
    return {f"{prefix}.{name}": shape for name, shape in (
        {f"x_{name}": ROW for name in "rwkvag"[:6 if gates else 5]} |
        {f"{name}{part}": shape for name, rank in zip("wav", ranks)
         for part, shape in ((0, ROW), (1, [WIDTH, rank]), (2, [rank, WIDTH]))} |
        ({"g1": [WIDTH, 24], "g2": [24, WIDTH]} | norms("ln_x") if gates else {}) |
        {"k_k": ROW, "k_a": ROW, "r_k": [HEADS, DIM]} |
        {f"{name}.weight": linear(WIDTH) for name in ("receptance", "key", "value", "output")}).items()}
RWKV = dict(head_size=DIM, layer_norm_epsilon=1e-5)

# name: (configuration beside SIZES, names and shapes)
BY_HAND = {
    "deepseek": (dict(architectures=["DeepseekForCausalLM"], first_k_dense_replace=1, moe_intermediate_size=48,
                      n_routed_experts=EXPERTS, num_experts_per_tok=3, n_shared_experts=1),
                 ENDS | of_layers("model.layers", ATTENTION) |
                 {f"model.layers.0.{name}": shape for name, shape in MLP.items()} |
                 {f"model.layers.{i}.{name}": shape for i in (1, 2)
                  for name, shape in ({n: [48 if s == 40 else s for s in shape] for n, shape in SHARED.items()} |
                                      {"mlp.gate.weight": linear(EXPERTS)}).items()} |
                 of_experts("model.layers.{}.mlp.experts", NAMES, 48, (1, 2))),
    "bailingmoe": (dict(architectures=["BailingMoeForCausalLM"], first_k_dense_replace=0, moe_intermediate_size=48,
                        num_experts=EXPERTS, num_experts_per_tok=3, num_shared_experts=1, norm_topk_prob=True),
                   BAILING | of_layers("model.layers", {"mlp.gate.weight": linear(EXPERTS)} |
                                       {n: [48 if s == 40 else s for s in shape] for n, shape in SHARED.items()}) |
                   of_experts("model.layers.{}.mlp.experts", NAMES, 48)),
    "bailingmoe2": (dict(architectures=["BailingMoeV2ForCausalLM"], first_k_dense_replace=1, moe_intermediate_size=48,
                         num_experts=8, num_experts_per_tok=3, num_shared_experts=1, norm_topk_prob=True, n_group=4,
                         topk_group=2, routed_scaling_factor=2.5, score_function="sigmoid", partial_rotary_factor=0.5),
                    BAILING | of_layers("model.layers", {"attention.query_layernorm.weight": [DIM],
                                                         "attention.key_layernorm.weight": [DIM]}) |
                    {f"model.layers.0.{name}": shape for name, shape in MLP.items()} |
                    {f"model.layers.{i}.{name}": shape for i in (1, 2)
                     for name, shape in ({n: [48 if s == 40 else s for s in shape] for n, shape in SHARED.items()} |
                                         {"mlp.gate.weight": linear(8), "mlp.gate.expert_bias": [8]}).items()} |
                    {f"model.layers.{i}.mlp.experts.{e}.{name}.weight": shape for i in (1, 2) for e in range(8)
                     for name, shape in zip(NAMES, ([48, WIDTH], [48, WIDTH], [WIDTH, 48]))}),
    "codeshell": (dict(architectures=["CodeShellForCausalLM"], n_positions=512, n_embd=WIDTH, n_head=HEADS,
                       num_query_groups=KV_HEADS, n_layer=LAYERS, layer_norm_epsilon=1e-5),
                  {"transformer.wte.weight": [VOCABULARY, WIDTH], "transformer.ln_f.weight": [WIDTH],
                   "transformer.ln_f.bias": [WIDTH], "lm_head.weight": [VOCABULARY, WIDTH]} | of_layers("transformer.h", {
                      "ln_1.weight": [WIDTH], "ln_1.bias": [WIDTH], "attn.c_attn.weight": linear(WIDTH + 2 * KV),
                      "attn.c_attn.bias": [WIDTH + 2 * KV], "attn.c_proj.weight": linear(WIDTH), "attn.c_proj.bias": [WIDTH],
                      "ln_2.weight": [WIDTH], "ln_2.bias": [WIDTH], "mlp.c_fc.weight": linear(4 * WIDTH),
                      "mlp.c_fc.bias": [4 * WIDTH], "mlp.c_proj.weight": linear(WIDTH, 4 * WIDTH), "mlp.c_proj.bias": [WIDTH]})),
    "refact": (dict(architectures=["GPTRefactForCausalLM"], n_positions=512, n_embd=WIDTH, n_head=HEADS, n_layer=LAYERS,
                    layer_norm_epsilon=1e-5),
               {"transformer.wte.weight": [VOCABULARY, WIDTH], "transformer.ln_f.weight": [WIDTH],
                "lm_head.weight": [VOCABULARY, WIDTH]} | of_layers("transformer.h", {
                   "ln_1.weight": [WIDTH], "attn.q.weight": linear(WIDTH), "attn.kv.weight": linear(2 * DIM),
                   "attn.c_proj.weight": linear(WIDTH), "ln_2.weight": [WIDTH], "mlp.gate_up_proj.weight": linear(512),
                   "mlp.c_proj.weight": linear(WIDTH, 256)})),
    "jais": (dict(architectures=["JAISLMHeadModel"], n_positions=512, n_embd=WIDTH, n_head=HEADS, n_layer=LAYERS, n_inner=FFN,
                  layer_norm_epsilon=1e-5, activation_function="swiglu", position_embedding_type="alibi",
                  embeddings_scale=2.0, width_scale=0.5),
             {"transformer.wte.weight": [VOCABULARY, WIDTH], "transformer.ln_f.weight": [WIDTH],
              "transformer.ln_f.bias": [WIDTH], "lm_head.weight": [VOCABULARY, WIDTH],
              "transformer.relative_pe.slopes": [HEADS]} | of_layers("transformer.h", {
                 "ln_1.weight": [WIDTH], "ln_1.bias": [WIDTH], "attn.c_attn.weight": [WIDTH, 3 * WIDTH],
                 "attn.c_attn.bias": [3 * WIDTH], "attn.c_proj.weight": [WIDTH, WIDTH], "attn.c_proj.bias": [WIDTH],
                 "ln_2.weight": [WIDTH], "ln_2.bias": [WIDTH], "mlp.c_fc.weight": [WIDTH, FFN], "mlp.c_fc.bias": [FFN],
                 "mlp.c_fc2.weight": [WIDTH, FFN], "mlp.c_fc2.bias": [FFN], "mlp.c_proj.weight": [FFN, WIDTH],
                 "mlp.c_proj.bias": [WIDTH]})),
    "plamo": (dict(architectures=["PlamoForCausalLM"]),
              PLAMO_ENDS | of_layers("model.layers.layers", {
                  "norm.weight": [WIDTH], "self_attn.q_proj.weight": linear(WIDTH), "self_attn.k_proj.weight": linear(KV),
                  "self_attn.v_proj.weight": linear(KV), "self_attn.o_proj.weight": linear(WIDTH)} | MLP)),
    "plamo2": (dict(architectures=["Plamo2ForCausalLM"], hidden_size_per_head=DIM, mamba_d_state=16, mamba_d_conv=4,
                    mamba_num_heads=8, mamba_step=2, mamba_enabled=True),
               PLAMO_ENDS | of_layers("model.layers.layers", PLAMO_NORMS) | {
                   f"model.layers.layers.{i}.mixer.{name}": shape for i in (0, 2) for name, shape in {
                       "in_proj.weight": linear(256), "conv1d.weight": [128, 1, 4], "bcdt_proj.weight": linear(96, 128),
                       "dt_proj.weight": linear(8, 64), "dt_bias": [8], "A_log": [8], "D": [8],
                       "out_proj.weight": linear(WIDTH, 128), "dt_norm_weight": [64], "B_norm_weight": [16],
                       "C_norm_weight": [16]}.items()} | {
                   f"model.layers.layers.1.mixer.{name}": shape for name, shape in {
                       "qkv_proj.weight": linear(WIDTH + 2 * KV), "o_proj.weight": linear(WIDTH), "q_weight": [HEADS, DIM],
                       "k_weight": [KV_HEADS, DIM]}.items()}),
    "plamo3": (dict(architectures=["Plamo3ForCausalLM"], head_dim=DIM, window_size=8, sliding_window_pattern=2),
               PLAMO_ENDS | of_layers("model.layers.layers", PLAMO_NORMS | {
                   "mixer.qkv_proj.weight": linear(WIDTH + 2 * KV), "mixer.o_proj.weight": linear(WIDTH),
                   "mixer.q_norm.weight": [DIM], "mixer.k_norm.weight": [DIM]})),
    "plm": (dict(architectures=["PLMForCausalLM"], num_key_value_heads=HEADS, kv_lora_rank=48, qk_nope_head_dim=32,
                 qk_rope_head_dim=16, v_head_dim=40, tie_word_embeddings=True, hidden_act="relu2"),
            without(ENDS, "lm_head") | of_layers("model.layers", {
                "input_layernorm.weight": [WIDTH], "self_attn.q_proj.weight": linear(HEADS * 48),
                "self_attn.kv_a_proj_with_mqa.weight": linear(64), "self_attn.kv_a_layernorm.weight": [48],
                "self_attn.kv_b_proj.weight": linear(HEADS * 72, 48), "self_attn.o_proj.weight": linear(WIDTH, HEADS * 40),
                "post_attention_layernorm.weight": [WIDTH]} | without(MLP, "gate"))),
    "smallthinker": (dict(architectures=["SmallThinkerForCausalLM"], moe_num_primary_experts=EXPERTS,
                          moe_num_active_primary_experts=3, moe_ffn_hidden_size=48, moe_primary_router_apply_softmax=False),
                     ENDS | of_layers("model.layers", ATTENTION | {
                         "block_sparse_moe.primary_router.weight": linear(EXPERTS)}) |
                     of_experts("model.layers.{}.block_sparse_moe.experts", ("gate", "up", "down"), 48)),
    "grok": (dict(architectures=["Grok1ForCausalLM"], num_local_experts=EXPERTS, num_experts_per_tok=2,
                  moe_intermediate_size=48, embedding_multiplier_scale=2.0, output_multiplier_scale=0.5,
                  attn_logit_softcapping=3.0, attn_output_multiplier=0.2, final_logit_softcapping=4.0),
             ENDS | of_layers("model.layers", {
                 "pre_attn_norm.weight": [WIDTH], "post_attn_norm.weight": [WIDTH], "pre_moe_norm.weight": [WIDTH],
                 "post_moe_norm.weight": [WIDTH], "block_sparse_moe.gate.weight": linear(EXPERTS)} |
                 without(ATTENTION, "layernorm") | MLP) |
             of_experts("model.layers.{}.block_sparse_moe.experts", ("w1", "w3", "w2"), 48)),
    "arctic": (dict(architectures=["ArcticForCausalLM"], num_local_experts=EXPERTS, num_experts_per_tok=2,
                    intermediate_size=48),
               ENDS | of_layers("model.layers", ATTENTION | {
                   "residual_layernorm.weight": [WIDTH], "residual_mlp.w1.weight": linear(WIDTH),
                   "residual_mlp.w2.weight": linear(WIDTH), "residual_mlp.w3.weight": linear(WIDTH),
                   "block_sparse_moe.gate.weight": linear(EXPERTS)}) |
               of_experts("model.layers.{}.block_sparse_moe.experts", ("w1", "w3", "w2"), 48)),
    "openelm": (dict(architectures=["OpenELMForCausalLM"], model_dim=WIDTH, num_transformer_layers=LAYERS, head_dim=DIM,
                     ffn_multipliers=[1.0, 1.5, 2.0], ffn_dim_divisor=16, num_kv_heads=[1, 2, 2],
                     num_query_heads=[3, 4, 6], max_context_length=512, rope_freq_constant=10000,
                     share_input_output_layers=True, normalize_qk_projections=True),
                {"transformer.token_embeddings.weight": [VOCABULARY, WIDTH], "transformer.norm.weight": [WIDTH]} | {
                    f"transformer.layers.{i}.{name}": shape
                    for i, (kv, q, ffn) in enumerate([(1, 3, 64), (2, 4, 96), (2, 6, 128)]) for name, shape in {
                        "attn_norm.weight": [WIDTH], "attn.qkv_proj.weight": linear((q + 2 * kv) * DIM),
                        "attn.q_norm.weight": [DIM], "attn.k_norm.weight": [DIM],
                        "attn.out_proj.weight": linear(WIDTH, q * DIM), "ffn_norm.weight": [WIDTH],
                        "ffn.proj_1.weight": linear(2 * ffn), "ffn.proj_2.weight": linear(WIDTH, ffn)}.items()}),
    "rwkv6": (RWKV | dict(architectures=["Rwkv6ForCausalLM"], rescale_every=2),
              {"rwkv.embeddings.weight": [VOCABULARY, WIDTH], "head.weight": [VOCABULARY, WIDTH]} |
              norms("rwkv.ln_out", "rwkv.blocks.0.pre_ln") | of_layers("rwkv.blocks", norms("ln1", "ln2", "attention.ln_x") | {
                  f"attention.time_maa_{name}": ROW for name in "xwkvrg"} | {
                  "attention.time_maa_w1": [WIDTH, 160], "attention.time_maa_w2": [5, 32, WIDTH], "attention.time_decay": ROW,
                  "attention.time_decay_w1": [WIDTH, 64], "attention.time_decay_w2": [64, WIDTH],
                  "attention.time_faaaa": [HEADS, DIM]} | {
                  f"attention.{name}.weight": linear(WIDTH) for name in ("receptance", "key", "value", "gate", "output")} | {
                  "feed_forward.time_maa_k": ROW, "feed_forward.time_maa_r": ROW, "feed_forward.key.weight": linear(FFN),
                  "feed_forward.receptance.weight": linear(WIDTH), "feed_forward.value.weight": linear(WIDTH, FFN)})),
    "rwkv7": (RWKV | dict(architectures=["Rwkv7ForCausalLM"], lora_rank_decay=8, lora_rank_iclr=8,
                          lora_rank_value_residual_mix=8, lora_rank_gate=24),
              {"model.embeddings.weight": [VOCABULARY, WIDTH], "lm_head.weight": [VOCABULARY, WIDTH]} |
              norms("model.ln_out", "model.layers.0.pre_norm") | of_layers("model.layers", norms("ln1", "ln2") |
                  goose("attention", True) | {"feed_forward.x_k": ROW, "feed_forward.key.weight": linear(FFN),
                                              "feed_forward.value.weight": linear(WIDTH, FFN)})),
    # The converter takes these ranks for given.
    "arwkv7": (RWKV | dict(architectures=["RwkvHybridForCausalLM"], wkv_has_gate=False, wkv_version=7),
               ENDS | of_layers("model.layers", goose("self_attn.time_mixer", False, (64, 64, 32)) | MLP | {
                   "input_layernorm.weight": [WIDTH], "post_attention_layernorm.weight": [WIDTH]})),
    "deci": (dict(architectures=["DeciLMForCausalLM"], num_hidden_layers=4, block_configs=[
        dict(attention=dict(n_heads_in_group=2, no_op=False, replace_with_linear=False),
             ffn=dict(ffn_mult=1.0, no_op=False, replace_with_linear=False)),
        dict(attention=dict(n_heads_in_group=None, no_op=False, replace_with_linear=True),
             ffn=dict(ffn_mult=8.0, no_op=False, replace_with_linear=False)),
        dict(attention=dict(n_heads_in_group=None, no_op=True, replace_with_linear=False),
             ffn=dict(ffn_mult=1.0, no_op=False, replace_with_linear=False)),
        dict(attention=dict(n_heads_in_group=4, no_op=False, replace_with_linear=False),
             ffn=dict(ffn_mult=1.0, no_op=False, replace_with_linear=False))]), None),
}
ZERO_GAINS = ("plamo2", "plamo3")  # whose converter adds what a gain is beside its number


def random_checkpoint(name, shapes):
    generator = torch.Generator().manual_seed(sum(name.encode()))
    tensors = {}
    for key, shape in shapes.items():
        noise = torch.randn(shape, generator=generator)
        if key.endswith("slopes"): value = torch.tensor([2.0 ** -(2 * i + 2) for i in range(shape[0])])
        elif len(shape) == 1 and key.endswith(("bias", "dt_bias")): value = 0.3 * noise
        elif ".x_" in key or ("time_maa_" in key and shape == ROW): value = noise.sigmoid()
        elif key.endswith("time_decay"): value = -1 + 0.5 * noise
        elif shape == ROW: value = 0.7 + 0.3 * noise
        elif key.endswith(("r_k", "time_faaaa")): value = 0.3 * noise
        elif len(shape) == 1 or key.endswith(("q_weight", "k_weight")):
            value = 0.2 * noise if name in ZERO_GAINS and key.endswith("norm.weight") else 1 + 0.2 * noise
        elif "embed" in key or "wte" in key: value = 0.6 * noise
        else: value = noise * 1.2 / math.sqrt(shape[-1])
        tensors[key] = value.half().float()
    return tensors


def deci_shapes():
    ffn = [256, 512, 256, 256]  # what the converter's rounding makes of the multipliers
    out = dict(ENDS)
    for i, kv in enumerate((2, 0, None, 1)):
        layer = {"post_attention_layernorm.weight": [WIDTH], "mlp.gate_proj.weight": linear(ffn[i]),
                 "mlp.up_proj.weight": linear(ffn[i]), "mlp.down_proj.weight": linear(WIDTH, ffn[i])}
        if kv is not None: layer |= {"input_layernorm.weight": [WIDTH]}
        if kv == 0: layer |= {"self_attn.linear_attn.weight": linear(WIDTH)}
        if kv: layer |= {"self_attn.q_proj.weight": linear(WIDTH), "self_attn.k_proj.weight": linear(kv * DIM),
                         "self_attn.v_proj.weight": linear(kv * DIM), "self_attn.o_proj.weight": linear(WIDTH)}
        out |= {f"model.layers.{i}.{key}": shape for key, shape in layer.items()}
    return out


def by_formulas(name, checkpoint, config, prompt):
    weights, text, gaps = {key: value.double() for key, value in checkpoint.items()}, list(prompt), []
    with torch.inference_mode():
        for _ in range(family.GREEDY):
            logits = WRITTEN[name](weights, config, torch.tensor(text))
            if len(text) == len(prompt): of_prompt = logits
            best = torch.topk(logits[-1], 2)
            text.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
    return of_prompt.float().numpy(), numpy.array(text[len(prompt):], numpy.int32), numpy.array(gaps, numpy.float32)


def by_peer(name, folder, program, prompt):
    import gguf
    family.convert(name, folder, folder / "f32.gguf", gguf.LlamaFileType.ALL_F32)
    subprocess.run([program, str(folder / "f32.gguf"), str(folder / "out"), str(family.GREEDY)] +
                   [str(token) for token in prompt], check=True)
    data = (folder / "out").read_bytes()
    at = family.PROMPT * VOCABULARY * 4
    logits = numpy.frombuffer(data[:at], numpy.float32).reshape(family.PROMPT, VOCABULARY)
    return logits, *(numpy.frombuffer(data[at:], kind)[i::2].copy() for i, kind in enumerate((numpy.int32, numpy.float32)))


def make(name, program):
    config, shapes = BY_HAND[name]
    if name == "deci": shapes = deci_shapes()
    prompt = [(7 * i * i + 3 * i + 11) % (VOCABULARY - 4) for i in range(family.PROMPT)]
    checkpoint = random_checkpoint(name, shapes)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        json.dump(SIZES | config, open(folder / "config.json", "w"))
        save_tensors(checkpoint, folder / "model.safetensors")
        family.convert(name, folder, family.HERE / "families" / (name + ".gguf"))
        logits, greedy, gaps = (by_formulas(name, checkpoint, SIZES | config, prompt) if name in WRITTEN else
                                by_peer(name, folder, program, prompt))
    positions = sorted({0, 1, 7, 20, family.PROMPT - 1})
    save_file({"prompt_ids": numpy.array(prompt, numpy.int32), "positions": numpy.array(positions, numpy.int32),
               "logits": logits[positions].copy(), "greedy_ids": greedy, "greedy_gap": gaps},
              family.HERE / "goldens" / f"family-{name}.safetensors")
    print(f"{name}: deviation of the logits {float(logits[positions].std()):.3f}, least gap {min(gaps):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama-cpp", type=pathlib.Path, required=True)
    parser.add_argument("--logits", help="the program of peer_logits.cpp")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    sys.path[:0] = [str(args.llama_cpp), str(args.llama_cpp / "gguf-py")]
    failed = []
    for name in args.names or BY_HAND:
        try: make(name, args.logits)
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
