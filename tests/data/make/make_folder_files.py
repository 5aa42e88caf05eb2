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
        hparams = ModelBase.load_hparams(folder, False) | ALSO_IN_CONFIG.get(name, {})
        kind = conversion.get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        if name == "ministral3": kind = kind.Ministral3Model
        class Kind(kind): model_arch = kind.model_arch
        if name in ENCODERS: Kind.get_vocab_base_pre = lambda self, tokenizer: "jina-v2-en"
        else:
            Kind.set_vocab = lambda self: TextModel._set_vocab_gpt2(self)
            Kind.get_vocab_base_pre = lambda self, tokenizer: "qwen2"
        model = Kind(folder, getattr(gguf.LlamaFileType, outtype), out, model_name="tiny model")
        model.hparams.update(ALSO_IN_CONFIG.get(name, {}))
        model.write()


def make(name, number):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dtype, outtype = [(torch.float16, "MOSTLY_F16"), (torch.bfloat16, "MOSTLY_BF16"), (torch.float32, "ALL_F32")][number % 3]
    if name in BY_HAND:
        config, shapes = BY_HAND[name]
        generator = torch.Generator().manual_seed(number)
        save_file({key: (0.5 * torch.randn(shape, generator=generator)).to(dtype) for key, shape in shapes.items()},
                  folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    else:
        kind, own = (FAMILIES | MORE | ENCODERS)[name]
        own = {key: SMALLER.get((key, value), value) if not isinstance(value, dict) else value
               for key, value in own.items()}
        for factors in ("short_factor", "long_factor"):
            if factors in own.get("rope_parameters", {}):
                own["rope_parameters"] = own["rope_parameters"] | {factors: own["rope_parameters"][factors][:4]}
        class_name = {"Gemma3": "Gemma3Text"}.get(kind, kind)
        common = COMMON if name not in ENCODERS else {key: COMMON[key] for key in (
            "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")}
        config = getattr(transformers, class_name + "Config")(**(common | own))
        head = "LMHeadModel" if kind == "GPT2" else "Model" if name in ENCODERS else "ForCausalLM"
        model = getattr(transformers, kind + head)(config).eval()
        if name in ("gemma", "gemma2", "gemma3", "nemotron"): model.zero_gains = True
        randomise(model, sum(name.encode()))
        model.to(dtype).save_pretrained(folder)
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
    names = list(FAMILIES | MORE | BY_HAND | ENCODERS)
    failed = []
    for name in args.names or names:
        try: make(name, names.index(name))
        except Exception as error:
            failed.append(name)
            shutil.rmtree(HERE / name, ignore_errors=True)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
