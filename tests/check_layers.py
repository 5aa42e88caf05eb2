#!/usr/bin/env python3
"""Each folder includes only what stands below it (docs/ARCHITECTURE.md, "The picture")."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
JIT = {"host", "jit", "jit/columns", "jit/formats"}
RDNA = {"host", "jit", "jit/rdna/table", "jit/rdna/encode", "jit/rdna/text", "jit/rdna/object"}
MACHINE = {"jit/rdna/emulator/" + part for part in ["machine", "scalar", "valu", "lanes", "memory", "checks"]}
MODELS = {"models"} | {"models/" + room for room in ["gguf", "tokenizer", "template", "architectures", "folder", "quantize"]}
# A folder, and which folders its files may include beside its own. A name stands for what lies below it too, unless that
# has a line of its own.
ALLOWED = {
    "host": set(),
    "jit": JIT,
    "jit/cache": JIT,
    "jit/columns": {"host"},
    "jit/formats": {"host"},
    "jit/x86": JIT | {"jit/cache", "jit/x86/emit", "jit/x86/decoders"},
    "jit/x86/emit": JIT,
    "jit/x86/decoders": JIT | {"jit/x86/emit"},
    "jit/x86/ops": JIT | {"jit/x86", "jit/x86/emit", "jit/x86/decoders"},
    "jit/x86/columns": JIT | {"jit/x86", "jit/x86/emit"},
    "jit/rdna/table": {"host"},
    "jit/rdna/encode": {"host", "jit/rdna/table"},
    "jit/rdna/text": {"host", "jit/rdna/table", "jit/rdna/encode"},
    "jit/rdna/object": {"host", "jit/rdna/table", "jit/rdna/text"},
    "jit/rdna/emit": RDNA | {"jit/rdna/passes"},
    "jit/rdna/passes": RDNA,
    "jit/rdna/kernels": RDNA | {"jit/formats", "jit/rdna/emit", "jit/rdna/passes"},
    "jit/rdna/assembly": RDNA | {"jit/rdna/passes"},
    # The judge knows nothing of the judged: no assembler, no pass.
    "jit/rdna/emulator": RDNA | MACHINE,
    "graph": JIT | {"graph"},
    "models": JIT | MODELS | {"graph"},
    "models/gguf": {"host", "jit/formats"},
    "models/folder": {"host", "jit/formats", "models/gguf"},
    "models/quantize": {"host", "jit/formats", "graph", "models/gguf"},
    "models/tokenizer": {"host", "models/gguf"},
    "models/template": {"host", "models/tokenizer"},
    "runtime": JIT | {"graph"},
    "runtime/cpu": JIT | {"jit/x86", "jit/x86/decoders", "graph", "runtime"},
    # A device made of the assembler's kernels and of the machine that runs them.
    "runtime/rdna": RDNA
    | {"jit/cache", "jit/rdna/emit", "jit/rdna/kernels", "jit/rdna/emulator", "graph", "runtime"},
    "runtime/sampling": {"host", "jit"},
    # Where each back end keeps rows and cache.
    "runtime/trial": JIT | {"jit/x86", "jit/rdna/kernels", "graph", "runtime"},
    "engine": JIT
    | MODELS
    | {"jit/cache", "jit/x86", "jit/rdna/table", "graph", "runtime", "runtime/cpu", "runtime/rdna", "runtime/sampling"}
    | {"runtime/trial", "engine/grammar"},
    "engine/grammar": {"host", "models/tokenizer", "runtime/sampling"},
    "server": {"host", "engine", "runtime/sampling"} | MODELS,
    "sim": JIT | {"jit/x86", "sim"},
    "tools": {"host", "jit", "graph", "models", "runtime", "engine", "server", "sim"},
}


def folder_of(path: str) -> str:
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in ALLOWED:
        parts.pop()
    return "/".join(parts)


def may_include(source: str, target: str) -> bool:
    mine, theirs = folder_of(source), folder_of(target)
    if mine == theirs:
        return True
    if mine == "tools":  # the top: any room of these
        return target.split("/")[0] in ALLOWED[mine]
    return theirs in ALLOWED[mine]


checked = 0
faults = []
for folder in ["host", "jit", "graph", "models", "runtime", "engine", "server", "sim", "tools"]:
    for source in sorted((root / folder).rglob("*")):
        if source.suffix not in {".cpp", ".h"}:
            continue
        name = source.relative_to(root).as_posix()
        for number, line in enumerate(source.read_text().splitlines(), 1):
            included = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not included:
                continue
            checked += 1
            target = included.group(1)
            if not (root / target).is_file():
                faults.append(f'{name}:{number}: "{target}" is not a path from the root')
            elif not may_include(name, target):
                faults.append(f"{name}:{number}: {folder_of(name)}/ must not include {target}")
if checked == 0:
    faults.append("no include was found: wrong root?")
print("\n".join(faults) or f"{checked} includes point downwards")
sys.exit(bool(faults))
