"""Families that transformers has no class of, but for the names in their checkpoints: a class of transformers computes
the same, and what llama.cpp's converter wants is made of its tensors and configuration."""
import torch

SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, vocab_size=512, bos_token_id=511, eos_token_id=511, hidden_act="silu",
             rms_norm_eps=1e-6, rope_theta=10000.0, tie_word_embeddings=False)


def renamed(pairs):
    def change(tensors):
        def name(key):
            for before, after in pairs: key = key.replace(before, after)
            return key
        return {name(key): value for key, value in tensors.items()}
    return change


def fused(parts, whole, pairs, join=torch.cat):
    """Tensors of each layer that differ in `parts` alone as one, and names."""
    def change(tensors):
        out = {}
        for key, value in tensors.items():
            if parts[0] in key: out[key.replace(parts[0], whole)] = join([tensors[key.replace(parts[0], p)] for p in parts])
            elif not any(part in key for part in parts): out[key] = value
        return renamed(pairs)(out)
    return change


def interleaved(pairs):
    """Where transformers' class rotates halves of heads of 32, the checkpoint has neighbours."""
    def change(tensors):
        def swap(key, value):
            if not any(part in key for part in ("q_proj", "k_proj", "query_layernorm", "key_layernorm")): return value
            return value.reshape(-1, 2, 16, *value.shape[1:]).transpose(1, 2).reshape(value.shape)
        return renamed(pairs)({key: swap(key, value) for key, value in tensors.items()})
    return change


def by_groups(parts):
    """InternLM2's order: of each head of keys its queries, then the key, then the value."""
    q, k, v = (part.reshape(2, -1, 16, 64) for part in parts)
    return torch.cat([q, k, v], 1).reshape(-1, 64)


QKV = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]
GPT = [("model.layers", "transformer.h"), ("model.embed_tokens", "transformer.wte"), ("model.norm", "transformer.ln_f")]
VISION = dict(text_config=dict(model_type="text"))
MROPE = dict(rope_scaling=dict(type="mrope", mrope_section=[4, 2, 2]))

# name: (class of transformers, what its configuration has beside SIZES, what the converter's has, change of tensors)
BORROWED = {
    "qwen": ("Qwen2", dict(num_key_value_heads=4), dict(
        architectures=["QWenLMHeadModel"], intermediate_size=192, num_key_value_heads=4,
        layer_norm_epsilon=1e-6),
        fused(QKV, "attn.c_attn", GPT + [
            ("self_attn.o_proj", "attn.c_proj"), ("input_layernorm", "ln_1"), ("post_attention_layernorm", "ln_2"),
            ("mlp.up_proj", "mlp.w1"), ("mlp.gate_proj", "mlp.w2"), ("mlp.down_proj", "mlp.c_proj")])),
    "baichuan": ("Llama", dict(num_key_value_heads=4), dict(architectures=["BaichuanForCausalLM"], num_key_value_heads=4),
                 fused(QKV, "self_attn.W_pack", [])),
    "xverse": ("Llama", dict(num_key_value_heads=4), dict(architectures=["XverseForCausalLM"], num_key_value_heads=4), renamed([])),
    "internlm2": ("Llama", {}, dict(architectures=["InternLM2ForCausalLM"]), fused(QKV, "attention.wqkv", [
        ("model.embed_tokens", "model.tok_embeddings"), ("lm_head", "output"), ("self_attn.o_proj", "attention.wo"),
        ("input_layernorm", "attention_norm"), ("post_attention_layernorm", "ffn_norm"),
        ("mlp.gate_proj", "feed_forward.w1"), ("mlp.up_proj", "feed_forward.w3"), ("mlp.down_proj", "feed_forward.w2")],
        by_groups)),
    "exaone": ("Llama", {}, dict(architectures=["ExaoneForCausalLM"], activation_function="silu", num_layers=3,
                                 layer_norm_epsilon=1e-6), renamed(GPT + [
        ("self_attn.o_proj", "attn.attention.out_proj"), ("self_attn", "attn.attention"), ("input_layernorm", "ln_1"),
        ("post_attention_layernorm", "ln_2"), ("mlp.gate_proj", "mlp.c_fc_0"), ("mlp.up_proj", "mlp.c_fc_1"),
        ("mlp.down_proj", "mlp.c_proj")])),
    "orion": ("Llama", dict(layer_norms=True), dict(architectures=["OrionForCausalLM"]), renamed([])),
    "minicpm": ("Granite", dict(embedding_multiplier=12.0, residual_multiplier=1.4 / 3**0.5, attention_multiplier=0.25,
                                logits_scaling=4.0),
                dict(architectures=["MiniCPMForCausalLM"], scale_emb=12, scale_depth=1.4, dim_model_base=16), renamed([])),
    "pangu_embedded": ("Llama", dict(attention_bias=True), dict(architectures=["PanguEmbeddedForCausalLM"]), renamed([])),
    "qwen2vl": ("Qwen2", {}, dict(architectures=["Qwen2VLForConditionalGeneration"]) | MROPE, renamed([])),
    "qwen3vl": ("Qwen3", dict(head_dim=32), dict(
        architectures=["Qwen3VLForConditionalGeneration"], head_dim=32, vision_config=dict(deepstack_visual_indexes=[])) | MROPE,
        renamed([("model.", "model.language_model.")])),
    "qwen3vlmoe": ("Qwen3Moe", dict(head_dim=32, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=48,
                                    norm_topk_prob=True), dict(
        architectures=["Qwen3VLMoeForConditionalGeneration"], num_experts=6, num_experts_per_tok=3,
        moe_intermediate_size=48, head_dim=32, vision_config=dict(deepstack_visual_indexes=[])) | MROPE,
        renamed([("model.", "model.language_model.")])),
    "paddleocr": ("Llama", dict(head_dim=32), dict(architectures=["PaddleOCRVLForConditionalGeneration"], head_dim=32) | MROPE,
                  renamed([])),
    "maincoder": ("HunYuanDenseV1", dict(head_dim=32), dict(architectures=["MaincoderForCausalLM"], head_dim=32), interleaved([
        ("query_layernorm", "q_norm"), ("key_layernorm", "k_norm")])),
    "hunyuan_vl": ("HunYuanDenseV1", dict(head_dim=32, rope_parameters=dict(
        rope_theta=10000.0 * 4.0 ** (32 / 30), rope_type="default")), dict(  # what alpha makes of the base
            architectures=["HunYuanVLForConditionalGeneration"], head_dim=32, rope_scaling=dict(
                type="xdrope", alpha=4.0, xdrope_section=[4, 4, 4, 4])), renamed([])),
    "cogvlm": ("Llama", dict(num_key_value_heads=4), dict(architectures=["CogVLMForCausalLM"], num_key_value_heads=4), fused(
        QKV, "self_attn.language_expert_query_key_value", [
            ("self_attn.o_proj", "self_attn.language_expert_dense"), ("mlp.", "mlp.language_mlp.")])),
}


def with_layer_norms(model):
    """Norms that subtract the mean and have a bias."""
    for parent in model.modules():
        for name, child in list(parent.named_children()):
            if child.__class__.__name__ == "LlamaRMSNorm":
                setattr(parent, name, torch.nn.LayerNorm(child.weight.shape[0], child.variance_epsilon))
