#!/usr/bin/env python3
"""Writes jit/formats/quant_grids.inc: the grids of the IQ types, one packed 16-bit word per grid row.

The grids are constants of the file format. This reads them from the `gguf` package (pip install gguf) and packs entry
i of a row, as its index among the values the grid draws from, into bits [i * bits, (i + 1) * bits) of the row's word.
"""
import pathlib

import numpy as np
from gguf import quants

GRIDS = [
    ("kIq2XxsRows", quants.IQ2_XXS, 2),
    ("kIq2XsRows", quants.IQ2_XS, 2),
    ("kIq2SRows", quants.IQ2_S, 2),
    ("kIq3XxsRows", quants.IQ3_XXS, 3),
    ("kIq3SRows", quants.IQ3_S, 3),
    ("kIq1SRows", quants.IQ1_S, 2),
]
WORDS_PER_LINE = 14


def packed_rows(quant, bits: int) -> list[int]:
    quant.init_grid()
    values = list(quant.grid_map)
    rows = quant.grid.reshape(quant.grid_shape)
    codes = np.vectorize(values.index)(rows)
    return [sum(int(code) << (bits * i) for i, code in enumerate(row)) for row in codes]


def main() -> None:
    lines = ["// Written by jit/formats/make_quant_grids.py from the tables of the gguf Python package; do not edit."]
    for name, quant, bits in GRIDS:
        words = packed_rows(quant, bits)
        lines.append(f"constexpr uint16_t {name}[{len(words)}] = {{")
        for start in range(0, len(words), WORDS_PER_LINE):
            lines.append("    " + " ".join(f"0x{word:04x}," for word in words[start : start + WORDS_PER_LINE]))
        lines.append("};")
    (pathlib.Path(__file__).parent / "quant_grids.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
