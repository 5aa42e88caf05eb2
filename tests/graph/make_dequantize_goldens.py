#!/usr/bin/env python3
"""Writes tests/graph/data/dequantize.bin: blocks of every weight type and the f32 values that they decode to.

The values come from the `gguf` package (pip install gguf), except for Q1_0 and Q2_0, which it does not decode: these
are evaluated here from the format's description. Scales are normal, subnormal, zero, negative and the largest finite;
every row of every grid, every MXFP4 exponent but the NaN code and every NVFP4 scale byte occur.

Layout: records of u32 type id, u32 element count, the blocks, the values as f32; little-endian, to the end of the file.
"""
import pathlib
import struct

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, dequantize

Q2_0 = 42  # not in the package's enumeration yet
SIZES = {**{int(t): size for t, size in GGML_QUANT_SIZES.items()}, Q2_0: (64, 18)}

# Byte offsets of the f16 scales and minima in a block.
HALF_OFFSETS = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
    Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
    Type.IQ1_S: [0], Type.IQ1_M: [], Type.IQ2_XXS: [0], Type.IQ2_XS: [0], Type.IQ2_S: [0], Type.IQ3_XXS: [0],
    Type.IQ3_S: [0], Type.IQ4_NL: [0], Type.IQ4_XS: [0], Type.TQ1_0: [52], Type.TQ2_0: [64],
    Type.MXFP4: [], Type.NVFP4: [], Type.Q1_0: [0], Q2_0: [0],
}  # fmt: skip
SPECIAL_HALVES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF]
random = np.random.default_rng(20260701)


def scales(count: int) -> np.ndarray:
    """Half the special values first, then random finite ones."""
    halves = random.integers(0, 0x7C00, count, dtype=np.uint16) | random.integers(0, 2, count, dtype=np.uint16) << 15
    halves[: len(SPECIAL_HALVES)] = SPECIAL_HALVES[:count]
    return halves


def u16_bytes(words: np.ndarray) -> np.ndarray:
    return words.astype("<u2").view(np.uint8).reshape(words.shape + (2,))


def random_blocks(kind, count: int) -> np.ndarray:
    blocks = random.integers(0, 256, (count, SIZES[kind][1]), dtype=np.uint8)
    for offset in HALF_OFFSETS[kind]:
        blocks[:, offset : offset + 2] = u16_bytes(random.permutation(scales(count)))
    if kind == Type.MXFP4:
        blocks[:, 0] = np.arange(count) % 255
    if kind == Type.NVFP4:
        blocks[:, :4] = np.arange(4 * count).reshape(count, 4) % 256
    if kind == Type.IQ1_M:  # the scale's nibbles are the top ones of the last four words
        halves, words = scales(count), blocks[:, 48:56].view("<u2")
        for i in range(4):
            words[:, i] = (words[:, i] & 0x0FFF) | ((halves >> (4 * i)) & 15) << 12
    return blocks


def use_every_grid_row(kind, blocks: np.ndarray) -> None:
    """Writes grid indices 0, 1, 2, ... over the random ones."""
    per_block = 64 if kind in (Type.IQ3_XXS, Type.IQ3_S) else 32
    index = np.arange(len(blocks) * per_block).reshape(len(blocks), per_block)
    group = np.arange(per_block)
    if kind == Type.IQ2_XXS:
        for k in range(8):
            blocks[:, 2 + 8 * k : 6 + 8 * k] = index[:, 4 * k : 4 * k + 4] % 256
    elif kind == Type.IQ2_XS:
        words = blocks[:, 2:66].copy().view("<u2")
        blocks[:, 2:66] = u16_bytes((words & 0xFE00) | (index % 512)).reshape(len(blocks), 64)
    elif kind == Type.IQ2_S:
        blocks[:, 2:34] = index & 255
        high = (index >> 8 & 3) << (2 * (group % 4))
        blocks[:, 66:74] = high.reshape(-1, 8, 4).sum(axis=2)
    elif kind == Type.IQ3_XXS:
        blocks[:, 2:66] = index % 256
    elif kind == Type.IQ3_S:
        blocks[:, 2:66] = index & 255
        blocks[:, 66:74] = ((index >> 8 & 1) << (group % 8)).reshape(-1, 8, 8).sum(axis=2)
    elif kind == Type.IQ1_S:
        blocks[:, 2:34] = index & 255
        high = ((index >> 8 & 7) << (3 * (group % 4))).reshape(-1, 8, 4).sum(axis=2)
        words = blocks[:, 34:50].copy().view("<u2")
        blocks[:, 34:50] = u16_bytes((words & 0xF000) | high).reshape(len(blocks), 16)


GRID_BLOCKS = {Type.IQ2_XXS: 8, Type.IQ2_XS: 16, Type.IQ2_S: 32, Type.IQ3_XXS: 8, Type.IQ3_S: 8, Type.IQ1_S: 64}


def decode_low_bits(kind, blocks: np.ndarray) -> np.ndarray:
    """Q1_0: bit set means +d, clear -d. Q2_0: (code - 1) * d, four codes a byte, lowest bits first."""
    d = blocks[:, :2].copy().view("<f2").astype(np.float32)
    bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").astype(np.float32)
    if kind == Type.Q1_0:
        return np.where(bits == 1, d, -d)
    return (bits[:, 0::2] + 2 * bits[:, 1::2] - 1) * d


def plain_blocks(kind) -> np.ndarray:
    if kind == Type.F32:
        values = np.concatenate([[0.0, -0.0, 1e-45, -1e-40, np.inf, 3.4e38], random.standard_normal(58)])
        return values.astype("<f4").view(np.uint8).reshape(-1, 4)
    finite = 0x7C00 if kind == Type.F16 else 0x7F80
    words = np.concatenate([[0, 0x8000, 1, 0x8001, finite - 1, finite], random.integers(0, finite, 250)])
    return u16_bytes(words.astype(np.uint16))


def blocks_of(kind) -> np.ndarray:
    if kind in (Type.F32, Type.F16, Type.BF16):
        return plain_blocks(kind)
    count = {Type.MXFP4: 255, Type.NVFP4: 64}.get(kind, max(8, 512 // SIZES[kind][0]))
    blocks = random_blocks(kind, max(count, GRID_BLOCKS.get(kind, 0)))
    use_every_grid_row(kind, blocks)
    return blocks


def main() -> None:
    out = pathlib.Path(__file__).parent / "data" / "dequantize.bin"
    with out.open("wb") as file:
        for kind in [Type.F32, Type.F16, Type.BF16, *HALF_OFFSETS]:
            blocks = blocks_of(kind)
            if kind in (Type.Q1_0, Q2_0):
                values = decode_low_bits(kind, blocks)
            else:
                values = dequantize(blocks, Type(kind))
            values = np.ascontiguousarray(values, dtype="<f4").reshape(-1)
            assert not np.isnan(values).any() and len(values) == len(blocks) * SIZES[kind][0]
            file.write(struct.pack("<II", int(kind), len(values)) + blocks.tobytes() + values.tobytes())


if __name__ == "__main__":
    main()
