#!/usr/bin/env python3
"""An MCP server for tests: tools that answer, and some that behave badly. The first argument says how it begins.

    silent      answers nothing        exits       ends at once, with a word on stderr
    junk        writes what is no JSON before each answer              pages   lists its tools in three parts
    deaf        reads nothing at all   refuses     answers initialize with an error
    slow        takes a second until it reads
"""
import json
import os
import signal
import subprocess
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
calls = 0


def write(text):
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
    sys.stdout.buffer.flush()


def message(**members):
    return json.dumps({"jsonrpc": "2.0", **members}) + "\n"


def text_result(text):
    return {"content": [{"type": "text", "text": text}]}


def ask(method):
    """A request of the server's to its client, and the answer."""
    write(message(id="s1", method=method))
    return json.loads(sys.stdin.readline())


def call(identity, name, arguments):
    global calls
    calls += 1
    if name == "echo":
        return text_result("echo: " + arguments.get("message", ""))
    if name == "count":  # shows whether it is the same process
        return text_result(f"{os.getpid()} {calls}")
    if name == "environment":
        return text_result(os.environ.get(arguments["name"], "") + " " + os.getcwd())
    if name == "sleep":
        time.sleep(arguments["seconds"])
        return text_result("slept")
    if name == "warns":
        print("this is deprecated", file=sys.stderr, flush=True)
        return text_result("warned")
    if name == "crash":
        print("crashing now", file=sys.stderr, flush=True)
        os._exit(9)
    if name == "answer_and_crash":
        write(message(id=identity, result=text_result("last words")))
        os._exit(1)
    if name == "flood":
        until = time.monotonic() + arguments["seconds"]
        while time.monotonic() < until:
            write(message(method="notifications/progress", params={"progress": 1}) * 100)
        return text_result("flooded")
    if name == "big":
        return text_result("x" * arguments["bytes"])
    if name == "no_utf8":
        write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\xff\xfeb"}]}}\n' % identity)
        return None
    if name == "pieces":  # a message in many writes, two in one, ends of lines as on Windows, an empty one
        for byte in message(id=identity, result=text_result("in pieces")).replace("\n", "\r\n"):
            write(byte)
            time.sleep(0.0005)
        write("\n" + message(method="notifications/message") + message(method="notifications/message"))
        return None
    if name == "batch":
        write(json.dumps([{"jsonrpc": "2.0", "method": "notifications/x"},
                          {"jsonrpc": "2.0", "id": identity, "result": text_result("in a batch")}]) + "\n")
        return None
    if name == "wrong_ids":
        for wrong in (identity + 1000, str(identity), None, [identity], 1e300):
            write(message(id=wrong, result=text_result("another's")))
        return text_result("its own")
    if name == "asks":
        return text_result(json.dumps([ask("ping").get("result"), ask("sampling/createMessage")["error"]["code"]]))
    if name == "fails":
        return dict(text_result("it did not work"), isError=True)
    if name == "parts":
        return {"content": [{"type": "text", "text": "one"}, {"type": "image", "mimeType": "image/png", "data": "QUJD"},
                            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
                            {"type": "resource_link", "name": "b", "uri": "file:///b"}, 5]}
    if name == "structured":
        return {"content": [], "structuredContent": {"degrees": 21}}
    if name == "forks":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])  # keeps all three pipes
        return text_result(str(child.pid))
    if name == "clings":  # neither the end of its input nor SIGTERM has it leave
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        write(message(id=identity, result=text_result(str(os.getpid()))))
        while True:
            time.sleep(1)
    raise KeyError(name)


TOOLS = [{"name": name, "description": name + " of the test", "inputSchema": {"type": "object", "properties": {}}}
         for name in ("echo", "count", "sleep", "crash", "fails")] + [{"name": "bare"}, {"name": ""}, 5]


def tools_list(parameters):
    if MODE != "pages":
        return {"tools": TOOLS}
    page = int(parameters.get("cursor", "0"))
    listed = {"tools": [{"name": f"tool{page}"}]}
    return dict(listed, nextCursor=str(page + 1)) if page < 2 else listed


def answer(request):
    method, identity = request["method"], request.get("id")
    if identity is None:
        return
    if MODE == "junk":
        write("starting up...\n[1, 2\n\"text\"\n{\"half\": \n")
    try:
        if method == "initialize":
            if MODE == "refuses":
                return write(message(id=identity, error={"code": -1, "message": "not today"}))
            result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "test"}}
        elif method == "tools/list":
            result = tools_list(request.get("params", {}))
        else:
            result = call(identity, request["params"]["name"], request["params"]["arguments"])
        if result is not None:
            write(message(id=identity, result=result))
    except KeyError as error:
        write(message(id=identity, error={"code": -32602, "message": f"unknown tool {error}"}))


if MODE == "exits":
    print("cannot start: no licence", file=sys.stderr)
    sys.exit(4)
if MODE == "slow":
    time.sleep(1)
if MODE == "deaf":
    while True:
        time.sleep(1)
for line in sys.stdin:
    if MODE != "silent":
        answer(json.loads(line))
