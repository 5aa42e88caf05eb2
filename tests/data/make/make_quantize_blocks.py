#!/usr/bin/env python3
"""Writes tests/data/quantize/blocks.gguf: rows of values and what llama-quantize makes of them in each type, without and
with an importance matrix, which is there as well (make_quantize_blocks.py LLAMA_BIN, the folder with llama-quantize)."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

binaries = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(binaries.parents[1] / "gguf-py"))
import gguf  # noqa: E402

NAME = "blk.0.ffn_up.weight"
KINDS = (
    "F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K_S Q4_K_S Q5_K_S Q6_K IQ4_NL IQ4_XS MXFP4_MOE TQ1_0 TQ2_0 Q1_0 Q2_0 "
    "NVFP4 IQ2_XXS IQ2_XS IQ2_M IQ3_XXS IQ3_S IQ1_S IQ1_M"
).split()
NEED_IMPORTANCE = "IQ2_XXS IQ2_XS IQ2_M IQ3_XXS IQ1_S IQ1_M".split()
ROWS, WIDTH = 6, 768

random = numpy.random.default_rng(5)
values = (0.02 * random.standard_t(4, (ROWS, WIDTH))).astype(numpy.float32)
values[1] *= numpy.exp(2 * random.standard_normal(WIDTH))  # columns of other sizes
values[2, :300] = 0
values[3] = numpy.abs(values[3])  # none below 0
values[4] = -1e-4 * numpy.abs(values[4]) - 0.01  # none above, and near each other
values[5, 100:500:7] *= 50
importance = numpy.exp(2 * random.standard_normal(WIDTH)).astype(numpy.float32)


def write(path, architecture, tensors, keys=()):
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in dict(keys).items():
        (writer.add_array if isinstance(value, list) else writer.add_float32 if isinstance(value, float) else writer.add_uint32)(
            key, value)
    for name, data in tensors.items():
        data, raw = data if isinstance(data, tuple) else (data, None)
        writer.add_tensor(name, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


found = {"values": values, "importance": importance.reshape(1, -1)}
with tempfile.TemporaryDirectory() as folder:
    model, sums, out = (pathlib.Path(folder) / name for name in ["model.gguf", "imatrix.gguf", "out.gguf"])
    small = numpy.zeros((2, WIDTH), numpy.float32)
    write(model, "llama", {"token_embd.weight": small, "output.weight": small, NAME: values},
          {"llama.block_count": 1, "llama.context_length": 64, "llama.embedding_length": WIDTH, "llama.feed_forward_length": 6,
           "llama.attention.head_count": 4, "llama.attention.layer_norm_rms_epsilon": 1e-5})
    # Of the other tables, too: --pure makes these of the same type.
    entries = {}
    for name in [NAME, "token_embd.weight", "output.weight"]:
        entries |= {name + ".in_sum2": importance.reshape(1, -1), name + ".counts": numpy.ones((1, 1), numpy.float32)}
    write(sums, "", entries,
          {"imatrix.datasets": ["a.txt"], "imatrix.chunk_count": 1, "imatrix.chunk_size": 512})
    for kind in KINDS:
        for suffix, flags in [("", []), (".importance", ["--imatrix", sums])]:
            if not suffix and kind in NEED_IMPORTANCE:
                continue
            # NVFP4 has no kind of file.
            chosen = ["--tensor-type", "ffn_up=nvfp4", model, out, "Q8_0"] if kind == "NVFP4" else ["--pure", model, out, kind]
            subprocess.run([binaries / "llama-quantize", *flags, *chosen, "1"], check=True, timeout=600,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={**os.environ, "LD_LIBRARY_PATH": str(binaries)})
            tensor = next(each for each in gguf.GGUFReader(out).tensors if each.name == NAME)
            name = tensor.tensor_type.name.lower() + suffix
            found[name] = (numpy.array(tensor.data), tensor.tensor_type)
write(pathlib.Path(__file__).resolve().parents[1] / "quantize/blocks.gguf", "blocks", found)
