#!/usr/bin/env python3
"""Makes tests/data/encoders/NAME.gguf and tests/data/goldens/encoder-NAME.safetensors.

    python make_encoder_files.py --llama-cpp SOURCE [NAME ...]
    python make_encoder_files.py --minilm FOLDER     goldens/all-minilm-l6-v2.json, of all-MiniLM-L6-v2's folder

A tiny random encoder of a Hugging Face family in f16; its rows of several texts, and of rerankers the scores, in float64
from transformers (eager attention), or for families that transformers does not have from the few lines of torch below.
Needs torch, transformers, gguf, safetensors, and the source of llama.cpp, whose converter writes the file."""
import argparse, json, math, pathlib, sys, tempfile
import numpy, torch, transformers
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch
from make_family_files import randomise, rope

HERE = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY, WIDTH, LAYERS, HEADS, FFN, POSITIONS = 256, 64, 3, 4, 96, 384
LENGTHS = [1, 2, 9, 40, 257, 100]
COMMON = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
              intermediate_size=FFN, max_position_embeddings=POSITIONS, type_vocab_size=2, pad_token_id=0)
NOMIC = dict(n_positions=8192, activation_function="swiglu", causal=False, qkv_proj_bias=False, mlp_fc1_bias=False,
             mlp_fc2_bias=False, prenorm=False, rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
             rotary_emb_scale_base=None, n_embd=WIDTH, n_inner=FFN, n_head=HEADS, n_layer=LAYERS)

# name: (class of transformers or of this file, configuration beside COMMON, what the converter looks for besides)
ENCODERS = {
    "bert": ("BertModel", dict(), {}),
    "bert_mean": ("BertModel", dict(hidden_act="gelu", num_hidden_layers=2), dict(pooling="mean")),
    "xlm_roberta_rank": ("XLMRobertaForSequenceClassification",
                         dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, max_position_embeddings=POSITIONS + 2,
                              num_labels=1, type_vocab_size=1), dict(vocabulary="ugm", pooling="rank")),
    "nomic_bert": ("NomicBertModel", dict(rope_parameters=rope(rope_theta=1000.0)),
                   NOMIC | dict(pooling="mean", rotary_emb_base=1000.0)),
    "jina_bert_v2": ("JinaBert", dict(hidden_act="geglu", layer_norm_eps=1e-12),
                     dict(pooling="mean", architectures=["JinaBertModel"])),
    "nomic_bert_moe": ("NomicMoe", dict(layer_norm_eps=1e-5),
                       NOMIC | dict(pooling="mean", architectures=["NomicBertModel"], activation_function="gelu",
                                    qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, moe_every_n_layers=2,
                                    num_experts=4, moe_top_k=2, rotary_emb_base=10000.0, layer_norm_epsilon=1e-5)),
    "jina_bert_v3": ("JinaEmbeddingsV3Model", dict(rope_parameters=rope(rope_theta=20000.0), type_vocab_size=1),
                     dict(pooling="mean", architectures=["XLMRobertaModel"], rotary_emb_base=20000.0, position_embedding_type="rotary",
                          lora_adaptations=["retrieval.query"])),
    "eurobert": ("EuroBertModel", dict(vocab_size=320, num_key_value_heads=2, head_dim=16),
                 dict(vocabulary="bpe", pooling="mean")),
    "llama_embed": ("LlamaModel", dict(vocab_size=320, num_key_value_heads=2),
                    dict(vocabulary="bpe", pooling="mean", architectures=["LlamaBidirectionalModel"])),
    "gemma_embedding": ("Gemma3TextModel", dict(vocab_size=320, num_key_value_heads=1, head_dim=32, num_hidden_layers=6,
                                                query_pre_attn_scalar=32, sliding_window=16, use_bidirectional_attention=True),
                        dict(vocabulary="bpe", pooling="mean", sliding_window=16, dense=(96, 64))),
    "modern_bert": ("ModernBertModel", dict(vocab_size=320, num_hidden_layers=4, local_attention=16, global_attn_every_n_layers=3,
                                            norm_bias=False, mlp_bias=False, attention_bias=False),
                    dict(vocabulary="bpe", pooling="cls", layer_norm_eps=1e-5)),
}
POOLING = dict(mean=1, cls=2, rank=4)


class Written(torch.nn.Module):
    """Encoders as their papers and published code have them, by their published names."""
    def __init__(self, config, seed):
        super().__init__()
        self.config, self.weights = config, {}
        generator = torch.Generator().manual_seed(seed)
        def add(name, *shape):
            noise = torch.randn(shape, generator=generator)
            if name.endswith("bias"): value = 0.3 * noise
            elif len(shape) == 1: value = 1 + 0.2 * noise
            elif "embeddings" in name: value = 0.6 * noise
            else: value = noise * 1.2 / math.sqrt(shape[-1])
            self.weights[name] = value.half().float()
        self.declare(add)
        self.as_double = {name: value.double() for name, value in self.weights.items()}

    def linear(self, name, x):
        out = x @ self.as_double[name + ".weight"].T
        return out + self.as_double[name + ".bias"] if name + ".bias" in self.as_double else out

    def norm(self, name, x):
        return torch.nn.functional.layer_norm(x, (WIDTH,), self.as_double[name + ".weight"],
                                              self.as_double[name + ".bias"], self.config["layer_norm_eps"])

    def attend(self, q, k, v, bias=0):
        q, k, v = (x.view(-1, HEADS, WIDTH // HEADS).transpose(0, 1) for x in (q, k, v))
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH // HEADS) + bias
        return (scores.softmax(-1) @ v).transpose(0, 1).reshape(-1, WIDTH)

    def forward(self, ids): return self.rows(ids[0])


class JinaBert(Written):  # Günther et al. 2023, arXiv 2310.19923: linear biases in both directions, GELU gates
    def declare(self, add):
        add("embeddings.word_embeddings.weight", VOCABULARY, WIDTH)
        add("embeddings.token_type_embeddings.weight", 2, WIDTH)
        for part in ("weight", "bias"): add("embeddings.LayerNorm." + part, WIDTH)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}."
            for what in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
                add(name + what + ".weight", WIDTH, WIDTH), add(name + what + ".bias", WIDTH)
            add(name + "mlp.gated_layers.weight", 2 * FFN, WIDTH)
            add(name + "mlp.wo.weight", WIDTH, FFN), add(name + "mlp.wo.bias", WIDTH)
            for what in ("attention.output.LayerNorm", "mlp.layernorm"):
                for part in ("weight", "bias"): add(name + what + "." + part, WIDTH)

    def rows(self, ids):
        weights, places = self.as_double, torch.arange(len(ids))
        slopes = torch.tensor([2.0 ** (-8 * (head + 1) / HEADS) for head in range(HEADS)], dtype=torch.float64)
        bias = -slopes[:, None, None] * (places[:, None] - places[None, :]).abs()
        x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("embeddings.LayerNorm", x)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}."
            q, k, v = (self.linear(name + "attention.self." + what, x) for what in ("query", "key", "value"))
            attended = self.linear(name + "attention.output.dense", self.attend(q, k, v, bias))
            x = self.norm(name + "attention.output.LayerNorm", x + attended)
            gate, up = self.linear(name + "mlp.gated_layers", x).split(FFN, -1)
            fed = self.linear(name + "mlp.wo", torch.nn.functional.gelu(gate) * up)
            x = self.norm(name + "mlp.layernorm", x + fed)
        return x


class NomicMoe(Written):  # Nussbaum and Duderstadt 2025, arXiv 2502.07972: experts in every second layer
    EXPERTS, USED = 4, 2

    def declare(self, add):
        add("embeddings.word_embeddings.weight", VOCABULARY, WIDTH)
        add("embeddings.token_type_embeddings.weight", 2, WIDTH)
        for part in ("weight", "bias"): add("emb_ln." + part, WIDTH)
        for layer in range(LAYERS):
            name = f"encoder.layers.{layer}."
            add(name + "attn.Wqkv.weight", 3 * WIDTH, WIDTH), add(name + "attn.Wqkv.bias", 3 * WIDTH)
            add(name + "attn.out_proj.weight", WIDTH, WIDTH), add(name + "attn.out_proj.bias", WIDTH)
            if layer % 2 == 1:
                add(name + "mlp.router.layer.weight", self.EXPERTS, WIDTH)
                for what in ("w1", "w2"): add(name + "mlp.experts.mlp." + what, self.EXPERTS * FFN, WIDTH)
            else:
                add(name + "mlp.fc1.weight", FFN, WIDTH), add(name + "mlp.fc1.bias", FFN)
                add(name + "mlp.fc2.weight", WIDTH, FFN), add(name + "mlp.fc2.bias", WIDTH)
            for what in ("norm1", "norm2"):
                for part in ("weight", "bias"): add(name + what + "." + part, WIDTH)

    def rotate(self, x):
        dim = WIDTH // HEADS
        angles = torch.arange(len(x))[:, None] * 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        cos, sin = (f(angles).repeat(1, 2)[:, None, :] for f in (torch.cos, torch.sin))
        heads = x.view(-1, HEADS, dim)
        turned = torch.cat([-heads[..., dim // 2:], heads[..., :dim // 2]], -1)
        return (heads * cos + turned * sin).reshape(-1, WIDTH)

    def mix(self, name, x):
        shares = self.linear(name + "mlp.router.layer", x).softmax(-1)
        weights, chosen = shares.topk(self.USED, -1)
        first, second = (self.as_double[name + "mlp.experts.mlp." + what].view(self.EXPERTS, FFN, WIDTH)
                         for what in ("w1", "w2"))
        out = torch.zeros_like(x)
        for row in range(len(x)):
            for weight, expert in zip(weights[row], chosen[row]):
                out[row] += weight * (torch.nn.functional.gelu(x[row] @ first[expert].T) @ second[expert])
        return out

    def rows(self, ids):
        weights = self.as_double
        x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("emb_ln", x)
        for layer in range(LAYERS):
            name = f"encoder.layers.{layer}."
            q, k, v = self.linear(name + "attn.Wqkv", x).split(WIDTH, -1)
            x = self.norm(name + "norm1", x + self.linear(name + "attn.out_proj",
                                                          self.attend(self.rotate(q), self.rotate(k), v)))
            fed = self.mix(name, x) if layer % 2 == 1 else self.linear(
                name + "mlp.fc2", torch.nn.functional.gelu(self.linear(name + "mlp.fc1", x)))
            x = self.norm(name + "norm2", x + fed)
        return x


LETTERS = [chr(ord("a") + i) for i in range(26)]
WORDS = ("the of and a to in is you that it he was for on are as with his they at be this have from or one had by word "
         "but not what all were we when your can said there use an each which she do how their if will up other about "
         "out many then them these so some her would make like him into time has look two more write go see number no "
         "way could people my than first water been call who oil its now find long down day did get come made may part "
         "machine learning paris city france field").split()


def wordpiece():
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = LETTERS + [str(i) for i in range(10)] + list(".,!?'-:;()") + [word for word in WORDS if len(word) > 1]
    pieces = ["##" + letter for letter in LETTERS] + ["##" + part for part in ("ing", "ed", "er", "ly", "es", "on")]
    tokens += words + pieces
    return (tokens + [f"[unused{i}]" for i in range(VOCABULARY)])[:VOCABULARY]


def set_vocabulary(kind):
    import gguf
    control, normal, unknown = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL, gguf.TokenType.UNKNOWN
    def wpm(self):
        writer, tokens = self.gguf_writer, wordpiece()
        types = [control if text.startswith("[") and text.endswith("]") else normal for text in tokens]
        texts = [text if of == control else text[2:] if text.startswith("##") else "\u2581" + text
                 for text, of in zip(tokens, types)]
        writer.add_token_type_count(2)
        writer.add_tokenizer_model("bert")
        writer.add_tokenizer_pre("default")
        writer.add_token_list(texts)
        writer.add_token_types(types)
        for add, token in ((writer.add_pad_token_id, 0), (writer.add_unk_token_id, 1), (writer.add_bos_token_id, 2),
                           (writer.add_sep_token_id, 3), (writer.add_mask_token_id, 4)):
            add(token)
    def ugm(self):
        writer = self.gguf_writer
        tokens = ["<s>", "<pad>", "</s>", "<unk>", "\u2581"] + LETTERS + ["\u2581" + word for word in WORDS]
        types = [control] * 3 + [unknown] + [normal] * (len(tokens) - 4)
        scores = [0.0] * 4 + [-4.0] + [-6.0] * 26 + [-5.0 - 0.01 * i for i in range(len(WORDS))]
        rest = VOCABULARY - len(tokens)
        writer.add_tokenizer_model("t5")
        writer.add_tokenizer_pre("default")
        writer.add_token_list(tokens + [f"[PAD{i}]" for i in range(rest)])
        writer.add_token_scores(scores + [-10000.0] * rest)
        writer.add_token_types(types + [gguf.TokenType.UNUSED] * rest)
        writer.add_add_space_prefix(True)
        writer.add_token_type_count(1)
        writer.add_remove_extra_whitespaces(True)
        for add, token in ((writer.add_bos_token_id, 0), (writer.add_pad_token_id, 1), (writer.add_eos_token_id, 2),
                           (writer.add_sep_token_id, 2), (writer.add_unk_token_id, 3)):
            add(token)
        for add in (writer.add_add_bos_token, writer.add_add_eos_token, writer.add_add_sep_token): add(True)
    def bpe(self):
        fields = gguf.GGUFReader(HERE / "families" / "llama.gguf").fields
        tokens = fields["tokenizer.ggml.tokens"].contents()[:316] + ["[CLS]", "[SEP]", "[PAD]", "[MASK]"]
        known = set(tokens)
        merges = [merge for merge in fields["tokenizer.ggml.merges"].contents()
                  if "".join(merge.split(" ")) in known and all(part in known for part in merge.split(" "))]
        writer = self.gguf_writer
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("modern-bert")
        writer.add_token_list(tokens)
        writer.add_token_types([normal] * 316 + [control] * 4)
        writer.add_token_merges(merges)
        for add, token in ((writer.add_bos_token_id, 316),
                           (writer.add_sep_token_id, 317), (writer.add_eos_token_id, 317),
                           (writer.add_pad_token_id, 318), (writer.add_mask_token_id, 319)):
            add(token)
        for add in (writer.add_add_bos_token, writer.add_add_eos_token, writer.add_add_sep_token): add(True)
    return dict(wpm=wpm, ugm=ugm, bpe=bpe)[kind]


def dense_layers(widths):
    """Matrices from rows of the model's width to such of each of the widths in turn."""
    generator = torch.Generator().manual_seed(5)
    return [(torch.randn(to, width, generator=generator) / math.sqrt(width)).half().double()
            for width, to in zip((WIDTH, *widths), widths)]


def convert(name, folder, out):
    """Runs llama.cpp's converter with a vocabulary of this file's."""
    import conversion, gguf
    from conversion.base import ModelBase, ModelType, get_model_architecture
    _, _, also = ENCODERS[name]
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False) | {key: value for key, value in also.items()
                                                           if key not in ("vocabulary", "pooling", "dense")}
        kind = conversion.get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        class Kind(kind): model_arch = kind.model_arch
        Kind.set_vocab = set_vocabulary(also.get("vocabulary", "wpm"))
        Kind._xlmroberta_tokenizer_init = lambda self: kind.__mro__[1]._xlmroberta_tokenizer_init(self)
        Kind._is_tokenizer_xlmroberta = lambda self: False
        def set_pooling(self):
            if "pooling" in also: self.gguf_writer.add_pooling_type(gguf.PoolingType(POOLING[also["pooling"]]))
        Kind._try_set_pooling_type = set_pooling
        # No files of adapters; what vectors are multiplied by.
        Kind.generate_extra_tensors = lambda self: [
            (f"dense_{i + 2}.weight", weight.float()) for i, weight in enumerate(dense_layers(also.get("dense", ())))]
        model = Kind(folder, gguf.LlamaFileType.MOSTLY_F16, out, model_name="tiny encoder", hparams=hparams)
        model.write()


def make(name):
    class_name, own, also = ENCODERS[name]
    seed = sum(name.encode())
    with tempfile.TemporaryDirectory() as folder:
        if class_name in globals():
            model = globals()[class_name](COMMON | own, seed)
            save_torch(model.weights, folder + "/model.safetensors")
            (pathlib.Path(folder) / "config.json").write_text(json.dumps(COMMON | own | also))
        else:
            kind = class_name.removesuffix("Model").removesuffix("ForSequenceClassification")
            config = getattr(transformers, kind + "Config")(**(COMMON | own))
            config._attn_implementation = "eager"
            model = getattr(transformers, class_name)(config).eval()
            if class_name.startswith("Gemma"): model.zero_gains = True
            randomise(model, seed)
            model.save_pretrained(folder)
            if class_name.startswith("Gemma"):  # the converter counts its tokens
                (pathlib.Path(folder) / "tokenizer.json").write_text(json.dumps(
                    dict(model=dict(vocab={str(i): i for i in range(config.vocab_size)}), added_tokens=[])))
            model = model.double()
        (HERE / "encoders").mkdir(exist_ok=True)
        convert(name, pathlib.Path(folder), HERE / "encoders" / (name + ".gguf"))
    texts = [[(7 * i * i + 3 * i + 11 * length) % (VOCABULARY - 16) + 8 for i in range(length)] for length in LENGTHS]
    single, to_single = torch.float32, torch.Tensor.float
    torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double
    rows, scores = [], []
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor([text])
            if isinstance(model, Written): rows.append(model(ids))
            else:
                inner = getattr(model, model.base_model_prefix, model) if "rank" in name else model
                # Given to decoders that serve as encoders: nothing is hidden.
                seen = dict(attention_mask=torch.zeros(1, 1, len(text), len(text), dtype=torch.float64))
                out = inner(ids, **(seen if name == "llama_embed" else {})).last_hidden_state[0]
                for weight in dense_layers(also.get("dense", ())): out = out @ weight.T
                rows.append(out)
                if "rank" in name: scores.append(model(ids).logits[0])
    torch.float32, torch.Tensor.float = single, to_single
    tensors = {"ids": numpy.array(sum(texts, []), numpy.int32), "lengths": numpy.array(LENGTHS, numpy.int32),
               "rows": torch.cat(rows).float().numpy()}
    if scores: tensors["scores"] = torch.stack(scores).float().numpy()
    save_file(tensors, HERE / "goldens" / f"encoder-{name}.safetensors")
    print(f"{name}: deviation of the rows {float(torch.cat(rows).std()):.3f}" +
          (f", scores {[round(float(score[0]), 3) for score in scores]}" if scores else ""))


MINILM_TEXTS = ["The quick brown fox jumps over the lazy dog.", "hi",
                "Paris, capitale de la France, est une grande ville europ\u00e9enne et un centre mondial de l'art.",
                "na\u00efve caf\u00e9 \u2014 \u201cquotes\u201d and \u6771\u4eac mixed 123.45e-6!", "word " * 300]


def make_minilm(folder):
    """Mean-pooled vectors of length 1 in float64, as sentence-transformers has them, and the texts' tokens."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval().double()
    cases = []
    with torch.inference_mode():
        for text in MINILM_TEXTS:
            given = tokenizer(text, return_tensors="pt")
            mean = model(**given).last_hidden_state[0].mean(0)
            cases.append(dict(text=text, ids=given["input_ids"][0].tolist(),
                              vector=[round(float(value), 9) for value in mean / mean.norm()]))
    (HERE / "goldens" / "all-minilm-l6-v2.json").write_text(json.dumps(dict(cases=cases)) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama-cpp", type=pathlib.Path)
    parser.add_argument("--minilm", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.minilm: return make_minilm(args.minilm)
    sys.path[:0] = [str(args.llama_cpp), str(args.llama_cpp / "gguf-py")]  # the converter's own gguf
    failed = []
    for name in args.names or ENCODERS:
        try: make(name)
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            if args.names: raise
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
