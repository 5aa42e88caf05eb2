#!/usr/bin/env python3
"""Writes tests/data/quantize/*.imatrix.gguf: what llama-imatrix measures on tests/data/perplexity/stories.txt
(make_imatrix.py LLAMA_BIN, the folder with llama-imatrix)."""
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[3]
binaries = pathlib.Path(sys.argv[1])
for name, model, context, chunks in [
    ("storyteller", "share/models/storyteller/storyteller-9m-q8_0.gguf", 128, 3),
    ("qwen3moe", "tests/data/families/qwen3moe.gguf", 64, 4),
]:
    subprocess.run(
        [binaries / "llama-imatrix", "-m", model, "-f", "tests/data/perplexity/stories.txt", "-c", str(context), "-b",
         str(context), "--chunks", str(chunks), "-o", f"tests/data/quantize/{name}.imatrix.gguf"],
        check=True, cwd=root, timeout=120, env={**os.environ, "LD_LIBRARY_PATH": str(binaries)})
