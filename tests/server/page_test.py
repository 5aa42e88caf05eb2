#!/usr/bin/env python3
"""Drives the chat page of `riftjit serve` in headless Chromium, over its debugging pipe.

    page_test.py RIFTJIT [MODEL]     exit 0: all holds; 77: no chromium here
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request


class Browser:
    """One page, by the Chrome DevTools protocol: messages end with a zero byte, on descriptors 3 and 4."""

    def __init__(self, program, profile):
        self.number = 0
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # Placed above 4 first, so that neither is overwritten while they move to 3 and 4.
        high = [os.dup(to_browser), os.dup(from_browser)]
        while min(high) <= 4:
            high = [os.dup(fd) for fd in high]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        for fd in high:
            os.close(fd)
        self.buffer = b""
        self.session = None
        self.exceptions = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.read_end, 1 << 16)
            if not piece:
                raise SystemExit("page_test: the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.exceptions.append(answer["params"]["exceptionDetails"].get("exception", {}).get("description", "?"))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                raise SystemExit(f"page_test: after {seconds} s still not: {expression}\n{self.value('document.body.innerText')}")
            time.sleep(0.05)

    def ask(self, text):
        self.value(f"$('prompt').value = {json.dumps(text)}; $('ask').requestSubmit();")

    def close(self):
        self.process.kill()
        self.process.wait()


def expect(is_so, what):
    if not is_so:
        raise SystemExit(f"page_test: {what}")


MARKDOWN = [
    ("Hello *there* **you** ~~no~~", "<p>Hello <em>there</em> <strong>you</strong> <del>no</del></p>"),
    ("a_b_c and 2*3*4", "<p>a_b_c and 2*3*4</p>"),
    ("# One\ntext", "<h2>One</h2><p>text</p>"),
    ("- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"),
    ("3. x\n4. y", '<ol start="3"><li>x</li><li>y</li></ol>'),
    ("> quoted\n> `code`", "<blockquote><p>quoted\n<code>code</code></p></blockquote>"),
    ("|a|b|\n|-|-|\n|1|2|", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"),
    ("<img src=x onerror=alert(1)> <b>x</b>", "<p>&lt;img src=x onerror=alert(1)&gt; &lt;b&gt;x&lt;/b&gt;</p>"),
    ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
    ("[x](https://a.b/c)", '<p><a href="https://a.b/c" target="_blank" rel="noopener noreferrer">x</a></p>'),
    ("---", "<hr>"),
    ("\\*no\\*", "<p>*no*</p>"),
]


def check_tools(browser):
    """A tool that is switched on goes to the model; what it asks for is run once the user says so, and not before."""
    browser.value("settings.max_tokens = '8'; $('new').click(); $('open-settings').click()")
    expect(browser.value("!$('tools').hidden && $('tools').innerText.includes('get_info')"), "the tools are not offered")
    browser.value("$('tools').querySelector('input').click(); $('settings').close()")
    browser.wait("settings.tools?.includes('get_info')")
    browser.value("window.asked = []; (() => { const f = window.fetch; window.fetch = (url, given) => { if (given?.body) "
                  "asked.push([url, JSON.parse(given.body)]); return f(url, given); }; })()")
    # This model calls none by itself, so the parts of a call come from here.
    browser.value("(() => { const question = add('root', 'user', 'Where are you?'), node = add(question.id, 'assistant', '');"
                  "addCall(node, { index: 0, id: 'c1', type: 'function', function: { name: 'get_info', arguments: '{' } });"
                  "addCall(node, { index: 0, function: { arguments: '}' } }); draw(); })()")
    expect(browser.value("$('log').innerText.includes('Wants to run get_info') && asked.length === 0"), "it does not ask first")
    browser.value("[...document.querySelectorAll('#log button')].find(b => b.textContent === 'Run it').click()")
    browser.wait("!running && path().length === 4")
    expect(browser.value("path()[2].role === 'tool' && path()[2].content.includes('working directory')"), "the tool has not run")
    expect(browser.value("asked[0][0] === 'tools' && asked[0][1].tool === 'get_info'"), "the call is another")
    expect(browser.value("(() => { const b = asked[1][1]; return b.tools[0].function.name === 'get_info' && "
                         "b.messages.at(-2).tool_calls[0].id === 'c1' && b.messages.at(-1).tool_call_id === 'c1'; })()"),
           "the model is not told")
    expect(browser.value("!path()[3].error"), "the model does not go on")
    # A refusal is told to the model, and runs nothing.
    browser.value("(() => { const node = add(path().at(-1).id, 'assistant', '');"
                  "addCall(node, { index: 0, id: 'c2', function: { name: 'get_info', arguments: '{}' } }); asked = []; draw(); })()")
    browser.value("[...document.querySelectorAll('#log button')].find(b => b.textContent === 'Do not run').click()")
    browser.wait("!running && path().at(-1).role === 'assistant' && !path().at(-1).calls")
    expect(browser.value("asked.every(([url]) => url !== 'tools') && path().at(-2).content.includes('does not want')"), "it was run")


def check(browser, address):
    browser.open(address)
    browser.wait("!['…', 'no server'].includes($('model').textContent)")
    for text, html in MARKDOWN:
        made = browser.value(f"(() => {{ const d = document.createElement('div'); d.append(markdown({json.dumps(text)})); return d.innerHTML; }})()")
        expect(made == html, f"markdown of {text!r}: {made}")
    code = browser.value("(() => { const d = document.createElement('div'); d.append(markdown('```py\\nif a < b:\\n```')); return d.querySelector('pre code.py').textContent; })()")
    expect(code == "if a < b:", f"a code block: {code!r}")

    # An answer is what the API gives.
    browser.value("Object.assign(settings, { temperature: '0', max_tokens: '24' })")
    question = "Tell me about a fox."
    body = {"messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": 24}
    call = urllib.request.Request(address + "v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    expected = json.load(urllib.request.urlopen(call))["choices"][0]["message"]["content"]
    browser.ask(question)
    browser.wait("!running")
    shown = browser.value("path().at(-1).content")
    expect(shown == expected, f"the page has {shown!r}, the API {expected!r}")
    expect(re.search(r"[\d.]+ tokens/s", browser.value("$('log').innerText")), "no tokens per second")
    expect("tokens" in browser.value("$('context').textContent"), "the context's use is not shown")

    # A second answer stands beside the first; an edited question too.
    browser.value("[...document.querySelectorAll('.message.assistant button')].find(b => b.textContent === 'Regenerate').click()")
    browser.wait("!running && document.querySelector('.message.assistant').innerText.includes('2/2')")
    browser.value("[...document.querySelectorAll('.message.user button')].find(b => b.textContent === 'Edit').click()")
    browser.value("(() => { const area = document.querySelector('.editor'); area.value = 'Tell me about a lamp.'; area.nextSibling.click(); })()")
    browser.wait("!running && document.querySelector('.message.user').innerText.includes('2/2')")
    expect(browser.value("path()[0].content") == "Tell me about a lamp.", "the edited question is not asked")
    browser.value("[...document.querySelectorAll('.message.user button')].find(b => b.textContent === '‹').click()")
    expect(browser.value("path()[0].content") == question, "the first question is lost")

    # Stop, and what was said stays.
    browser.value("settings.max_tokens = '4000'")
    # An answer that the model would not end by itself: it lasts for seconds.
    browser.value("(() => { const f = window.fetch; window.fetch = (url, given) => f(url, given?.body ? { ...given, body: "
                  "JSON.stringify({ ...JSON.parse(given.body), ignore_eos: true }) } : given); })()")
    browser.ask("And a very long story, please.")
    browser.wait("running && path().at(-1).content.length > 5")
    browser.value("$('stop').click()")
    browser.wait("!running")
    expect(browser.value("path().at(-1).content.length > 5 && path().at(-1).finish !== 'length'"), "what was said before the stop is lost")

    check_tools(browser)

    # Refusals are shown; all is there after a reload, in another theme.
    browser.value("settings.temperature = '-5'; $('new').click()")
    browser.ask("x")
    browser.wait("!running && document.querySelector('.message.failed') !== null")
    browser.value("settings.temperature = '0'; $('theme').click(); $('theme').click()")
    expect(browser.value("document.documentElement.dataset.theme") == "dark", "no dark theme")
    dark = browser.value("getComputedStyle(document.body).backgroundColor")
    browser.open(address)
    browser.wait("chats.length > 1")
    expect(browser.value("getComputedStyle(document.body).backgroundColor") == dark, "the theme is forgotten")
    expect(browser.value(f"chats.some(c => Object.values(c.nodes).some(n => n.content === {json.dumps(expected)}))"), "the conversation is forgotten")
    remote = browser.value("performance.getEntriesByType('resource').map(r => r.name).filter(n => !n.startsWith(location.origin) && !n.startsWith('data:'))")
    expect(not remote, f"the page asks other hosts: {remote}")
    expect(not browser.exceptions, f"exceptions: {browser.exceptions}")


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("page_test: no chromium (Debian's package of that name)", file=sys.stderr)
        return 77
    riftjit, model = sys.argv[1], sys.argv[2:]
    command = [riftjit, "serve", "--port", "0", "--tools", "get_info"] + (["-m", model[0]] if model else [])
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr:
            found = re.search(r"http://[\d.]+:\d+", line)
            if found:
                break
        else:
            raise SystemExit("page_test: the server names no address")
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = Browser(program, profile)
            try:
                check(browser, found.group(0) + "/")
            finally:
                browser.close()
    finally:
        server.terminate()
        server.wait(30)
    print("the page holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
