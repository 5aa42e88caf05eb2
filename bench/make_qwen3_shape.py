#!/usr/bin/env python3
"""Writes a GGUF of Qwen3-0.6B's exact shape and tokenizer with random bf16 weights, to measure speed with.

    pip install gguf numpy
    bench/make_qwen3_shape.py OUT.gguf

Speed depends on shapes and types, not on what the weights say. Both riftjit and llama.cpp load the file, and
llama-quantize makes the other types from it. The spreads keep activations of order one through all layers.
"""
import argparse
import json
import lzma
import pathlib

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType

LAYERS, WIDTH, FFN, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY = 28, 1024, 3072, 16, 8, 128, 151936
CHUNK_ROWS = 16384  # rows drawn at a time, to bound memory
TOKENIZER = pathlib.Path(__file__).parent.parent / "tests" / "data" / "tokenizers" / "qwen3"


def weight_shapes() -> list[tuple[str, int, int, float]]:
    """Name, rows, width and spread of every matrix."""
    residual = 1 / np.sqrt(2 * LAYERS)  # what a branch adds to the residual stream
    shapes = [("token_embd.weight", VOCABULARY, WIDTH, 0.02)]
    for layer in range(LAYERS):
        for name, rows, width, gain in [
            ("attn_q", HEADS * HEAD_DIM, WIDTH, 1.0),
            ("attn_k", KV_HEADS * HEAD_DIM, WIDTH, 1.0),
            ("attn_v", KV_HEADS * HEAD_DIM, WIDTH, 1.0),
            ("attn_output", WIDTH, HEADS * HEAD_DIM, residual),
            ("ffn_gate", FFN, WIDTH, 1.0),
            ("ffn_up", FFN, WIDTH, 1.0),
            ("ffn_down", WIDTH, FFN, residual),
        ]:
            shapes.append((f"blk.{layer}.{name}.weight", rows, width, gain / np.sqrt(width)))
    return shapes


def gain_shapes() -> list[tuple[str, int]]:
    shapes = [("output_norm.weight", WIDTH)]
    for layer in range(LAYERS):
        for name, width in [("attn_norm", WIDTH), ("ffn_norm", WIDTH), ("attn_q_norm", HEAD_DIM), ("attn_k_norm", HEAD_DIM)]:
            shapes.append((f"blk.{layer}.{name}.weight", width))
    return shapes


def random_bf16(random: np.random.Generator, rows: int, width: int, spread: float) -> np.ndarray:
    matrix = np.empty((rows, width), dtype=np.uint16)
    for begin in range(0, rows, CHUNK_ROWS):
        part = matrix[begin : begin + CHUNK_ROWS]
        bits = (random.standard_normal(part.shape, dtype=np.float32) * np.float32(spread)).view(np.uint32)
        part[:] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # nearest, ties to even
    return matrix


def add_hyperparameters(writer: GGUFWriter) -> None:
    writer.add_name("random weights, Qwen3-0.6B shape")
    writer.add_file_type(LlamaFileType.MOSTLY_BF16)
    writer.add_context_length(40960)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)


def add_tokenizer(writer: GGUFWriter) -> None:
    with lzma.open(TOKENIZER / "tokenizer.json.xz") as file:
        tokenizer = json.load(file)
    config = json.loads((TOKENIZER / "tokenizer_config.json").read_text())
    tokens = [f"[PAD{i}]" for i in range(VOCABULARY)]
    types = [TokenType.UNUSED] * VOCABULARY
    for token, index in tokenizer["model"]["vocab"].items():
        tokens[index], types[index] = token, TokenType.NORMAL
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        types[added["id"]] = TokenType.CONTROL if added["special"] else TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(tokens.index(config["eos_token"]))
    writer.add_pad_token_id(tokens.index(config["pad_token"]))
    writer.add_add_bos_token(False)
    writer.add_chat_template(config["chat_template"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    writer = GGUFWriter(arguments.out, "qwen3")
    add_hyperparameters(writer)
    add_tokenizer(writer)
    for name, rows, width, _ in weight_shapes():
        writer.add_tensor_info(name, (rows, width), np.dtype(np.uint16), rows * width * 2, GGMLQuantizationType.BF16)
    for name, width in gain_shapes():
        writer.add_tensor_info(name, (width,), np.dtype(np.float32), width * 4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = np.random.default_rng(arguments.seed)
    for _, rows, width, spread in weight_shapes():
        writer.write_tensor_data(random_bf16(random, rows, width, spread))
    for _, width in gain_shapes():
        writer.write_tensor_data(np.ones(width, dtype=np.float32))
    writer.close()


if __name__ == "__main__":
    main()
