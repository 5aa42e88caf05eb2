#!/usr/bin/env python3
"""Makes tests/data/families/NAME.gguf and tests/data/goldens/family-NAME.safetensors.

    python make_family_files.py --llama-cpp SOURCE [NAME ...]

A tiny random model of a Hugging Face family, with the features on that a wrong program would miss, in f16; its logits
and greedy tokens in float64 from transformers (eager attention). Needs torch, transformers, gguf, safetensors, and the
source of llama.cpp, whose converter writes the file. The tokenizer is that of tests/data/families/llama.gguf."""
import argparse, json, math, pathlib, sys, tempfile
import numpy, torch, transformers
from safetensors.numpy import save_file
from borrowed_families import BORROWED, SIZES, with_layer_norms

HERE = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY, PROMPT, GREEDY = 512, 48, 24
COMMON = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=512, bos_token_id=511, eos_token_id=511, pad_token_id=509,
              tie_word_embeddings=True)

def rope(**of): return dict(rope_theta=10000.0, rope_type="default") | of

# name: (class of transformers, what its configuration has beside COMMON)
FAMILIES = {
    "gemma": ("Gemma", dict(head_dim=32, hidden_activation="gelu_pytorch_tanh")),
    "gemma2": ("Gemma2", dict(head_dim=32, sliding_window=8, attn_logit_softcapping=3.0, final_logit_softcapping=4.0,
                              query_pre_attn_scalar=32, num_hidden_layers=4)),
    "arcee": ("Arcee", dict(hidden_act="relu2", tie_word_embeddings=False)),
    "seed_oss": ("SeedOss", dict(head_dim=32, attention_bias=True, attention_out_bias=False, tie_word_embeddings=False)),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=5, no_rope_layer_interval=4)),
    "granite": ("Granite", dict(embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.1,
                                logits_scaling=2.0)),
    "olmo2": ("Olmo2", dict(tie_word_embeddings=False)),
    "olmo3": ("Olmo3", dict(tie_word_embeddings=False, sliding_window=8, num_hidden_layers=5,
                            rope_parameters=rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=64,
                                                 attention_factor=1.13862943611))),
    "glm4": ("Glm4", dict(head_dim=32, partial_rotary_factor=0.5, attention_bias=True, tie_word_embeddings=False)),
    "exaone4": ("Exaone4", dict(head_dim=32)),
    "command_r": ("Cohere", dict(logit_scale=0.25)),
    "cohere2": ("Cohere2", dict(logit_scale=0.25, sliding_window=8, num_hidden_layers=5)),
    "phi2": ("Phi", dict(intermediate_size=256, partial_rotary_factor=0.5, num_key_value_heads=4, tie_word_embeddings=False)),
    "gptneox": ("GPTNeoX", dict(rope_parameters=rope(partial_rotary_factor=0.5), use_parallel_residual=True, tie_word_embeddings=False)),
    "gptneox_sequential": ("GPTNeoX", dict(rope_parameters=rope(partial_rotary_factor=0.5), use_parallel_residual=False, tie_word_embeddings=False)),
    "falcon": ("Falcon", dict(multi_query=True, parallel_attn=True, new_decoder_architecture=False, bias=False,
                              alibi=False)),
    "falcon_40b": ("Falcon", dict(new_decoder_architecture=True, num_kv_heads=2, bias=False, alibi=False)),
    "stablelm": ("StableLm", dict(partial_rotary_factor=0.5, use_qkv_bias=True, tie_word_embeddings=False)),
    "stablelm_parallel": ("StableLm", dict(partial_rotary_factor=0.5, use_parallel_residual=True,
                                           tie_word_embeddings=False)),
    "starcoder2": ("Starcoder2", dict(use_bias=True, sliding_window=None)),
    "nemotron": ("Nemotron", dict(partial_rotary_factor=0.5, tie_word_embeddings=False)),
    "ministral3": ("Ministral3", dict(head_dim=32, tie_word_embeddings=False, rope_parameters=rope(
        rope_type="yarn", factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, mscale=1.0,
        mscale_all_dim=1.0, llama_4_scaling_beta=0.3))),
    "ernie4_5": ("Ernie4_5", dict(head_dim=32, use_bias=True)),
    "hunyuan_dense": ("HunYuanDenseV1", dict(head_dim=32, tie_word_embeddings=True)),
    "llama_yarn": ("Llama", dict(head_dim=32, tie_word_embeddings=False, rope_parameters=rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=32))),
    "mistral": ("Mistral", dict(head_dim=32, sliding_window=8, tie_word_embeddings=False)),
    "bloom": ("Bloom", dict(hidden_size=64, n_layer=3, n_head=4)),
    "bloom_6_heads": ("Bloom", dict(hidden_size=96, n_layer=2, num_attention_heads=6)),
    "mpt": ("Mpt", dict(d_model=64, n_layers=3, n_heads=4, expansion_ratio=2, max_seq_len=512)),
    "gpt2": ("GPT2", dict(n_embd=64, n_layer=3, n_head=4, n_inner=256, n_positions=512)),
    "starcoder": ("GPTBigCode", dict(n_embd=64, n_layer=3, n_head=4, n_inner=256, n_positions=512)),
    "qwen2moe": ("Qwen2Moe", dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=48,
                                  shared_expert_intermediate_size=40, tie_word_embeddings=False)),
    "olmoe": ("Olmoe", dict(num_experts=6, num_experts_per_tok=3, intermediate_size=48, tie_word_embeddings=False)),
    "granitemoe": ("GraniteMoe", dict(num_local_experts=6, num_experts_per_tok=3, intermediate_size=48,
                                      embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.1,
                                      logits_scaling=2.0)),
    "granitemoe_shared": ("GraniteMoeShared", dict(num_local_experts=6, num_experts_per_tok=3, intermediate_size=48,
                                                   shared_intermediate_size=40, logits_scaling=2.0)),
    "mixtral": ("Mixtral", dict(num_local_experts=6, num_experts_per_tok=2, tie_word_embeddings=False)),
    "glm4moe": ("Glm4Moe", dict(head_dim=32, n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=48,
                                n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=1,
                                topk_group=1, norm_topk_prob=True, use_qk_norm=True, attention_bias=True,
                                partial_rotary_factor=0.5, tie_word_embeddings=False)),
    "dots1": ("Dots1", dict(head_dim=32, n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=48,
                            n_shared_experts=2, first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=1,
                            topk_group=1, norm_topk_prob=True, tie_word_embeddings=False)),
    "minimax_m2": ("MiniMaxM2", dict(head_dim=32, num_local_experts=6, num_experts_per_tok=3, intermediate_size=48,
                                     rotary_dim=16, tie_word_embeddings=False)),
    "ernie4_5_moe": ("Ernie4_5_Moe", dict(head_dim=32, moe_num_experts=6, moe_k=3, moe_intermediate_size=48,
                                          moe_num_shared_experts=1, moe_layer_start_index=1, moe_layer_end_index=2,
                                          moe_layer_interval=1, use_bias=True, num_hidden_layers=3)),
    "hunyuan_moe": ("HunYuanMoEV1", dict(head_dim=32, num_experts=6, moe_topk=[3] * 3, intermediate_size=48,
                                         moe_intermediate_size=[48] * 3, num_shared_expert=[1] * 3)),
    "lfm2moe": ("Lfm2Moe", dict(num_hidden_layers=4, layer_types=["conv", "full_attention", "conv", "full_attention"],
                                intermediate_size=96, moe_intermediate_size=48, num_experts=6, num_experts_per_tok=3,
                                num_dense_layers=1, norm_topk_prob=True, use_expert_bias=True, conv_L_cache=3)),
    "granitehybrid_moe": ("GraniteMoeHybrid", dict(
        num_hidden_layers=4, layer_types=["mamba", "mamba", "attention", "mamba"], num_local_experts=6,
        num_experts_per_tok=3, intermediate_size=48, shared_intermediate_size=40, mamba_n_heads=8, mamba_d_head=16,
        mamba_d_state=16, mamba_n_groups=1, mamba_expand=2, position_embedding_type="nope", attention_multiplier=0.1,
        logits_scaling=2.0)),
    "deepseek_v3": ("DeepseekV3", dict(q_lora_rank=32, kv_lora_rank=48, qk_nope_head_dim=32, qk_rope_head_dim=16,
                                       v_head_dim=40, num_key_value_heads=4, n_routed_experts=8, num_experts_per_tok=3,
                                       n_group=4, topk_group=2, n_shared_experts=1, moe_intermediate_size=48,
                                       first_k_dense_replace=1, routed_scaling_factor=2.5, norm_topk_prob=True,
                                       tie_word_embeddings=False, rope_parameters=rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=32, mscale=1.0, mscale_all_dim=1.0,
        beta_fast=32.0, beta_slow=1.0))),
    "deepseek_v2_lite": ("DeepseekV2", dict(q_lora_rank=None, kv_lora_rank=48, qk_nope_head_dim=32, qk_rope_head_dim=16,
                                            v_head_dim=40, num_key_value_heads=4, n_routed_experts=6,
                                            num_experts_per_tok=2, n_group=1, topk_group=1, topk_method="greedy",
                                            n_shared_experts=2, moe_intermediate_size=48, first_k_dense_replace=1,
                                            routed_scaling_factor=1.0, norm_topk_prob=False,
                                            tie_word_embeddings=False)),
    "phimoe": ("Phimoe", dict(num_local_experts=6, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True,
                              sliding_window=None, tie_word_embeddings=False, rope_parameters=rope(
        rope_type="longrope", short_factor=[1.0 + 0.2 * i for i in range(8)], original_max_position_embeddings=32,
        long_factor=[1.0 + 0.2 * i for i in range(8)], **{  # that class takes the short ones for any text
            name: math.sqrt(1 + math.log(512 / 32) / math.log(32)) for name in ("short_mscale", "long_mscale")}))),
    "olmo": ("Olmo", dict(clip_qkv=None, tie_word_embeddings=False)),
    "apertus": ("Apertus", dict(head_dim=32, tie_word_embeddings=False)),
    "phi3_long": ("Phi3", dict(original_max_position_embeddings=32, max_position_embeddings=512, sliding_window=None,
                               tie_word_embeddings=False, rope_parameters=rope(
        rope_type="longrope", short_factor=[1.0 + 0.05 * i for i in range(8)],
        long_factor=[1.0 + 0.7 * i for i in range(8)], original_max_position_embeddings=32))),
    "mamba": ("Mamba", dict(hidden_size=64, intermediate_size=128, state_size=16, conv_kernel=4, time_step_rank=8)),
    "falcon_mamba": ("FalconMamba", dict(  # files have one epsilon for both
        hidden_size=64, intermediate_size=128, state_size=16, conv_kernel=4, time_step_rank=8, mixer_rms_eps=1e-5,
        layer_norm_epsilon=1e-5, tie_word_embeddings=False)),
    "granitehybrid": ("GraniteMoeHybrid", dict(
        num_hidden_layers=4, layer_types=["mamba", "mamba", "attention", "mamba"], num_local_experts=0,
        num_experts_per_tok=0, shared_intermediate_size=96, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=32,
        mamba_n_groups=1, mamba_expand=2, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.1,
        logits_scaling=2.0, position_embedding_type="nope", tie_word_embeddings=False)),
    "bamba": ("Bamba", dict(num_hidden_layers=4, attn_layer_indices=[2], mamba_n_heads=8, mamba_d_head=16,
                            mamba_d_state=32, mamba_n_groups=2, mamba_expand=2, tie_word_embeddings=False,
                            rope_parameters=rope(partial_rotary_factor=1.0))),  # else the converter mixes up pairs
    "falcon_h1": ("FalconH1", dict(  # factors become part of weights, exactly if they are powers of two
        head_dim=16, mamba_d_ssm=96, mamba_n_heads=6, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=32,
        mamba_rms_norm=True, mamba_norm_before_gate=False, tie_word_embeddings=False, lm_head_multiplier=0.5,
        embedding_multiplier=2.0, mlp_multipliers=[0.5, 2.0], ssm_multipliers=[0.5, 2.0, 0.5, 1.0, 2.0],
        ssm_in_multiplier=0.5, ssm_out_multiplier=2.0, attention_in_multiplier=0.5, attention_out_multiplier=2.0,
        key_multiplier=2.0)),
    "nemotron_h": ("NemotronH", dict(
        layers_block_type=["mamba", "mlp", "attention", "mamba", "mlp"], num_hidden_layers=5, head_dim=16,
        mamba_num_heads=8, mamba_head_dim=16, ssm_state_size=32, n_groups=2, conv_kernel=4, expand=2,
        tie_word_embeddings=False)),
    "qwen35": ("Qwen3_5Text", dict(
        num_hidden_layers=4, head_dim=32, full_attention_interval=4, tie_word_embeddings=False,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=32, linear_value_head_dim=32,
        linear_conv_kernel_dim=4, rope_parameters=rope(partial_rotary_factor=0.5, mrope_section=[3, 3, 2],
                                                       mrope_interleaved=True))),
    "jamba": ("Jamba", dict(num_hidden_layers=4, attn_layer_period=4, attn_layer_offset=2, expert_layer_period=100,
                            expert_layer_offset=99, num_experts=1, num_experts_per_tok=1, mamba_d_state=16,
                            mamba_dt_rank=8, mamba_expand=2, use_mamba_kernels=False)),
    "exaone_moe": ("ExaoneMoe", dict(head_dim=32, num_hidden_layers=5, sliding_window=8, num_experts=6, num_experts_per_tok=3,
                                     moe_intermediate_size=48, first_k_dense_replace=1, tie_word_embeddings=False)),
    "afmoe": ("Afmoe", dict(head_dim=32, num_hidden_layers=5, sliding_window=8, num_experts=6, num_experts_per_tok=3,
                            num_shared_experts=1, moe_intermediate_size=48, num_dense_layers=1, route_scale=2.5,
                            mup_enabled=True, tie_word_embeddings=False)),
    "bitnet": ("BitNet", dict(hidden_act="silu")),
    "chatglm": ("Glm", dict(head_dim=16, rms_norm_eps=1e-5, attention_bias=True, tie_word_embeddings=False)),
    "cohere2moe": ("Cohere2Moe", dict(
        head_dim=16, logit_scale=0.25, num_hidden_layers=6, sliding_window=8, num_experts=6, num_experts_per_tok=3,
        num_shared_experts=1, intermediate_size=48, prefix_dense_intermediate_size=96, first_k_dense_replace=1,
        expert_selection_fn="sigmoid", mlp_layer_types=["dense"] + ["sparse"] * 5)),
    "hy_v3": ("HYV3", dict(head_dim=32, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=48,
                           mlp_layer_types=["dense", "sparse", "sparse"], tie_word_embeddings=False)),
    "jais2": ("Jais2", dict(head_dim=32, tie_word_embeddings=False)),
    "mellum": ("Mellum", dict(
        head_dim=32, num_hidden_layers=5, sliding_window=8, num_local_experts=6, num_experts_per_tok=3,
        moe_intermediate_size=48, tie_word_embeddings=False, norm_topk_prob=True,
        layer_types=["sliding_attention"] * 3 + ["full_attention", "sliding_attention"],
        rope_parameters=dict(sliding_attention=rope(), full_attention=rope(
            rope_type="yarn", factor=4.0, original_max_position_embeddings=32)))),
    "minicpm3": ("MiniCPM3", dict(num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=48, qk_nope_head_dim=32,
                                  qk_rope_head_dim=16, v_head_dim=16, head_dim=16, dim_model_base=256,
                                  scale_emb=12, tie_word_embeddings=False)),
    "mistral4": ("Mistral4", dict(
        num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=48, qk_nope_head_dim=32, qk_rope_head_dim=16, v_head_dim=40,
        n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=48, head_dim=48, qk_head_dim=48,
        tie_word_embeddings=False, rope_parameters=rope(
            rope_type="yarn", factor=2.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0,
            beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1))),
    "nemotron_h_moe": ("NemotronH", dict(
        layers_block_type=["mamba", "moe", "attention", "mamba", "moe"], num_hidden_layers=5, head_dim=16,
        mamba_num_heads=8, mamba_head_dim=16, ssm_state_size=32, n_groups=2, conv_kernel=4, expand=2,
        n_routed_experts=8, num_experts_per_tok=3, n_group=4, topk_group=2, moe_intermediate_size=48,
        moe_shared_expert_intermediate_size=40, routed_scaling_factor=2.5, norm_topk_prob=True,
        tie_word_embeddings=False)),
    "qwen35moe": ("Qwen3_5MoeText", dict(
        num_hidden_layers=4, head_dim=32, full_attention_interval=4, tie_word_embeddings=False, num_experts=6,
        num_experts_per_tok=3, moe_intermediate_size=48, shared_expert_intermediate_size=40,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=32, linear_value_head_dim=32,
        linear_conv_kernel_dim=4, rope_parameters=rope(partial_rotary_factor=0.5, mrope_section=[3, 3, 2],
                                                       mrope_interleaved=True))),
    "jamba_moe": ("Jamba", dict(num_hidden_layers=4, attn_layer_period=4, attn_layer_offset=2, expert_layer_period=2,
                                expert_layer_offset=1, num_experts=6, num_experts_per_tok=2, mamba_d_state=16,
                                mamba_dt_rank=8, mamba_expand=2, use_mamba_kernels=False)),
    "dbrx": ("Dbrx", dict(d_model=64, n_heads=4, n_layers=3, max_seq_len=512, tie_word_embeddings=False,
                          attn_config=dict(clip_qkv=0.7, kv_n_heads=2, rope_theta=10000.0),
                          ffn_config=dict(ffn_hidden_size=96, moe_num_experts=6, moe_top_k=3, hidden_size=64))),
    "llama4": ("Llama4Text", dict(
        head_dim=32, num_hidden_layers=4, intermediate_size=48, intermediate_size_mlp=96, num_local_experts=6,
        num_experts_per_tok=2, interleave_moe_layer_step=2, attention_chunk_size=8, floor_scale=16, attn_scale=0.3,
        use_qk_norm=True, tie_word_embeddings=False)),
    "gemma4": ("Gemma4Text", dict(
        head_dim=32, global_head_dim=64, num_hidden_layers=6, hidden_size_per_layer_input=16, sliding_window=8,
        vocab_size_per_layer_input=VOCABULARY, num_kv_shared_layers=2, use_double_wide_mlp=True,
        num_global_key_value_heads=1, final_logit_softcapping=4.0,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2)),
    "gemma4_moe": ("Gemma4Text", dict(
        head_dim=32, global_head_dim=64, num_hidden_layers=3, hidden_size_per_layer_input=0, sliding_window=8,
        num_global_key_value_heads=1, attention_k_eq_v=True, final_logit_softcapping=4.0, enable_moe_block=True, num_experts=6, top_k_experts=3,
        moe_intermediate_size=48, layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    "gemma3n": ("Gemma3nText", dict(
        head_dim=32, num_hidden_layers=6, hidden_size_per_layer_input=16, vocab_size_per_layer_input=VOCABULARY,
        intermediate_size=[96] * 6, sliding_window=8, num_kv_shared_layers=2, laurel_rank=8,
        activation_sparsity_pattern=[0.7, 0.7, 0.0, 0.0, 0.0, 0.0], final_logit_softcapping=4.0,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2)),
}



# What the converter looks for in config.json and this version of transformers no longer writes.
ALSO_IN_CONFIG = {
    "phimoe": dict(original_max_position_embeddings=32, architectures=["PhiMoEForCausalLM"]),
    "deepseek_v3": dict(scoring_func="sigmoid"),
    "cohere2": dict(rotary_pct=1.0),
    "gptneox": dict(rotary_pct=0.5, rotary_emb_base=10000),
    "gptneox_sequential": dict(rotary_pct=0.5, rotary_emb_base=10000),
    "falcon": dict(num_kv_heads=1),
    "gpt2": dict(n_ctx=512),
    "mpt": dict(architectures=["MPTForCausalLM"]),
    "mistral4": dict(architectures=["Mistral3ForConditionalGeneration"], model_type="mistral4"),
    "afmoe": dict(route_norm=True),
    "nemotron_h": dict(hybrid_override_pattern="M-*M-", num_experts_per_tok=None, n_routed_experts=None, n_group=None,
                       topk_group=None),
    "granitehybrid": dict(layer_types=["mamba", "mamba", "attention", "mamba"]),
    "granitehybrid_moe": dict(layer_types=["mamba", "mamba", "attention", "mamba"]),
}


# Where the usual one gives two tokens the same logit.
# Where the usual one has a router choose between two, or count one near, by less than noise: another.
SEEDS = {"gemma3n": 7, "phimoe": 30}

# What the converter knows by older names.
RENAMED = {
    "bitnet": lambda name: name.replace("mlp.ffn_sub_norm", "mlp.ffn_layernorm").replace(
        "self_attn.attn_sub_norm", "self_attn.inner_attn_ln"),
}


def rename(name, folder):
    from safetensors.torch import load_file, save_file as save
    path = folder / "model.safetensors"
    save({RENAMED[name](key): value for key, value in load_file(path).items()}, path)


def round_to_ternary(model):
    """As the converter does: each weight of a layer is -s, 0 or s."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim != 2 or "embed" in name: continue
            scale = weight.abs().mean().clamp(min=1e-5)
            weight.copy_(((weight / scale).round().clamp(-1, 1) * scale).half().float())


def randomise(model, seed):
    """Every weight a number that f16 holds; sizes at which scores, gates and windows matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim == 1 and name.endswith("bias"): value = 0.3 * noise
            elif weight.ndim == 1: value = 1 + 0.2 * noise if not hasattr(model, "zero_gains") else 0.2 * noise
            elif "embed" in name or "wte" in name: value = 0.6 * noise
            else: value = noise * 1.2 / math.sqrt(weight.shape[-1])
            weight.copy_(value.half().float())
        for name, bias in model.named_buffers():  # of routers
            if "correction_bias" in name: bias.copy_(0.3 * torch.randn(bias.shape, generator=generator))


def convert(name, folder, out, types=None):
    """Runs llama.cpp's converter with the tokenizer that is given, whatever the family has otherwise."""
    import conversion, gguf
    from conversion.base import ModelBase, TextModel, ModelType, get_model_architecture
    tokens, merges = tokenizer()
    def set_vocab(self):
        writer = self.gguf_writer
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_list(tokens)
        writer.add_token_types([1] * len(tokens))
        writer.add_token_merges(merges)
        writer.add_eos_token_id(511)
        writer.add_pad_token_id(509)
        writer.add_add_bos_token(False)
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False) | ALSO_IN_CONFIG.get(name, {})
        hparams = {key: value for key, value in hparams.items() if value is not None or key not in ALSO_IN_CONFIG.get(name, {})}
        kind = conversion.get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        # The outer one wants a tokenizer of its own.
        kind = dict(ministral3="Ministral3Model", mistral4="Mistral4Model").get(name, kind)
        if isinstance(kind, str): kind = getattr(conversion.get_model_class("Mistral3ForConditionalGeneration"), kind)
        class Kind(kind): model_arch = kind.model_arch  # what is changed here is this file's alone
        Kind.set_vocab = set_vocab
        if name.startswith("qwen35"): Kind.no_mtp = True  # there are no draft blocks
        if hasattr(Kind, "lerp_weights"): Kind.lerp_weights = {}  # which all families and files share
        if name == "mistral":  # whose window it leaves out
            Kind.set_gguf_parameters = lambda self: (super(Kind, self).set_gguf_parameters(),
                                                     self.gguf_writer.add_sliding_window(8))
        if name == "mistral4":  # whose scale it leaves out
            Kind.set_gguf_parameters = lambda self: (super(Kind, self).set_gguf_parameters(),
                                                     self.gguf_writer.add_attn_temperature_scale(0.1))
        if name == "baichuan":  # it calls itself without end for what is not fused
            Kind.modify_tensors = lambda self, data, key, bid: (
                kind.modify_tensors(self, data, key, bid) if "W_pack" in key
                else TextModel.modify_tensors(self, data, key, bid))
        if name == "plamo":  # it knows one size alone
            Kind.shuffle_attn_q_weight = Kind.shuffle_attn_output_weight = lambda self, data: data
            Kind.set_gguf_parameters = lambda self: (super(Kind, self).set_gguf_parameters(),
                                                     self.gguf_writer.add_head_count_kv(2))
        if name == "llama4":  # what all published models share, smaller
            Kind.set_gguf_parameters = lambda self: (
                super(Kind, self).set_gguf_parameters(),
                self.gguf_writer.add_uint32("llama4.attention.chunk_size", 8),
                self.gguf_writer.add_uint32("llama4.attention.temperature_length", 16),
                self.gguf_writer.add_attn_temperature_scale(0.3))
        given = dict(hparams=hparams) if name in ("nemotron_h", "granitehybrid", "granitehybrid_moe") else {}  # which looks at what it has beforehand
        if name == "jais": given |= dict(eager=True)  # it looks at numbers
        model = Kind(folder, gguf.LlamaFileType.MOSTLY_F16 if types is None else types, out, model_name="tiny model", **given)
        model.hparams.update(ALSO_IN_CONFIG.get(name, {}))
        model.write()


ADAPTED = {  # layers of a family whose adapters tests/data/lora has: rank 4, alpha 6
    "llama_yarn": ["self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"],
    "phi3_long": ["self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj"],
}


def adapt(name, model, config_folder):
    """Writes an adapter as PEFT does, converts it with llama.cpp's converter, and adds its products to the weights."""
    import subprocess
    generator, rank, alpha, tensors = torch.Generator().manual_seed(7), 4, 6, {}
    weights = dict(model.named_parameters())
    for layer in range(model.config.num_hidden_layers):
        for part in ADAPTED[name]:
            weight = weights[f"model.layers.{layer}.{part}.weight"]
            a = (torch.randn(rank, weight.shape[1], generator=generator) / 8).half().float()
            b = (torch.randn(weight.shape[0], rank, generator=generator) / 4).half().float()
            prefix = f"base_model.model.model.layers.{layer}.{part}."
            tensors |= {prefix + "lora_A.weight": a.numpy(), prefix + "lora_B.weight": b.numpy()}
            with torch.no_grad(): weight += alpha / rank * (b.double() @ a.double())
    with tempfile.TemporaryDirectory() as folder:
        save_file(tensors, folder + "/adapter_model.safetensors")
        json.dump(dict(peft_type="LORA", r=rank, lora_alpha=alpha, base_model_name_or_path=str(config_folder)),
                  open(folder + "/adapter_config.json", "w"))
        (HERE / "lora").mkdir(exist_ok=True)
        subprocess.run([sys.executable, str(LLAMA_CPP / "convert_lora_to_gguf.py"), folder, "--outtype", "f16", "--base",
                        str(config_folder), "--outfile", str(HERE / "lora" / (name + ".gguf"))], check=True)


def tokenizer():
    import gguf
    fields = gguf.GGUFReader(HERE / "families" / "llama.gguf").fields
    return [fields["tokenizer.ggml." + what].contents() for what in ("tokens", "merges")]


def borrow(name, folder):
    """Makes the folder that transformers wrote that of the family."""
    from safetensors.torch import load_file, save_file as save
    _, _, config, change = BORROWED[name]
    path = folder / "model.safetensors"
    save({key: value.contiguous() for key, value in change(load_file(path)).items()}, path)
    json.dump(SIZES | config, open(folder / "config.json", "w"))


def make(name, is_adapted=False):
    kind, own = FAMILIES[name] if name in FAMILIES else (BORROWED[name][0], SIZES | BORROWED[name][1])
    config = getattr(transformers, kind + "Config")(**(COMMON | own))
    config._attn_implementation = config._experts_implementation = "eager"
    of_class = kind.removesuffix("Text") + ("LMHeadModel" if kind == "GPT2" else "ForCausalLM")
    model = getattr(transformers, of_class)(config).eval()
    if name in ("gemma", "gemma2", "nemotron", "qwen35", "qwen35moe"): model.zero_gains = True  # the gain is 1 + weight
    if own.get("layer_norms"): with_layer_norms(model)
    randomise(model, SEEDS.get(name, sum(name.encode())))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        if name in BORROWED: borrow(name, pathlib.Path(folder))
        if name in RENAMED: rename(name, pathlib.Path(folder))
        if name.startswith("gemma4"):  # the converter counts its tokens
            json.dump(dict(model=dict(vocab={str(i): i for i in range(VOCABULARY)}), added_tokens=[]),
                      open(folder + "/tokenizer.json", "w"))
        if is_adapted: adapt(name, model.double(), pathlib.Path(folder))
        else: convert(name, pathlib.Path(folder), HERE / "families" / (name + ".gguf"))
    if name == "bitnet": round_to_ternary(model)
    model = model.double()
    # Where the family's code asks for float32, too: sums along a text would show it.
    single, to_single = torch.float32, torch.Tensor.float
    torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double
    prompt = torch.tensor([[(7 * i * i + 3 * i + 11) % (VOCABULARY - 4) for i in range(PROMPT)]])
    with torch.inference_mode():
        logits = model(prompt).logits[0]
        text, greedy, gaps = prompt, [], []
        for _ in range(GREEDY):
            best = torch.topk(model(text, use_cache=False).logits[0, -1], 2)
            greedy.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
            text = torch.cat([text, best.indices[:1].unsqueeze(0)], 1)
    torch.float32, torch.Tensor.float = single, to_single
    positions = sorted({0, 1, 7, 20, PROMPT - 1})
    save_file({"prompt_ids": prompt[0].to(torch.int32).numpy(), "positions": numpy.array(positions, numpy.int32),
               "logits": logits[positions].float().numpy(), "greedy_ids": numpy.array(greedy, numpy.int32),
               "greedy_gap": numpy.array(gaps, numpy.float32)},
              HERE / "goldens" / f"{'lora' if is_adapted else 'family'}-{name}.safetensors")
    print(f"{name}: deviation of the logits {float(logits[positions].std()):.3f}, least gap {min(gaps):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama-cpp", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--lora", action="store_true", help="the adapters of tests/data/lora and their goldens instead")
    args = parser.parse_args()
    global LLAMA_CPP
    LLAMA_CPP = args.llama_cpp
    sys.path[:0] = [str(args.llama_cpp), str(args.llama_cpp / "gguf-py")]  # the converter's own gguf
    failed = []
    for name in args.names or (ADAPTED if args.lora else FAMILIES | BORROWED):
        try: make(name, args.lora)
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
