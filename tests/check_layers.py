#!/usr/bin/env python3
"""Each folder includes only what stands below it (docs/ARCHITECTURE.md, "Who includes whom")."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
ALLOWED = {
    "jit": {"jit"},
    "jit/x86": {"jit", "jit/x86"},
    "jit/rdna": {"jit", "jit/rdna"},
    "graph": {"jit", "graph"},
    "models": {"jit", "graph", "models"},
    "runtime": {"jit", "jit/x86", "jit/rdna", "graph", "runtime"},
    "tools": {"jit", "jit/x86", "jit/rdna", "graph", "models", "runtime", "sim", "tools"},
    "sim": {"jit", "sim"},
}
# Single headers beyond the table: the simulator shares threads and pages, and nothing else of runtime/.
ALLOWED_HEADERS = {"sim": {"runtime/pages.h", "runtime/thread_pool.h"}}


def folder_of(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[:2] in (["jit", "x86"], ["jit", "rdna"]) else parts[0]


checked = 0
faults = []
for folder in ["jit", "graph", "models", "runtime", "sim", "tools"]:
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
            elif target in ALLOWED_HEADERS.get(folder_of(name), set()):
                continue
            elif folder_of(target) not in ALLOWED[folder_of(name)]:
                faults.append(f"{name}:{number}: {folder_of(name)}/ must not include {target}")
if checked == 0:
    faults.append("no include was found: wrong root?")
print("\n".join(faults) or f"{checked} includes point downwards")
sys.exit(bool(faults))
