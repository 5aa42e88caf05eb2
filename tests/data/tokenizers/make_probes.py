#!/usr/bin/env python3
"""Writes probes.json and splits.json: what Hugging Face's `tokenizers` makes of the probe strings.

probes.json: ids by the published Qwen3 tokenizer and by the storyteller's, with special tokens parsed and not.
splits.json: words by each family's published expressions, run by Oniguruma, an engine of its own.

    pip install tokenizers==0.23.3 && ./make_probes.py
"""

import itertools
import json
import lzma
import pathlib
import random

from tokenizers import Regex, Tokenizer, pre_tokenizers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

PROBES = [
    "", " ", "  ", "\u2581", "\ufeffHello", "1234567", "don'T DON'T I'LL", "   x", "x   ", "\n\n\n", " \n \n", "\t\tx",
    "\u00e9", "e\u0301", "\u00c5", "\u212b", "A\u030a", "👩‍👩‍👧‍👦", "🇩🇪", "☃️", "नमस्ते", "กำลัง", "한국어", "한국어".encode().decode(),
    "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165", "日本語テキスト", "が か\u3099", "مرحبا", "ﬁ", "①", "Ⅻ", "½", "ǅungla", "ẞ", "İstanbul",
    "<|im_start|>", "<|im_start|><|im_start|>", "<|im_|im_end|>", "<<|im_end|>>", "a<|im_end|>b <|im_end|> c",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<think>", "x <think>y</think>\n\nz", "<tool_call>\n{}\n</tool_call>",
    "<|endoftext|>", "<|endoftext", "</s>", "<s>x</s>", "<eos>", "it'\u017f ok", "'\u017fx", "x\u180ey z", "a\x1cb c", "a\x85b \x85", "a\u3000\u3000b",
    "\x00", "a\x00b", "\u0378 unassigned", "\ue000private", "a\u0301\u0327 a\u0327\u0301", "q\u0307\u0323 q\u0323\u0307", "\u0958 \u09c7\u09be",
    "Hello, y'all! How are you 😁 ?我想在apple工作1314151天～", "    Hello\n    Hello", "\r\n\r\n  \r\n x", "! \n\n  \n?", "a\n \n  b",
    "def f(x):\n\treturn x**2  # comment\n\n\n", "https://example.org/?q=1&r=%20", "100,000.00 USD", "٣٤٥ ४५६ 一二三", "ΑΒΓ αβγ", "ИЛИ или",
    "Cửa Việt", "ViệtNam", "VIE\u0302\u0323T", "👨‍👩‍👧 family", "🏳️‍🌈", "\u200b\u200bzero\u200dwidth", "\u202ertl\u202c", "tab\tand\vvt\fff",
]

# Code points that the classes of the expressions tell apart, and a few neighbours.
ALPHABET = list("aAbBzZsStTrRvVmMlLdDeE019 '\"!?.,;:/\\-_=+*#$%&()[]{}<>|~`^@") + ["\n", "\r", "\t", "  ", "   ", "\n\n", "'s", "'LL", "123", "Ab", "aB"] + list(
    "éÉßẞſÀøǅǈʰªº½²①ⅫⅳΩωЖжאبىअकि्நிกัำ한글가日本語々〇かガ゛ー、。「」！～￥𝒳𝟙🙂👍🏽❤️€±©№′…–—“”‘’¡¿\u0301\u0327\u0308\u3099\u20e3\u200d\ufe0f\u200b\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u0085\u000b\u000c\ufffd")


def random_texts(seed, count, longest):
    source = random.Random(seed)
    return ["".join(source.choices(ALPHABET, k=source.randint(1, longest))) for _ in range(count)]


def special_texts(tokenizer, seed, count):
    source = random.Random(seed)
    tokens = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
    tokens += [t[:-1] for t in tokens[:6]] + [t[1:] for t in tokens[:6]]
    parts = tokens + [" ", "\n", "a", "e\u0301", "<", "|", ">", "1"]
    return ["".join(source.choices(parts, k=source.randint(1, 9))) for _ in range(count)]


def load(path):
    text = lzma.open(path).read().decode() if path.suffix == ".xz" else path.read_text()
    return Tokenizer.from_str(text)


def runs(ids):
    return [[key, len(list(group))] for key, group in itertools.groupby(ids)]


def probes_of(path, seed):
    tokenizer = load(path)
    texts = PROBES + random_texts(seed, 300, 24) + special_texts(tokenizer, seed + 1, 100)

    def encode(text, parse_special):
        tokenizer.encode_special_tokens = not parse_special
        return tokenizer.encode(text, add_special_tokens=False).ids

    cases = [{"text": text, "special": encode(text, True), "plain": encode(text, False)} for text in texts]
    repeated = [("a", 10**6), (" ", 10**5), ("\n", 10**5), ("ab", 5 * 10**5), ("7", 10**6), (" \n", 10**5), ("A b", 10**5)]
    long_cases = [{"unit": unit, "count": count, "runs": runs(encode(unit * count, True))} for unit, count in repeated]
    return {"cases": cases, "long": [case for case in long_cases if len(case["runs"]) < 100]}


CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
DEEPSEEK = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"""
CJK = "[一-龥぀-ゟ゠-ヿ]+"
# Escapes, for some of these change under normalisation. DeepSeek's letters are those with case of an older Unicode.
DEEPSEEK_LETTERS = (
    "[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376"
    "\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-"
    "\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A"
    "\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4"
    "\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC"
    "\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F"
    "\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B"
    "\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A"
    "\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2"
    "\U000118A0-\U000118DF\U0001E900-\U0001E943]")
AFMOE_SCRIPTS = (
    "[\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u3040-\u309F\u30A0-\u30FF\uFF65-\uFF9F\u2F00-\u2FDF\u0E40-\u0E7F\u0E80-\u0EFF"
    "\u1780-\u17FF\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF\uAC00-\uD7AF\u1100-\u11FF]")
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"


def words(number=r"\p{N}", contraction=CONTRACTION + "|", word=r"[^\r\n\p{L}\p{N}]?\p{L}+",
          punctuation=r" ?[^\s\p{L}\p{N}]+[\r\n]*", tail=TAIL):
    return f"{contraction}{word}|{number}|{punctuation}|{tail}"


def cased(number, ending=CONTRACTION + "?", upper=UPPER, lower=LOWER, punctuation=r" ?[^\s\p{L}\p{N}]+[\r\n/]*"):
    before = r"[^\r\n\p{L}\p{N}]?"
    return f"{before}{upper}*{lower}+{ending}|{before}{upper}+{lower}*{ending}|{number}|{punctuation}|{TAIL}"


# As published, where a family's tokenizer.json could be read; else as the table of pre-tokenizers has it.
FAMILIES = {
    "qwen2": [words()],
    "qwen35": [words(word=r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+", punctuation=r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*")],
    "ufakzeka": [words(contraction="")],
    "laguna": [r"[^\n]+|[\n]+", words()],
    "seed-coder": [words(number=r"\p{N}{1}", punctuation=r" ?[^\s\p{L}\p{N}\r\n]+")],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "exaone-moe": [words(word=r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+", punctuation=r" ?[^\s\p{L}\p{N}]+[\r\n/]?", tail=r"\s*[\r\n]|\s+(?!\S)|\s+")],
    "llama-bpe": [words(number=r"\p{N}{1,3}")],
    "minicpm5": [r"\p{N}{1,3}", words(number=r"\p{N}+")],
    "jais-2": [words(number=r"\p{N}{1,3}", tail=r"\s*[\r\n]+|" + "|".join(r"\s{%d}(?!\S)" % 2**k for k in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}")],
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "deepseek-v3": [r"\p{N}{1,3}", CJK, DEEPSEEK + r"[\r\n]*|" + TAIL],
    "spark2_5": [r"\p{N}{1,3}", CJK, DEEPSEEK + r"|[\r\n]|\s+(?!\S)|\s+", r"\p{N}"],
    "afmoe": [r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", AFMOE_SCRIPTS + "+", DEEPSEEK + r"[\r\n]*|" + TAIL],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "deepseek-llm": [r"[\r\n]", r"\s?" + DEEPSEEK_LETTERS + "+",
                     r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", "[一-龥ࠀ-一가-퟿]+", r"\p{N}+"],
    "tekken": [cased(r"\p{N}", ending="")],
    "gpt-4o": [cased(r"\p{N}{1,3}")],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", cased(r"\p{N}{1,3}")],
    "youtu": ["[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + CJK, cased(r"\p{N}")],
    "kimi-k2": [r"[\p{Han}]+|" + cased(r"\p{N}{1,3}", upper=UPPER[:-1] + r"&&[^\p{Han}]]", lower=LOWER[:-1] + r"&&[^\p{Han}]]", punctuation=r" ?[^\s\p{L}\p{N}]+[\r\n]*")],
    "bloom": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "chameleon": [r"<sentinel:[0-9]+>", r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )", r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
}

SPLIT_EXTRAS = [
    "1234567", "1234a 12345_ 1234\u0301 1234½ 123456 789", "12½345 ½345 ½12 a123456b", "12۳4567", "<sentinel:12> <sentinel:x>",
    "IMGIMGABZ IMGIMGABCDEZ", "e F eF éF FÉé", "a  \nb  ", " " * 700 + "x" + " " * 37 + "\n" + " " * 5, "x" + " " * 300 + "1", "XMLHttpRequest's HTML5",
    "Iɪ ʰʰA 日A日Aa", "a b c 中 d", "/path/to//x/\n/y", "中文，标点。", "！？，", "ㄅㄆ한글テスト", "a\u0301b\u0301 c\u0301", "ӐБв 'Re'VE'lL'd'",
]


def split(stages, text):
    pieces = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(stage), "isolated") for stage in stages]).pre_tokenize_str(text)
    return [len(piece.encode()) for piece, _ in pieces]


def main():
    probes = {
        "qwen3": probes_of(HERE / "qwen3/tokenizer.json.xz", 1),
        "storyteller": probes_of(ROOT / "share/models/storyteller/tokenizer.json", 2),
    }
    (HERE / "probes.json").write_text(json.dumps(probes, separators=(",", ":")).replace('{"text"', '\n{"text"') + "\n")
    texts = [text for text in PROBES + SPLIT_EXTRAS + random_texts(3, 400, 24) if text]
    families = {name: [split(stages, text) for text in texts] for name, stages in FAMILIES.items()}
    lines = ",\n".join(f'{json.dumps(name)}:{json.dumps(cases, separators=(",", ":"))}' for name, cases in families.items())
    (HERE / "splits.json").write_text(f'{{"texts":{json.dumps(texts)},\n"lengths":{{\n{lines}}}}}\n')


if __name__ == "__main__":
    main()
