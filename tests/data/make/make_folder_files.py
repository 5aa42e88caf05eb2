#!/usr/bin/env python3
"""Makes tests/data/folders/NAME: a tiny random model as transformers saves it, and expected.json, what llama.cpp's
converter makes of it.

    python make_folder_files.py --llama-cpp SOURCE [NAME ...]

expected.json has the metadata (of arrays a hash of their bytes) and of each tensor type, shape and hash. Needs torch,
transformers, tokenizers, gguf, safetensors, and the source of llama.cpp. Families that transformers does not have are
made of tables of names and shapes."""
import argparse, json, pathlib, shutil, struct, sys, tempfile
import numpy, torch, transformers
from safetensors.torch import save_file
from make_family_files import FAMILIES, ALSO_IN_CONFIG, randomise, rope

HERE = pathlib.Path(__file__).resolve().parent.parent / "folders"
VOCABULARY, WIDTH, FFN, HEADS, KV_HEADS, DIM = 288, 32, 48, 4, 2, 8
COMMON = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=FFN, num_hidden_layers=2,
              num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, max_position_embeddings=512, bos_token_id=286,
              eos_token_id=285, pad_token_id=286, tie_word_embeddings=True)
# What FAMILIES has of other sizes.
SMALLER = {("head_dim", 32): 16, ("hidden_size", 64): 32, ("intermediate_size", 256): 128,
           ("n_embd", 64): 32, ("n_inner", 256): 128, ("d_model", 64): 32, ("query_pre_attn_scalar", 32): 16,
           ("n_layer", 3): 2, ("n_layers", 3): 2}
LLAMA3 = rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
MORE = {
    "llama": ("Llama", {}),
    "llama_llama3rope": ("Llama", dict(head_dim=32, rope_parameters=LLAMA3)),
    "llama_untied_bias": ("Llama", dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=False)),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", dict(head_dim=16)),
    "gemma3": ("Gemma3", dict(head_dim=16, sliding_window=8, num_hidden_layers=7, query_pre_attn_scalar=16)),
    "phi3_short": ("Phi3", dict(sliding_window=None, tie_word_embeddings=False)),
}

def layer_names(names): return {f"model.layers.{i}.{name}": shape for i in range(2) for name, shape in names.items()}
KV = KV_HEADS * DIM
LLAMA_LAYER = {"input_layernorm.weight": [WIDTH], "self_attn.q_proj.weight": [WIDTH, WIDTH],
               "self_attn.k_proj.weight": [KV, WIDTH], "self_attn.v_proj.weight": [KV, WIDTH],
               "self_attn.o_proj.weight": [WIDTH, WIDTH], "post_attention_layernorm.weight": [WIDTH],
               "mlp.gate_proj.weight": [FFN, WIDTH], "mlp.up_proj.weight": [FFN, WIDTH],
               "mlp.down_proj.weight": [WIDTH, FFN]}
ENDS = {"model.embed_tokens.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH],
        "lm_head.weight": [VOCABULARY, WIDTH]}
SIZES = COMMON | dict(hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False)
# Of transformers' classes; their vocabulary is of WordPiece.
ENCODERS = {"bert": ("Bert", dict(intermediate_size=FFN, type_vocab_size=2, pad_token_id=0))}
MOE = dict(moe_intermediate_size=24, tie_word_embeddings=False)
LATENT = dict(kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=12, num_key_value_heads=4,
              n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, first_k_dense_replace=1, num_hidden_layers=2) | MOE
MAMBA = dict(mamba_n_heads=4, mamba_d_head=16, mamba_d_state=16, mamba_expand=2)
GRANITE = dict(embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.1, logits_scaling=2.0)
DELTA = dict(num_hidden_layers=4, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
             linear_value_head_dim=8, linear_conv_kernel_dim=4, full_attention_interval=4, rope_parameters=rope(
    partial_rotary_factor=0.5, mrope_section=[2, 1, 1], mrope_interleaved=True))
# Mixtures of experts, and layers with running states: what FAMILIES has of them in other sizes, and more.
LATER = {
    "mixtral": ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=2, tie_word_embeddings=False)),
    "qwen2moe": ("Qwen2Moe", dict(num_experts=4, num_experts_per_tok=2, shared_expert_intermediate_size=20) | MOE),
    "qwen3moe": ("Qwen3Moe", dict(num_experts=4, num_experts_per_tok=2, head_dim=16, norm_topk_prob=True) | MOE),
    "olmoe": ("Olmoe", dict(num_experts=4, num_experts_per_tok=2, intermediate_size=24, tie_word_embeddings=False)),
    "gptoss": ("GptOss", dict(num_local_experts=4, num_experts_per_tok=2, head_dim=16, sliding_window=8, tie_word_embeddings=False)),
    "granitemoe": ("GraniteMoe", GRANITE | dict(num_local_experts=4, num_experts_per_tok=2, intermediate_size=24)),
    "granitemoe_shared": ("GraniteMoeShared", GRANITE | dict(num_local_experts=4, num_experts_per_tok=2,
                                                             intermediate_size=24, shared_intermediate_size=20)),
    "deepseek_v2": ("DeepseekV2", LATENT | dict(q_lora_rank=None, n_group=1, topk_group=1, topk_method="greedy",
                                                routed_scaling_factor=1.0, norm_topk_prob=False)),
    "deepseek_v3": ("DeepseekV3", LATENT | dict(q_lora_rank=16, n_group=2, topk_group=1, routed_scaling_factor=2.5,
                                                norm_topk_prob=True, rope_parameters=rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=32, mscale=1.0, mscale_all_dim=1.0,
        beta_fast=32.0, beta_slow=1.0))),
    "glm4moe": ("Glm4Moe", dict(head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1,
                                first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=1, topk_group=1,
                                norm_topk_prob=True, use_qk_norm=True, attention_bias=True, partial_rotary_factor=0.5) | MOE),
    "dots1": ("Dots1", dict(head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=2,
                            first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=1, topk_group=1,
                            norm_topk_prob=True) | MOE),
    "minimax_m2": ("MiniMaxM2", dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2, intermediate_size=24,
                                     rotary_dim=8, tie_word_embeddings=False)),
    "ernie4_5_moe": ("Ernie4_5_Moe", dict(head_dim=16, moe_num_experts=4, moe_k=2, moe_intermediate_size=24,
                                          moe_num_shared_experts=1, moe_layer_start_index=1, moe_layer_end_index=1,
                                          moe_layer_interval=1, use_bias=True)),
    "hunyuan_moe": ("HunYuanMoEV1", dict(head_dim=16, num_experts=4, moe_topk=[2] * 2, intermediate_size=24,
                                         moe_intermediate_size=[24] * 2, num_shared_expert=[1] * 2)),
    "mamba": ("Mamba", dict(intermediate_size=64, state_size=8, conv_kernel=4, time_step_rank=4)),
    "falcon_mamba": ("FalconMamba", dict(intermediate_size=64, state_size=8, conv_kernel=4, time_step_rank=4,
                                         tie_word_embeddings=False)),
    "mamba2": ("Mamba2", dict(intermediate_size=64, num_heads=4, head_dim=16, state_size=8, n_groups=2, conv_kernel=4, expand=2,
                              tie_word_embeddings=False)),
    "lfm2": ("Lfm2", dict(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], conv_L_cache=3,
                          block_auto_adjust_ff_dim=True, block_ff_dim=48, block_multiple_of=16, block_ffn_dim_multiplier=1.0)),
    "lfm2moe": ("Lfm2Moe", dict(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], num_experts=4,
                                num_experts_per_tok=2, num_dense_layers=1, norm_topk_prob=True, use_expert_bias=True,
                                conv_L_cache=3, moe_intermediate_size=24)),
    "granitehybrid": ("GraniteMoeHybrid", GRANITE | MAMBA | dict(
        num_hidden_layers=3, layer_types=["mamba", "attention", "mamba"], num_local_experts=0, num_experts_per_tok=0, intermediate_size=24,
        shared_intermediate_size=24, mamba_n_groups=1, position_embedding_type="nope")),
    "granitehybrid_moe": ("GraniteMoeHybrid", GRANITE | MAMBA | dict(
        num_hidden_layers=3, layer_types=["mamba", "attention", "mamba"], num_local_experts=4, num_experts_per_tok=2,
        intermediate_size=24, shared_intermediate_size=20, mamba_n_groups=1, position_embedding_type="nope")),
    "granitehybrid_dense": ("GraniteMoeHybrid", GRANITE | MAMBA | dict(  # no Mamba layer: the plain architecture
        num_hidden_layers=2, layer_types=["attention", "attention"], num_local_experts=0, num_experts_per_tok=0, intermediate_size=24,
        shared_intermediate_size=24, mamba_n_groups=1, position_embedding_type="rope")),
    "bamba": ("Bamba", MAMBA | dict(num_hidden_layers=3, attn_layer_indices=[1], mamba_n_groups=2, tie_word_embeddings=False,
                                    rope_parameters=rope(partial_rotary_factor=1.0))),
    "falcon_h1": ("FalconH1", MAMBA | dict(
        head_dim=8, mamba_d_ssm=64, mamba_n_groups=2, mamba_rms_norm=True, mamba_norm_before_gate=False,
        tie_word_embeddings=False, lm_head_multiplier=0.3, embedding_multiplier=2.7, mlp_multipliers=[0.7, 2.3],
        ssm_multipliers=[0.6, 2.1, 0.5, 1.3, 1.7], ssm_in_multiplier=0.55, ssm_out_multiplier=2.2,
        attention_in_multiplier=0.9, attention_out_multiplier=1.1, key_multiplier=1.9)),
    "qwen3next": ("Qwen3Next", dict(num_hidden_layers=4, head_dim=16, num_experts=4, num_experts_per_tok=2,
                                    shared_expert_intermediate_size=20, norm_topk_prob=True, linear_num_key_heads=2,
                                    linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8,
                                    linear_conv_kernel_dim=4, full_attention_interval=4,
                                    rope_parameters=rope(partial_rotary_factor=0.25)) | MOE),
    "qwen35": ("Qwen3_5Text", DELTA | dict(head_dim=16, tie_word_embeddings=False)),
    "qwen35moe": ("Qwen3_5MoeText", DELTA | dict(head_dim=16, num_experts=4, num_experts_per_tok=2,
                                                 shared_expert_intermediate_size=20) | MOE),
}
# Decays are exponentials, whose last bit in f32 differs between libraries: these are stored as f16, which hides it.
HALVES = ("mamba", "falcon_mamba", "mamba2", "granitehybrid", "granitehybrid_moe", "granitehybrid_dense", "bamba",
          "falcon_h1", "qwen3next", "qwen35", "qwen35moe")
# What published configurations have and this version of transformers no longer writes.
ALSO_WRITTEN = {"granitehybrid": dict(layer_types=["mamba", "attention", "mamba"]),
                "granitehybrid_moe": dict(layer_types=["mamba", "attention", "mamba"]),
                "granitehybrid_dense": dict(layer_types=["attention", "attention"]),
                "deepseek_v3": dict(scoring_func="sigmoid"), "deepseek_v2": dict(scoring_func="softmax")}
# name: (configuration, names and shapes)
BY_HAND = {
    "internlm2": (SIZES | dict(architectures=["InternLM2ForCausalLM"], rope_theta=50000.0),
                  {"model.tok_embeddings.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH],
                   "output.weight": [VOCABULARY, WIDTH]} | layer_names({
                      "attention_norm.weight": [WIDTH], "attention.wqkv.weight": [WIDTH + 2 * KV, WIDTH],
                      "attention.wo.weight": [WIDTH, WIDTH], "ffn_norm.weight": [WIDTH],
                      "feed_forward.w1.weight": [FFN, WIDTH], "feed_forward.w3.weight": [FFN, WIDTH],
                      "feed_forward.w2.weight": [WIDTH, FFN]})),
    "orion": (SIZES | dict(architectures=["OrionForCausalLM"]),
              ENDS | {"model.norm.bias": [WIDTH]} | layer_names(LLAMA_LAYER | {
                  "input_layernorm.bias": [WIDTH], "post_attention_layernorm.bias": [WIDTH]})),
    "xverse": (SIZES | dict(architectures=["XverseForCausalLM"], num_key_value_heads=HEADS),
               ENDS | layer_names(LLAMA_LAYER | {"self_attn.k_proj.weight": [WIDTH, WIDTH],
                                                 "self_attn.v_proj.weight": [WIDTH, WIDTH]})),
    "minicpm": (SIZES | dict(architectures=["MiniCPMForCausalLM"], scale_emb=12, scale_depth=1.4, dim_model_base=16),
                ENDS | layer_names(LLAMA_LAYER)),
    "exaone": (SIZES | dict(architectures=["ExaoneForCausalLM"], activation_function="silu", num_layers=2,
                            layer_norm_epsilon=1e-5, head_dim=DIM),
               {"transformer.wte.weight": [VOCABULARY, WIDTH], "transformer.ln_f.weight": [WIDTH],
                "lm_head.weight": [VOCABULARY, WIDTH]} | {
                   name.replace("model.layers", "transformer.h"): shape for name, shape in layer_names({
                      "ln_1.weight": [WIDTH], "attn.attention.q_proj.weight": [WIDTH, WIDTH],
                      "attn.attention.k_proj.weight": [KV, WIDTH], "attn.attention.v_proj.weight": [KV, WIDTH],
                      "attn.attention.out_proj.weight": [WIDTH, WIDTH], "ln_2.weight": [WIDTH],
                      "mlp.c_fc_0.weight": [FFN, WIDTH], "mlp.c_fc_1.weight": [FFN, WIDTH],
                      "mlp.c_proj.weight": [WIDTH, FFN]}).items()}),
    # As published before classes of transformers: what the converter splits.
    "ernie4_5_fused": (SIZES | dict(architectures=["Ernie4_5_ForCausalLM"], head_dim=DIM),
                       {name.replace("model.", "ernie."): shape for name, shape in (ENDS | layer_names({
                           "input_layernorm.weight": [WIDTH], "self_attn.qkv_proj.weight": [WIDTH + 2 * KV, WIDTH],
                           "self_attn.o_proj.weight": [WIDTH, WIDTH], "post_attention_layernorm.weight": [WIDTH],
                           "mlp.up_gate_proj.weight": [2 * FFN, WIDTH], "mlp.down_proj.weight": [WIDTH, FFN]})).items()}),
}

# As published: experts in blocks of MXFP4.
MXFP4 = dict(architectures=["GptOssForCausalLM"], num_local_experts=3, num_experts_per_tok=2, head_dim=DIM, sliding_window=8,
             intermediate_size=64, hidden_act="silu", layer_types=["sliding_attention", "full_attention"],
             swiglu_limit=7.0, attention_bias=True, quantization_config=dict(quant_method="mxfp4"))
LATER_BY_HAND = {"gptoss_mxfp4": (SIZES | MXFP4, ENDS | layer_names({
    name: shape for name, shape in LLAMA_LAYER.items() if "mlp" not in name} | {
    f"self_attn.{name}_proj.bias": [rows] for name, rows in (("q", WIDTH), ("k", KV), ("v", KV), ("o", WIDTH))} | {
    "self_attn.sinks": [HEADS], "mlp.router.weight": [3, WIDTH], "mlp.router.bias": [3],
    "mlp.experts.gate_up_proj_bias": [3, 128], "mlp.experts.gate_up_proj_blocks": [3, 128, WIDTH // 32, 16],
    "mlp.experts.gate_up_proj_scales": [3, 128, WIDTH // 32], "mlp.experts.down_proj_bias": [3, WIDTH],
    "mlp.experts.down_proj_blocks": [3, WIDTH, 2, 16], "mlp.experts.down_proj_scales": [3, WIDTH, 2]}))}


def random_tensor(name, shape, generator, dtype):
    if name.endswith("_blocks"): return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    if name.endswith("_scales"): return torch.randint(115, 125, shape, generator=generator, dtype=torch.uint8)
    return (0.5 * torch.randn(shape, generator=generator)).to(dtype)


def write_tokenizer(folder):
    """256 bytes, 28 merges, and tokens that are added."""
    from tokenizers import Tokenizer, AddedToken, Regex, models, normalizers, pre_tokenizers, decoders
    stand_ins = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("t", "h"), ("th", "e"), ("i", "n"), ("Ġ", "a"), ("Ġ", "the"), ("e", "r"), ("o", "n"), ("r", "e"),
             ("a", "t"), ("e", "n"), ("o", "r"), ("e", "s"), ("i", "s"), ("a", "n"), ("o", "u"), ("in", "g"),
             ("e", "d"), ("Ġ", "s"), ("l", "l"), ("a", "r"), ("Ġ", "w"), ("Ġ", "f"), ("o", "x"), ("Ġf", "ox"),
             ("l", "e"), ("Ġ", "b"), ("Ġ", "c")]
    vocabulary = {text: i for i, text in enumerate(stand_ins + [left + right for left, right in pairs])}
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs))
    tokenizer.normalizer = normalizers.NFC()
    words = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
             r"|\s+(?!\S)|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "isolated"),
                                                       pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|im_start|>", normalized=False)])
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False)])
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in ("<|im_end|>", "<|endoftext|>")])
    tokenizer.add_tokens([AddedToken("</tool_call>", normalized=False)])
    assert tokenizer.get_vocab_size() == VOCABULARY and tokenizer.token_to_id("<|im_end|>") == 285
    tokenizer.save(str(folder / "tokenizer.json"))
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" \
               "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        tokenizer_class="PreTrainedTokenizerFast", eos_token="<|im_end|>", bos_token=None, pad_token="<|endoftext|>",
        add_bos_token=False, chat_template=template), indent=1) + "\n")
    (folder / "generation_config.json").write_text('{"eos_token_id": [285, 286], "do_sample": true}\n')


def write_wordpiece(folder):
    """BERT's tokenizer over letters and a few words, and the modules that sentence-transformers saves beside it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    letters = [chr(ord("a") + i) for i in range(26)]
    texts = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + letter for letter in letters] + \
            ["the", "fox", "##es", "##ing", ".", ",", "\u2581"]
    texts += [f"[unused{i}]" for i in range(VOCABULARY - len(texts) - 2)]
    tokenizer = Tokenizer(models.WordPiece({text: i for i, text in enumerate(texts)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=None)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(texts[:5])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        tokenizer_class="BertTokenizer", unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]",
        mask_token="[MASK]"), indent=1) + "\n")
    (folder / "modules.json").write_text(json.dumps([
        dict(idx=0, name="0", path="", type="sentence_transformers.models.Transformer"),
        dict(idx=1, name="1", path="1_Pooling", type="sentence_transformers.models.Pooling")], indent=1) + "\n")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(dict(
        pooling_mode_cls_token=True, pooling_mode_mean_tokens=False), indent=1) + "\n")


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data: value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return f"{value:016x}"


def expected_of(path):
    import gguf
    reader = gguf.GGUFReader(path)
    metadata = {}
    for name, field in reader.fields.items():
        # The converter guesses who made the model from the folder's name; what it is called is no fact.
        if name.startswith("GGUF.") or (name.startswith("general.") and
                                        name not in ("general.architecture", "general.type")): continue
        kind = field.types[0].name.lower()
        if kind != "array": value = field.contents()
        elif field.types[1].name == "STRING":
            value = fnv(b"".join(struct.pack("<Q", len(text.encode())) + text.encode() for text in field.contents()))
        else: value = fnv(b"".join(bytes(field.parts[i]) for i in field.data))
        metadata[name] = [kind, value]
    tensors = {t.name: [t.tensor_type.name, [int(n) for n in t.shape], fnv(t.data.tobytes())] for t in reader.tensors}
    return dict(metadata=metadata, tensors=tensors)


def convert(name, folder, out, outtype):
    import conversion, gguf
    from conversion.base import ModelBase, TextModel, ModelType, get_model_architecture
    with torch.inference_mode():
        also = {} if name in LATER else ALSO_IN_CONFIG.get(name, {})
        hparams = ModelBase.load_hparams(folder, False) | also
        kind = conversion.get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        if name == "ministral3": kind = kind.Ministral3Model
        class Kind(kind): model_arch = kind.model_arch
        if name in ("glm4moe", "qwen3next", "qwen35", "qwen35moe"): Kind.no_mtp = True  # blocks that guess are left out
        if name in ENCODERS: Kind.get_vocab_base_pre = lambda self, tokenizer: "jina-v2-en"
        else:
            Kind.set_vocab = lambda self: TextModel._set_vocab_gpt2(self)
            Kind.get_vocab_base_pre = lambda self, tokenizer: "qwen2"
        model = Kind(folder, getattr(gguf.LlamaFileType, outtype), out, model_name="tiny model")
        model.hparams.update(also)
        model.write()


def make(name, number):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if name in HALVES: number = 0
    dtype, outtype = [(torch.float16, "MOSTLY_F16"), (torch.bfloat16, "MOSTLY_BF16"), (torch.float32, "ALL_F32")][number % 3]
    if name in BY_HAND | LATER_BY_HAND:
        config, shapes = (BY_HAND | LATER_BY_HAND)[name]
        generator = torch.Generator().manual_seed(number)
        save_file({key: random_tensor(key, shape, generator, dtype) for key, shape in shapes.items()},
                  folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    else:
        kind, own = (FAMILIES | MORE | ENCODERS | LATER)[name]
        own = {key: SMALLER.get((key, value), value) if not isinstance(value, (dict, list)) else value
               for key, value in own.items()}
        for factors in ("short_factor", "long_factor"):
            if factors in own.get("rope_parameters", {}):
                own["rope_parameters"] = own["rope_parameters"] | {factors: own["rope_parameters"][factors][:4]}
        class_name = {"Gemma3": "Gemma3Text"}.get(kind, kind)
        kind = kind.removesuffix("Text")
        common = COMMON if name not in ENCODERS else {key: COMMON[key] for key in (
            "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")}
        config = getattr(transformers, class_name + "Config")(**(common | own))
        head = "LMHeadModel" if kind == "GPT2" else "Model" if name in ENCODERS else "ForCausalLM"
        model = getattr(transformers, kind + head)(config).eval()
        if name in ("gemma", "gemma2", "gemma3", "nemotron"): model.zero_gains = True
        randomise(model, sum(name.encode()))
        model.to(dtype).save_pretrained(folder)
        if name in ALSO_WRITTEN:
            path = folder / "config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | ALSO_WRITTEN[name], indent=1) + "\n")
    write_wordpiece(folder) if name in ENCODERS else write_tokenizer(folder)
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.gguf"
        convert(name, folder, out, outtype)
        (folder / "expected.json").write_text(json.dumps(expected_of(out), indent=None, separators=(",", ":")) + "\n")
    print(name, outtype, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama-cpp", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    sys.path[:0] = [str(args.llama_cpp), str(args.llama_cpp / "gguf-py")]  # the converter's own gguf
    names = [name for name in FAMILIES | MORE | BY_HAND | ENCODERS if name not in LATER] + list(LATER | LATER_BY_HAND)
    failed = []
    for name in args.names or names:
        try: make(name, names.index(name))
        except Exception as error:
            failed.append(name)
            shutil.rmtree(HERE / name, ignore_errors=True)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
