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

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
STORYTELLER = "share/models/storyteller/storyteller-9m-q4_k_m.gguf"

# Flags of llama-server that say where a model comes from, or what riftjit does not have: with a value, and without.
DROPPED = {"--hf-repo": 1, "--hf-file": 1, "--model-url": 1, "--offline": 0, "--no-jinja": 0, "-fa": 1}
# A step's rows, which is what tests set it for.
RENAMED = {"--batch-size": "--ubatch-size"}
# Names that tests of a server with several models ask for.
ROUTED = ("ggml-org/tinygemma3-GGUF:Q8_0", "ggml-org/test-model-stories260K:F32",
          "ggml-org/test-model-stories260K-infill:F32")

SHIM = """#!{python}
import os, sys
dropped, renamed = {dropped!r}, {renamed!r}
arguments, skip = [], 0
for word in sys.argv[1:]:
    if skip: skip -= 1
    elif word in dropped: skip = dropped[word]
    elif word in renamed: arguments.append(renamed[word])
    else: arguments.append(word)
is_router = not any(word in sys.argv for word in ("--hf-repo", "--model", "--model-url", "--models-dir", "--models-preset"))
model = ["--models-preset", {preset!r}] if is_router else {model!r}
if is_router and os.environ.get("LLAMA_SERVER_DEBUG_FAKE_TIMING"): model += ["--models-delay", "2000"]
os.execv({riftjit!r}, [{riftjit!r}, "serve"] + model + arguments)
"""

# What is said when a model's own words or its counts of tokens were looked for.
OF_THE_MODEL = re.compile(r"match_regex|re_content|== n_prompt|== n_predicted|prompt_n\"\] ==|n_token_output|n_saved\"\] ==|"
                          r"cached_tokens\"\] ==|total_batch_count ==|\"<s> \"")

# Tests of what is not here, and why: matched against "suite::test".
EXPLAINED = [(re.compile(pattern), why) for pattern, why in (
    (r"anthropic_(vision_format|tool_result_with_image)", "images are refused with 501: 500 is for faults of the server"),
    (r"test_vision_api|test_local_media|multimodal|with_image|with_two_images|larger_than_context|without_mmproj",
     "images: the model takes text alone"),
    (r"test_mcp_proxy$", "asks for a page of the internet"),
    (r"test_router_(download|delete|remote|dedup|reload)|test_load_split_model", "models of a hub: they are files here"),
    (r"test_clear_and_restore", "looks for lines of llama-server's log"),
    (r"test_lora", "adapters are merged into the weights as they are loaded"),
    (r"static_assets", "files of llama-server's own page"),
    (r"test_infill::test_infill_with", "the vocabulary has no tokens for gaps"),
    (r"test_tokenize_with_bos|test_chat_template$|test_slot_(erase|save_restore$|restore_legacy)|test_multi_requests_parallel|test_slot_ctx|test_with_ctx_shift|"
     r"test_completion::test_completion(_stream)?(\[|_with_openai|_prompt_cache|_response_fields)|test_return_progress|test_ctx_shift|"
     r"test_chat_completion_(with_openai|cached)|test_chat_completion(_stream)?\[|test_responses_(with|stream_with)_openai",
     "looks for another model's words, or counts of its tokens"),
    (r"anthropic_empty_messages", "a conversation without a message is refused"),
    (r"llama_telemetry", "an answer that its limit cuts ends with response.incomplete, as OpenAI's do"),
    (r"test_embedding|test_rerank(_tei_format|_usage.*)?$|test_rerank::test_rerank_usage|embedding_prompt", "needs a model of embeddings"),
)]


def main():
    words = sys.argv[1:]
    more = words[words.index("--") + 1:] if "--" in words else []
    words = words[:words.index("--")] if "--" in words else words
    llama_cpp, riftjit = words[0], os.path.abspath(words[1])
    model_file = os.path.abspath(words[2]) if len(words) > 2 else os.path.join(HERE, STORYTELLER)
    model = ["-m", model_file]
    tests = os.path.join(llama_cpp, "tools/server/tests")
    with tempfile.TemporaryDirectory() as folder:
        shim, preset = os.path.join(folder, "llama-server"), os.path.join(folder, "models.ini")
        with open(preset, "w") as file:
            for name in ROUTED:
                file.write(f"[{name}]\nmodel = {model_file}\n\n")
        with open(shim, "w") as file:
            file.write(SHIM.format(python=sys.executable, dropped=DROPPED, renamed=RENAMED, riftjit=riftjit, model=model,
                                   preset=preset))
        os.chmod(shim, 0o755)
        environment = dict(os.environ, LLAMA_SERVER_BIN_PATH=shim, PYTHONDONTWRITEBYTECODE="1", COLUMNS="300")
        # The presets download; one run of each would need models that are not here. So do single files, for which the
        # model stands in, too.
        plugin = os.path.join(folder, "no_presets.py")
        with open(plugin, "w") as file:
            file.write("def pytest_collection(session):\n    import utils\n"
                       "    utils.ServerPreset.load_all = staticmethod(lambda: None)\n"
                       f"    utils.download_file = lambda url, output_file_path=None: {model_file!r}\n")
        environment["PYTHONPATH"] = os.pathsep.join([folder, os.path.abspath(tests)]) + os.pathsep + environment.get("PYTHONPATH", "")
        result = subprocess.run([sys.executable, "-m", "pytest", "-p", "no_presets", "-p", "no:cacheprovider", "-q", "-rA",
                                 "--tb=short", "--timeout=120", "-m", "not slow", "--rootdir", tests, *(more or ["unit"])],
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
        outcome = outcome.lower()
        if outcome in ("failed", "error"):
            reason = next((why for pattern, why in EXPLAINED if pattern.search(f"{suite}::{name}")), None)
            if reason is None and OF_THE_MODEL.search(why):
                reason = "looks for another model's words, or counts of its tokens"
            outcome = "failed" if reason is None else "explained"
            failed.append(f"  {outcome}: {suite}::{name}: {reason or why[:200]}")
        counts[suite][outcome] += 1
    for suite, outcomes in sorted(counts.items()):
        print(f"{suite}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    total = sum(counts.values(), collections.Counter())
    print("\n".join(sorted(failed)))
    print("in all: " + (", ".join(f"{count} {outcome}" for outcome, count in sorted(total.items())) or "no test ran"))
    if not total:
        print(result.stdout[-3000:])
    return 0 if total and not total["failed"] else 1


sys.exit(main())
