#!/usr/bin/env python3
"""Makes tests/data/tokenizers/sentencepiece: a small SentencePiece BPE vocabulary with byte fallback as transformers
saves it, tokenizer.model beside tokenizer.json, and ids.json: texts with the ids that both published programs give.

    python make_sentencepiece.py

Needs sentencepiece and tokenizers."""
import json, pathlib
import sentencepiece
from tokenizers import Tokenizer, AddedToken, models, normalizers, decoders, processors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
OUT = ROOT / "tests/data/tokenizers/sentencepiece"
TEXTS = ["", " ", "a", "the tokens of a model", "  two  spaces and\ttabs\n\nlines", "Zürich, 東京 — 🦊!", "1234567 3.14",
         "<s> is a token, </s> too", "don't: it's here", "aaaaaaaaaaaaaaaaaaaaaaaaa", "\u0000\u0001\u007f",
         "kernels kernels kernels", "▁ marks a space", "e\u0301 é", "The machine's code is written at run time."]

OUT.mkdir(exist_ok=True)
corpus = "\n".join((ROOT / "docs" / name).read_text() for name in ("ARCHITECTURE.md", "SIMULATOR.md"))
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(line[:500] for line in corpus.splitlines() if line.strip()), model_prefix=str(OUT / "tokenizer"),
    vocab_size=600, model_type="bpe", byte_fallback=True, character_coverage=0.995, normalization_rule_name="identity",
    remove_extra_whitespaces=False, num_threads=1, minloglevel=2)
(OUT / "tokenizer.vocab").unlink()
published = sentencepiece.SentencePieceProcessor(model_file=str(OUT / "tokenizer.model"))
vocabulary = {published.id_to_piece(i): i for i in range(published.vocab_size())}
# As transformers makes them: each way to cut a piece into two, better pieces first.
merges = []
for piece in sorted((p for p, i in vocabulary.items() if not (published.is_control(i) or published.is_byte(i))),
                    key=lambda p: -published.get_score(vocabulary[p])):
    cuts = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in vocabulary and piece[i:] in vocabulary]
    merges += sorted(cuts, key=lambda cut: (vocabulary[cut[0]], vocabulary[cut[1]]))
tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True,
                                 byte_fallback=True))
tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                       decoders.Strip(" ", 1, 0)])
tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in ("<unk>", "<s>", "</s>")])
tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B",
                                                         special_tokens=[("<s>", 1)])
tokenizer.save(str(OUT / "tokenizer.json"))
(OUT / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class="LlamaTokenizer", bos_token="<s>",
                                                           eos_token="</s>", unk_token="<unk>"), indent=1) + "\n")
cases = []
for text in TEXTS:
    ids = tokenizer.encode(text).ids[1:]
    if "<s>" not in text and text:  # it takes these for text
        assert ids == published.encode(text), (text, ids, published.encode(text))
    cases.append([text, ids])
(OUT / "ids.json").write_text(json.dumps(cases, ensure_ascii=True) + "\n")
