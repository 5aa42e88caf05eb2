#!/usr/bin/env python3
"""Has `riftjit serve` use an MCP server that is written with the official Python SDK (tests/server/mcp/sdk_server.py).

    mcp_test.py RIFTJIT     exit 0: all holds; 77: the SDK is not installed here
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

try:
    import mcp.server.mcpserver
except ImportError:
    print("mcp_test: mcp 2 is not installed (RIFTJIT_PEER_CLIENTS)")
    sys.exit(1 if os.environ.get("RIFTJIT_REQUIRE_ORACLES") else 77)

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp", "sdk_server.py")
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "nano", "nano-q4_k.gguf")
checks = 0


def expect(condition, what):
    global checks
    checks += 1
    if not condition:
        raise SystemExit(f"mcp_test: {what}")


def start(riftjit, entry, folder):
    """The server, its address once it answers, and what it said until then."""
    config = os.path.join(folder, "mcp.json")
    with open(config, "w") as file:
        json.dump({"mcpServers": {"sdk": entry}}, file)
    process = subprocess.Popen([riftjit, "serve", "-m", MODEL, "--port", "0", "--mcp-servers-config", config],
                               stderr=subprocess.PIPE, text=True)
    said = ""
    for line in process.stderr:
        said += line
        found = re.match(r"(http://\S+): ", line)
        if found:
            return process, found.group(1), said
    raise SystemExit(f"mcp_test: the server ended with {process.wait()}: {said}")


def stop(process):
    process.terminate()
    code = process.wait(timeout=30)
    process.stderr.close()
    expect(code == 143, f"exit code {code} after SIGTERM")


def call(url, name, **arguments):
    body = json.dumps({"tool": "sdk_" + name, "params": arguments}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/tools", body), timeout=60) as reply:
        return json.load(reply)


def text(answer):
    expect(set(answer) == {"plain_text_response"}, answer)
    return answer["plain_text_response"]


def error(answer):
    expect(set(answer) == {"error"}, answer)
    return answer["error"]


def test_tools(url):
    with urllib.request.urlopen(url + "/tools") as reply:
        tools = {each["tool"]: each["definition"]["function"] for each in json.load(reply)}
    expect(set(tools) == {"sdk_" + name for name in
                          ("add", "weather", "picture", "fail", "long_work", "sleep", "die", "process")}, tools)
    add = tools["sdk_add"]
    expect(add["description"] == "Adds two numbers." and add["parameters"]["required"] == ["a"], add)
    expect(add["parameters"]["properties"]["b"]["default"] == 10, add)
    expect(text(call(url, "add", a=1)) == "11", "a default")
    expect(text(call(url, "add", a=1, b=-4)) == "-3", "both numbers")
    expect(json.loads(text(call(url, "weather", city="Köln"))) == {"city": "Köln", "degrees": 21.5}, "what has a form")
    expect(text(call(url, "picture")) == "[image, image/gif, 8 characters of base64]", "a picture")
    expect(text(call(url, "long_work", steps=20)) == "20 steps", "progress and log lines between")
    expect("valid integer" in error(call(url, "add", a="x")), "an argument of another type")
    expect("fail" in error(call(url, "fail", why="no")), "a tool that fails")


def test_patience(url):
    """Of a server whose entry has "timeout_ms": 1000."""
    begin = time.monotonic()
    said = error(call(url, "sleep", seconds=30))
    expect(said.endswith("tools/call: no answer within 1000 ms"), said)  # and no line that it wrote earlier
    expect(time.monotonic() - begin < 10, "no longer than it was told")
    expect(text(call(url, "add", a=2)) == "12", "it goes on")


def test_death(url):
    first = int(text(call(url, "process")))
    expect(int(text(call(url, "process"))) == first, "one process")
    said = error(call(url, "die"))
    expect("has ended with exit code 7" in said, said)
    expect(int(text(call(url, "process"))) != first, "it is started again")


def main():
    riftjit = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        entry = {"command": sys.executable, "args": [SERVER], "timeout_ms": 1000}
        process, url, said = start(riftjit, entry, folder)
        try:
            expect("MCP server sdk" not in said, said)
            test_tools(url)
            test_patience(url)
            test_death(url)
            last = int(text(call(url, "process")))
        finally:
            stop(process)
        expect(not os.path.exists(f"/proc/{last}"), "it has ended with the server")
    print(f"mcp_test: {checks} checks hold")


main()
