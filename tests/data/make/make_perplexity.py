#!/usr/bin/env python3
"""Writes tests/data/perplexity: what llama-perplexity prints of the storyteller and a nano model on stories.txt, which
the storyteller told, and a base file of its own (make_perplexity.py LLAMA_BIN, the folder with llama-perplexity)."""
import json
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[3]
data = root / "tests/data/perplexity"
binaries = pathlib.Path(sys.argv[1])
STORYTELLER = "share/models/storyteller/storyteller-9m-"
# The context is a batch too: then its strides have windows of one context, as its help tells.
RUNS = [
    {"model": STORYTELLER + "q8_0.gguf", "context": 512},
    {"model": STORYTELLER + "q4_k_m.gguf", "context": 512},
    {"model": STORYTELLER + "q8_0.gguf", "context": 128},
    {"model": STORYTELLER + "q8_0.gguf", "context": 128, "chunks": 3},
    {"model": STORYTELLER + "q8_0.gguf", "context": 128, "stride": 64},
    {"model": "tests/data/families/llama.gguf", "context": 64},
]


def run(model, context, *more):
    command = [binaries / "llama-perplexity", "-m", root / model, "-c", str(context), "-b", str(context), "-t", "2", *more]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(binaries)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    return done.stdout + done.stderr


def numbers(text):
    return [float(each) for each in re.findall(r"-?\d+\.\d+", text)]


recorded = []
for each in RUNS:
    more = ["--chunks", str(each["chunks"])] if "chunks" in each else []
    more += ["--ppl-stride", str(each["stride"])] if "stride" in each else []
    for _ in range(8):  # the end of what it prints is lost at times
        text = run(each["model"], each["context"], "-f", data / "stories.txt", *more)
        running = {int(k): float(v) for k, v in re.findall(r"\[(\d+)\](\d+\.\d+),", text)}
        final = re.search(r"Final estimate: PPL = (\S+) \+/- (\S+)", text)
        chunks = re.search(r"over (\d+) chunks", text)
        is_whole = chunks and list(running) == list(range(1, len(running) + 1)) and len(running) + 1 >= int(chunks[1])
        if is_whole and (final or "stride" in each):
            break
    else:
        sys.exit(f"{each}: {text}")
    recorded.append({**each, "running": list(running.values())})
    if final:
        recorded[-1] |= {"ppl": float(final[1]), "error": float(final[2])}

base = data / "nano-q8_0.kld"
text = "tests/data/perplexity/stories.txt"
run("tests/data/nano/nano-q8_0.gguf", 64, "-f", root / text, "--chunks", "4", "--kl-divergence-base", base)
for _ in range(8):
    table = run("tests/data/nano/nano-q4_k.gguf", 64, "--kl-divergence-base", base, "--kl-divergence")
    if "Same top p:" in table:
        break
found = {}
for line in table.splitlines():
    line = re.sub(r"^[\d.]+ I ", "", line)
    if match := re.match(r"(Mean PPL\(Q\) |Mean PPL\(base\)|Mean ln|Mean    KLD|Maximum KLD|Median  KLD|RMS Δp|Same top p)", line):
        found[match[1].strip()] = numbers(line.split(":", 1)[1])
(data / "llama_perplexity.json").write_text(
    json.dumps({"text": text, "runs": recorded, "divergence": {"model": "tests/data/nano/nano-q4_k.gguf", **found}}, indent=1) + "\n")
