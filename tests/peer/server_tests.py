#!/usr/bin/env python3
"""Runs the tests of llama.cpp's server against `riftjit serve`, and lists which pass.

    server_tests.py LLAMA_CPP RIFTJIT [MODEL] [-- PYTEST_ARGUMENTS]     RIFTJIT_PEER_LOG=FILE keeps what pytest says

LLAMA_CPP is a source tree. The tests name models of Hugging Face; MODEL (the shipped storyteller) stands in for each, so
that tests that look for words of a model's own fail, and are counted apart. pytest and the packages of
tools/server/tests/requirements.txt must be there.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

# Flags of llama-server that say where a model comes from, or what riftjit does not have: with a value, and without.
DROPPED = {"--hf-repo": 1, "--hf-file": 1, "--model-url": 1, "--offline": 0, "--no-jinja": 0, "--no-models-autoload": 0,
           "-fa": 1}
# A step's rows, which is what tests set it for.
RENAMED = {"--batch-size": "--ubatch-size"}

SHIM = """#!{python}
import os, sys
dropped, renamed = {dropped!r}, {renamed!r}
arguments, skip = [], 0
for word in sys.argv[1:]:
    if skip: skip -= 1
    elif word in dropped: skip = dropped[word]
    elif word in renamed: arguments.append(renamed[word])
    else: arguments.append(word)
os.execv({riftjit!r}, [{riftjit!r}, "serve"] + {model!r} + arguments)
"""

# What is said when a model's own words were looked for.
OF_THE_MODEL = re.compile(r"match_regex|re_content|== n_prompt|== n_predicted|prompt_n\"\] ==")


def main():
    words = sys.argv[1:]
    more = words[words.index("--") + 1:] if "--" in words else []
    words = words[:words.index("--")] if "--" in words else words
    llama_cpp, riftjit = words[0], os.path.abspath(words[1])
    model = ["-m", os.path.abspath(words[2])] if len(words) > 2 else []
    tests = os.path.join(llama_cpp, "tools/server/tests")
    with tempfile.TemporaryDirectory() as folder:
        shim = os.path.join(folder, "llama-server")
        with open(shim, "w") as file:
            file.write(SHIM.format(python=sys.executable, dropped=DROPPED, renamed=RENAMED, riftjit=riftjit, model=model))
        os.chmod(shim, 0o755)
        environment = dict(os.environ, LLAMA_SERVER_BIN_PATH=shim, PYTHONDONTWRITEBYTECODE="1", COLUMNS="300")
        # The presets download; one run of each would need models that are not here.
        plugin = os.path.join(folder, "no_presets.py")
        with open(plugin, "w") as file:
            file.write("import pytest\n\n@pytest.hookimpl(trylast=True)\ndef pytest_collection_modifyitems(session):\n"
                       "    import utils\n    utils.ServerPreset.load_all = staticmethod(lambda: None)\n")
        environment["PYTHONPATH"] = folder + os.pathsep + environment.get("PYTHONPATH", "")
        result = subprocess.run([sys.executable, "-m", "pytest", "-p", "no_presets", "-p", "no:cacheprovider", "-q", "-rA",
                                 "--tb=short", "--timeout=120", "--rootdir", tests, *(more or ["unit"])],
                                cwd=tests, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if "RIFTJIT_PEER_LOG" in os.environ:
        with open(os.environ["RIFTJIT_PEER_LOG"], "w") as file:
            file.write(result.stdout)
    counts, failed = collections.defaultdict(collections.Counter), []
    for line in result.stdout.splitlines():
        found = re.match(r"(PASSED|FAILED|ERROR|SKIPPED)\s+(?:unit/)?(test_\w+)\.py(?:::(\S+))?(.*)", line)
        if not found:
            continue
        outcome, suite, name, why = found.groups()
        if outcome in ("FAILED", "ERROR"):
            outcome = "of the model" if OF_THE_MODEL.search(why) else "failed"
            failed.append(f"  {outcome}: {suite}::{name}{why[:160]}")
        counts[suite][outcome.lower()] += 1
    for suite, outcomes in sorted(counts.items()):
        print(f"{suite}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    total = sum(counts.values(), collections.Counter())
    print("\n".join(failed))
    print("in all: " + (", ".join(f"{count} {outcome}" for outcome, count in sorted(total.items())) or "no test ran"))
    if not total:
        print(result.stdout[-3000:])
    return 0 if total else 1


sys.exit(main())
